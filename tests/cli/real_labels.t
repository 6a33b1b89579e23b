# Label files of public data sets: iris with its 1-based codes, the handwritten digits as they are.
# Labels 1..C can also mean a class 0 that no row has, so the finding names that too.
copy tests/data/iris_species_from_1.npy iris.npy
copy tests/data/digits_labels.npy digits.npy
file iris.yaml
| title: Iris species, 1 to 3, for a head of three
| loss: {kind: nll_loss, reduction: mean, direction: forward}
| batch: {samples: 150, classes: 3, targets: {file: iris.npy}}
| expect: {verdict: detected, cause: one_based_labels}
file digits.yaml
| title: The digits 0 to 9
| loss: {kind: cross_entropy, reduction: mean, direction: forward}
| batch: {samples: 1797, classes: 10, targets: {file: digits.npy}}
run run --kernel nll_loss/reduce/assert --kernel nll_loss/reduce/report --kernel nll_loss/reduce/nan --mode blocking iris.yaml
out*
has 3 cases on sim: 3 as expected
shell python3 -c "import json; c=json.loads(open('out/cases.jsonl').readline()); print(c['n_rows'], c['rows'][0], c['values'], c['cause'], c['certainty'])"
out 50 100 [{'value': 3, 'count': 50}] one_based_labels ambiguous
run run --kernel cross_entropy/warp/assert --mode blocking digits.yaml
out*
has 1 case on sim: 1 as expected
run reference iris.yaml
out*
has "cause":"one_based_labels"
