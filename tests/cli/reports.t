# Every report and every mutant is found for what it is.
run run {src}/scenarios/reports {src}/scenarios/mutants
out*
has  as expected, 0 not, 0 untested, 0 skipped
hasnt UNTESTED mutants/nll_row/fixed

# The list tells what was wanted and what the run found.
run list reports {src}/scenarios/reports
out*
has pytorch/pytorch#85786                          reports/R33_offsets_of_16_bits               memory_fault, index_overflow                       memory_fault, index_overflow (2 of 2 as expected)
has pytorch/pytorch#107396                         reports/R29_asserts                          detected+untested, label_equals_width              detected+untested, one_based_labels+label_equals_width+wrong_head_width+none (4 of 4 as expected)
hasnt not run

# Without a run it says so.
run list reports {src}/scenarios/reports --out elsewhere
out*
has reports/R01_one_based_of_101                 detected, one_based_labels                         not run
hasnt as expected

# A file that is no run is an error with its line.
file broken/cases.jsonl
| {"scenario": "reports/R01_one_based_of_101", "verdict": "detected", "cause": "none"}
| {"scenario
run list reports {src}/scenarios/reports --out broken
out*
err~ broken/cases\.jsonl:2: error: not a case: .*
exit 2

# No wide pattern selects a mutant; one that begins with mutants/ does.
run run {src}/scenarios/smoke/nll_widths.yaml --kernel '*' --out wide
out*
hasnt mutants/
run run {src}/scenarios/smoke/nll_controls.yaml --kernel mutants/nll_row/fixed --mode blocking --out narrow
out*
has mutants/nll_row/fixed
