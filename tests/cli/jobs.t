# The number of workers and the order in which they end change nothing.
file s.yaml
| title: Many points
| loss: {kind: nll_loss, reduction: mean}
| batch: {seed: 4, samples: 20, classes: 5}
| faults:
|   - {kind: negative_labels, count: 2}
| matrix:
|   batch.samples: [3, 17, 64, 5, 200]
|   loss.reduction: [mean, sum]
run run --jobs 1 --out one --kernel nll_loss/reduce/* s.yaml
out*
has 120 cases on sim: 120 as expected
run run --jobs 5 --out five --kernel nll_loss/reduce/* s.yaml
out*
has 120 cases on sim: 120 as expected
shell for d in one five; do sed -E 's/"elapsed_ns":[0-9]+//' $d/cases.jsonl > $d.txt; done; cmp one.txt five.txt && wc -l < one.txt
out 120
shell python3 -c "import xml.etree.ElementTree as x; r=x.parse('one/junit.xml').getroot(); print(r.tag, r.get('tests'), r.get('failures'), len(r))"
out testsuite 120 0 120
