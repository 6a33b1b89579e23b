# The page shows every case, with texts that a scenario chose escaped.
file s/odd.yaml
| title: A <b>title</b>
| origin: "<script>alert(1)</script>"
| loss: {kind: nll_loss, reduction: mean}
| batch: {seed: 2, samples: 64, classes: 10}
| faults:
|   - {kind: label_equals_width, rows: [5]}
run run --kernel nll_loss/reduce/* --mode blocking s
out*
shell python3 {src}/reports/html.py out/cases.jsonl -o out/report.html
out out/report.html: 4 cases
shell grep -c '<details' out/report.html; grep -c '<script' out/report.html; grep -c '&lt;script&gt;' out/report.html; grep -c '<svg' out/report.html; grep -oE 'https?://' out/report.html | wc -l
out 4
out 0
out 4
out 5
out 0
# (Each case shows its histogram, drawn once in a hidden picture.)
# A line that a killed run left cut is left out; a line that is no case is an error.
shell head -c 300 out/cases.jsonl > cut.jsonl; python3 {src}/reports/html.py cut.jsonl -o cut.html
out cut.html: 0 cases
err html.py: cut.jsonl:1: the last line is cut, left out
shell echo '{"id": 1}' > other.jsonl; python3 {src}/reports/html.py other.jsonl -o other.html
err html.py: error: other.jsonl:1: no key scenario, kernel, mode, verdict, as_expected
exit 2
