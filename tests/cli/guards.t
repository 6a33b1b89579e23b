# One fault, one clean batch: every guard's row by hand. 20 rows of 4 classes in turn, 1-based.
file s/one.yaml
| title: Labels from 1
| loss: {kind: cross_entropy, reduction: mean, direction: forward}
| batch: {seed: 1, samples: 20, classes: 4, targets: {distribution: round_robin}}
| faults: [{kind: one_based_labels}]
run guards s --out g
out 1 batches with a fault (1 with one in the labels), 1 without, 0 scenario points left out
out 
out~  +faults in the labels +other +clean batches +ns a label
out~ guard +detected +rows +cause +wrong +right +silent +left +faults +alarms +silent +broken +/read
out~ labels_in_range +100.0% +0.0% +0.0% +0.0% +0.0% +0.0% +0.0% +- +0.0% +0.0% +0.0% +[0-9.]+ +[0-9.]+x
out~ n_distinct_equals_C +0.0% +0.0% +0.0% +0.0% +0.0% +0.0% +100.0% +- +0.0% +0.0% +0.0% +[0-9.]+ +[0-9.]+x
out~ width_equals_max_plus_1 +100.0% +0.0% +0.0% +100.0% +0.0% +0.0% +0.0% +- +0.0% +0.0% +0.0% +[0-9.]+ +[0-9.]+x
out~ dtype_is_int64 +0.0% +0.0% +0.0% +0.0% +0.0% +0.0% +100.0% +- +0.0% +0.0% +0.0% +[0-9.]+ +[0-9.]+x
out~ sampled_range_batches .*
out~ sampled_range_rows .*
out~ clamp_into_range +0.0% +0.0% +0.0% +0.0% +0.0% +100.0% +0.0% +- +0.0% +0.0% +0.0% +[0-9.]+ +[0-9.]+x
out~ subtract_one +0.0% +0.0% +0.0% +0.0% +100.0% +0.0% +0.0% +- +0.0% +0.0% +100.0% +[0-9.]+ +[0-9.]+x
out~ range_checking_wrapper +100.0% +100.0% +0.0% +0.0% +0.0% +0.0% +0.0% +- +0.0% +0.0% +0.0% +[0-9.]+ +[0-9.]+x
out~ label_smoothing +0.0% +0.0% +0.0% +0.0% +0.0% +0.0% +100.0% +- +0.0% +100.0% +0.0% +- +-
out~ device_assert +100.0% +100.0% +0.0% +0.0% +0.0% +0.0% +0.0% +- +0.0% +0.0% +0.0% +- +-
out~ assert_compiled_out +0.0% +0.0% +0.0% +0.0% +0.0% +0.0% +100.0% +- +0.0% +0.0% +0.0% +- +-
out 
out*
shell python3 -c "import json; g = json.load(open('g/guards.json')); print(g['n_faulty'], g['n_clean'], [(x['name'], x['by_cause']['one_based_labels']['silent']) for x in g['guards'] if x['label_faults']['silent']])"
out 1 1 [('clamp_into_range', 1)]

# Nothing to apply a check of labels to.
file b/bce.yaml
| title: No class labels
| loss: {kind: binary_cross_entropy, direction: forward}
| batch: {seed: 1, samples: 20}
run guards b
err lossgate guards: no scenario has class labels: nothing was proven
exit 3

# What a guard says of the device assert is what kernels with the assert do.
run run {src}/scenarios/faults/label_equals_width.yaml {src}/scenarios/faults/wrong_head_width.yaml --kernel nll_loss/reduce/assert --mode blocking
out*
has 96 cases on sim: 96 as expected
has detected 96
run guards {src}/scenarios/faults/label_equals_width.yaml {src}/scenarios/faults/wrong_head_width.yaml --out both
out*
shell python3 -c "import json; print([(x['label_faults']['detected'], x['label_faults']['n']) for x in json.load(open('both/guards.json'))['guards'] if x['name'] == 'device_assert'])"
out [(144, 144)]

# The page shows them.
shell python3 {src}/reports/html.py out/cases.jsonl --guards both/guards.json -o page.html && grep -c '<td><code>clamp_into_range</code>' page.html
out~ page.html: [0-9]+ cases
out 1
shell echo '{"guards": 1}' > bad.json; python3 {src}/reports/html.py out/cases.jsonl --guards bad.json -o page.html
err html.py: error: bad.json: not the guards.json of lossgate guards
exit 2
