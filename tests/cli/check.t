file good.yaml
| title: Good
| loss: {kind: nll_loss}
| batch: {samples: 4, classes: 3}
| matrix:
|   batch.samples: [1, 2, 3]
file bad.yaml
| title: Bad
| loss: {kind: nll_loss, reducton: mean}
| batch: {samples: 12abc, classes: 3}
run check good.yaml
out 1 scenario (3 points), 0 manifests (0 kernels): 0 errors
run check bad.yaml
out 1 scenario (0 points), 0 manifests (0 kernels): 2 errors
err bad.yaml:2:24: error: unknown key 'reducton' in loss; did you mean 'reduction'?
err   loss: {kind: nll_loss, reducton: mean}
err                          ^
err bad.yaml:3:18: error: batch.samples is '12abc'; want an integer
err   batch: {samples: 12abc, classes: 3}
err                    ^
exit 2
# One broken file does not hide another, and nothing is run.
run run . --kernel nll_loss/reduce/nan
err*
err ./bad.yaml:2:24: error: unknown key 'reducton' in loss; did you mean 'reduction'?
exit 2

# A folder is walked, hidden and marked folders are left out; asked for by name they are read.
file tree/a.yaml
| title: A
| loss: {kind: nll_loss}
| batch: {samples: 4, classes: 3}
file tree/broken/.lossgate-skip
| broken on purpose
file tree/broken/b.yaml
| title: B
file tree/.hidden/c.yaml
| title: C
run check tree
out 1 scenario (1 point), 0 manifests (0 kernels): 0 errors
run check tree/broken
out*
err*
err tree/broken/b.yaml:1:1: error: missing key 'loss'
exit 2
file nothing/readme.txt
| no scenario here
run check nothing
out 0 scenarios (0 points), 0 manifests (0 kernels): 0 errors
err lossgate check: there is no file to check
exit 3

# A manifest with one error is looked at further: its other entries and their arguments too.
file two/k.cu
| extern "C" __global__ void rows(const float *input, float *output, int n) { output[0] = input[n]; }
file two/k.yaml
| family: nll_loss
| source: k.cu
| kernels:
|   - name: k
|     policy: none
|     dtypes: [float32]
|     stages:
|       - {entry: rowz, grid: [0-rows], block: [32], args: [input]}
|       - entry: rows
|         grid: [1]
|         block: [32]
|         args: [input, output]
|       - {entry: rows, grid: [1], block: [32], args: [head_width, output, samples]}
run check --compile two
out 0 scenarios (0 points), 1 manifest (1 kernel): 4 errors
err two/k.yaml:8:9: error: k: there is no entry rowz in two/k.cu
err two/k.yaml:8:30: error: kernels.0.stages.0.grid.0 '0-rows' is -1 for a batch of 1 sample of 10 classes; it must be at least 1
err         - {entry: rowz, grid: [0-rows], block: [32], args: [input]}
err                                ^
err two/k.yaml:12:15: error: k: the entry rows has 3 parameters, the stage passes 2; its parameters have 8, 8, 4 bytes
err two/k.yaml:13:53: error: k: parameter 0 of rows is a pointer; 'head_width' is an integer of 4 or 8 bytes
exit 2

# A pattern that none of the kernels given has as its name.
file pattern/s.yaml
| title: A pattern that is misspelt
| loss: {kind: nll_loss}
| run: {kernels: ["nll_loss/*", "nope/*"]}
| matrix:
|   batch.seed: [1, 2]
|   kernel: {a: {batch.samples: 3}, b: {run.kernels: ["none/*"]}}
run check pattern {src}/kernels/nll_loss.yaml
out~ 1 scenario .4 points., 1 manifest .\d+ kernels.: 0 errors
err pattern/s.yaml:3:31: warning: run.kernels 'nope/*' matches no kernel of the manifests given
err pattern/s.yaml:6:53: warning: run.kernels 'none/*' matches no kernel of the manifests given

# An empty file is neither a scenario nor a manifest.
file empty.yaml
|
run check empty.yaml
out 0 scenarios (0 points), 0 manifests (0 kernels): 1 error
err empty.yaml: error: the file is empty
exit 2

# The project's own files are without error.
shell cd {src} && $LOSSGATE check
out~ \d+ scenarios \(\d+ points\), \d+ manifests \(\d+ kernels\): 0 errors
shell $LOSSGATE check --schema | python3 -c "import json,sys; print(json.load(sys.stdin)['\$schema'])"
out https://json-schema.org/draft/2020-12/schema
run check --reference-page
out*
has wrong_head_width
