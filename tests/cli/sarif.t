# What was not as expected as SARIF 2.1.0: rules are causes, places are lines of the repository.
file repo/.git/HEAD
| ref: refs/heads/main
file repo/kernels/mine.cu
| #include <cassert>
| extern "C" __global__ void mine(float *output, const float *input, const long long *target, long long samples,
|                                 long long width) {
|     long long row = blockIdx.x * blockDim.x + threadIdx.x;
|     if (row < samples) {
|         long long t = target[row];
|         assert(t >= 0 && t < width);
|         output[row] = -input[row * width + t] * (width == 6 && row == 3 ? 2 : 1);
|     }
| }
file repo/kernels/mine.yaml
| family: nll_loss
| source: mine.cu
| kernels:
|   - name: mine/rows
|     policy: assert
|     dtypes: [float32]
|     reductions: [none]
|     stages:
|       - entry: mine
|         grid: ["ceil_div(rows, 64)"]
|         block: [64]
|         args: [output, input, target, samples, head_width]
# Wrong only where the self-proof does not look; and a fault that the scenario calls another.
file repo/scenarios/wrong.yaml
| title: Six classes
| loss: {kind: nll_loss, reduction: none, direction: forward}
| batch: {seed: 4, samples: 8, classes: 6}
file repo/scenarios/shifted.yaml
| title: Two labels out of range, said to be of another kind
| loss: {kind: nll_loss, reduction: none, direction: forward}
| batch: {seed: 4, samples: 40, classes: 11}
| faults:
|   - {kind: negative_labels, rows: [3, 17], values: [-7]}
| expect: {cause: one_based_labels}
shell cd repo && $LOSSGATE run --kernels kernels scenarios --mode blocking --out "" --sarif out.sarif
out*
has source     kernels/mine.cu:2, the entry mine
exit 1
shell cd repo && python3 -c "import json; r=json.load(open('out.sarif'))['runs'][0]; [print(x['ruleId'], x['locations'][0]['physicalLocation']['artifactLocation'], x['locations'][0]['physicalLocation']['region']['startLine'], x['relatedLocations'][0]['physicalLocation']['artifactLocation']['uri'], x['relatedLocations'][0]['physicalLocation']['region']['startLine']) for x in sorted(r['results'], key=lambda x: x['ruleId'])]; print(sorted(x['id'] for x in r['tool']['driver']['rules']), r['invocations'][0]['exitCode'])"
out negative_labels {'uri': 'kernels/mine.cu', 'uriBaseId': 'SRCROOT'} 7 scenarios/shifted.yaml 5
out wrong_result {'uri': 'kernels/mine.cu', 'uriBaseId': 'SRCROOT'} 2 scenarios/wrong.yaml 1
out ['negative_labels', 'wrong_result'] 1

# The same in the other reports: the file, the reason, the line of the kernel.
shell cd repo && $LOSSGATE run --kernels kernels scenarios/wrong.yaml --mode blocking --out o > /dev/null; grep -c 'file="scenarios/wrong.yaml"' o/junit.xml; grep -o 'message="expected pass, found wrong_result[^"]*output row 3' o/junit.xml; grep -o 'source     kernels/mine.cu:2' o/junit.xml
out 1
out~ message="expected pass, found wrong_result.*: wrong number: output row 3
out source     kernels/mine.cu:2
shell cd repo && python3 {src}/reports/html.py o/cases.jsonl -o o/r.html && grep -o '<dt>source</dt><dd>kernels/mine.cu:2, the entry mine</dd>' o/r.html
out o/r.html: 1 cases
out <dt>source</dt><dd>kernels/mine.cu:2, the entry mine</dd>

# Nothing of an earlier run is left where this one did not come to an end.
shell cd repo && $LOSSGATE run --kernels kernels scenarios/none.yaml --out "" --sarif out.sarif; test -e out.sarif && echo there
err~ .*none\.yaml.*
exit 1
run run repo/scenarios --kernels repo/kernels --out "" --sarif no/folder/x.sarif
err no/folder/x.sarif: error: cannot write: No such file or directory
exit 2
run run repo/scenarios --kernels repo/kernels --mode blocking --out "" --sarif /dev/full
out*
err /dev/full: error: cannot write: No space left on device
exit 2
