# A run from end to end: exact table and summary, the files, the finding, the replay.
file s/control.yaml
| title: Clean
| loss: {kind: nll_loss, reduction: mean}
| batch: {seed: 1, samples: 33, classes: 4}
file s/fault.yaml
| title: Labels at the width
| loss: {kind: nll_loss, reduction: mean}
| batch: {seed: 2, samples: 64, classes: 10}
| faults:
|   - {kind: label_equals_width, rows: [5]}
run run --kernel nll_loss/reduce/* --mode blocking s
out                   assert report nan   none 
out                   block block block block
out control
out   nll_loss/reduce  P  1  P  1  P  1  P  1
out fault
out   nll_loss/reduce  D  1  D  1  D  1  S  1
out 
out P pass  D detected  S silent_corruption  with the number of cases
out 
out*
has FAULT label_equals_width
has   case       fault, nll_loss/reduce/assert, blocking
has   rows       1 of 64: 5   values 10 (once)
has kernels/nll_loss.cu:
has   failed     launch 0 of 1 (nll_loss_forward_reduce_assert_float32_int64)
has   surfaced   cuLaunchKernel
has   replay     lossgate run --root s --case
has 8 cases on sim: 8 as expected, 0 not, 0 untested, 0 skipped
has pass 4, detected 3, silent_corruption 1
save --case ([0-9a-f]{16})

# The replay runs exactly that case, writes no files, and prints its finding.
shell rm out/junit.xml
run replay {saved}
out*
has --case {saved}
has FAULT label_equals_width
has 1 case on sim: 1 as expected, 0 not, 0 untested, 0 skipped
shell test ! -e out/junit.xml && wc -l < out/cases.jsonl
out 8
run replay out/cases/{saved}
out*
has 1 case on sim: 1 as expected
run replay 00000000000000ff
err out/cases.jsonl: error: holds no case '00000000000000ff'
exit 2
run run --root s --case 00000000000000ff s
out 
out 0 cases on sim: 0 as expected, 0 not, 0 untested, 0 skipped
out nothing was proven
err lossgate: no case has the id '00000000000000ff'
exit 3

# A seed of its own is another batch and another case.
run run --kernel nll_loss/reduce/nan --mode blocking --seed 9 --out o9 s/fault.yaml
out*
shell python3 -c "import json; c=json.loads(open('o9/cases.jsonl').readline()); print(c['seed'], c['scenario'], c['verdict'], c['rows'], c['loss'])"
out 9 fault detected [5] ['nan']
