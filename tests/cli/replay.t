# A bundle replays its case without anything else of the run: the labels come from a file that is gone.
file s/odd.yaml
| title: Labels from 1 of a file, and an expectation that is wrong
| loss: {kind: nll_loss, reduction: mean, direction: forward}
| batch: {seed: 3, samples: 150, classes: 3, targets: {file: labels.npy}}
| run: {kernels: ["nll_loss/reduce/*"]}
| expect: {cause: negative_labels}
copy tests/data/iris_species_from_1.npy s/labels.npy
run run --kernel nll_loss/reduce/assert --mode async s
out*
has 1 case on sim: 0 as expected, 1 not, 0 untested, 0 skipped
save --case ([0-9a-f]{16})
exit 1
shell mv out/cases/{saved} bundle && ls bundle && rm -r s out
out batch.npz
out case.json
out device.log
out evidence.txt
out finding.txt
out scenario.yaml
shell python3 -c "import zipfile; print(*sorted(zipfile.ZipFile('bundle/batch.npz').namelist()))"
out input.npy source_targets.npy target.npy
run check bundle/scenario.yaml
out 1 scenario (1 point), 0 manifests (0 kernels): 0 errors
run replay bundle
out bundle: the batch is the recorded one, bit for bit
out 
out*
has async
has FAULT one_based_labels
has reproduced: detected, one_based_labels
run shrink bundle/scenario.yaml --out small.yaml
out*
has   after    detected, one_based_labels

# Another verdict or cause than the recorded one is not reproduced.
shell sed -i 's/"cause": *"one_based_labels"/"cause": "corrupt_labels"/g' bundle/case.json
run replay bundle/
out*
has not reproduced: recorded detected, corrupt_labels; now detected, one_based_labels
exit 1

# A batch that is not the recorded one is an error, before anything runs.
shell sed -i 's/seed: 3/seed: 4/' bundle/scenario.yaml
run replay bundle
err~ bundle/batch.npz:input: error: is not the scenario's batch: element 0 is [-0-9.]+, not [-0-9.]+
exit 2
shell echo '{}' > bundle/case.json
run replay bundle
err bundle/case.json: error: is not the record of a case
exit 2
shell echo '{' > bundle/case.json
run replay bundle
err~ bundle/case.json:[0-9]+: error: cannot read: .*
exit 2

# A mutant that lets a fault through: the bundle holds what the device was given.
file b/bits.yaml
| title: The bits of floating-point labels
| loss: {kind: nll_loss, reduction: mean, direction: forward}
| batch: {seed: 16, samples: 20, classes: 10}
| faults: [{kind: float_targets, form: bits, dtype: float64}]
| run: {kernels: [nll_loss/reduce/nan], modes: [blocking]}
| expect: {verdict: silent_corruption}
run run b
out*
has 1 case on sim: 0 as expected, 1 not
save --case ([0-9a-f]{16})
exit 1
shell python3 -c "import sys, zipfile; print(*sorted(zipfile.ZipFile('out/cases/{saved}/batch.npz').namelist()))"
out device_target.npy input.npy target.npy
run replay {saved}
out*
has out/cases/{saved}: the batch is the recorded one, bit for bit
has reproduced: detected, float_targets
