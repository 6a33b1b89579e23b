# The five faults shrink to a few rows, and what is written shows the same when it is run.
shell for s in wrong_head_width one_based_labels label_equals_width negative_labels float_targets_refused float_targets_bits float_targets_truncated; do $LOSSGATE shrink {src}/scenarios/faults/$s.yaml --kernel nll_loss/reduce/report --mode blocking --out $s.yaml | sed -n 's/^  after    detected, \([a-z_]*\).*: \([0-9]*\) rows\{0,1\}, .*/\1 \2/p'; done
out wrong_head_width 1
out one_based_labels 6
out~ label_equals_width [1-9][0-9]?
out negative_labels 2
out float_targets 1
out~ float_targets [1-9]
out float_targets 1
shell $LOSSGATE check *.yaml
out 7 scenarios (7 points), 0 manifests (0 kernels): 0 errors
run run --out "" .
out*
has 7 cases on sim: 7 as expected, 0 not, 0 untested, 0 skipped
has detected 7

# The text of one of them, exactly: all causes that were named, two classes, rows that differ.
run shrink {src}/scenarios/faults/negative_labels.yaml --kernel nll_loss/reduce/assert --mode blocking
out title: "Shrunk: Negative labels that nobody declared as ignored"
out origin: "PaddlePaddle/Paddle#36891"
out loss:
out   kind: nll_loss
out   reduction: mean
out   direction: forward
out   ignore_index: -100
out batch:
out   seed: 0
out   samples: 2
out   extent: []
out   classes: 2
out   logits: {dtype: float32, values: [-1, -2, -3, -1], shape: [2, 2]}
out   targets: {dtype: int64, kind: indices, values: [-1, 1], shape: [2]}
out run:
out   kernels: ["nll_loss/reduce/assert"]
out   modes: ["blocking"]
out expect:
out   causes: [negative_labels, sentinel_mismatch]
out   verdict: detected
out   rows: [0]
err~ faults/negative_labels loss.reduction=mean .* on nll_loss/reduce/assert, blocking: [0-9]+ runs
err~   before   detected, negative_labels or sentinel_mismatch: 33 rows, 10 classes
err~   after    detected, negative_labels or sentinel_mismatch: 2 rows, 2 classes
err   by size: 2 rows together show it, fewer do not

# A mean that is divided by the wrong count does not become the mean of no row.
run shrink {src}/scenarios/reports/R61_ignored_rows_counted.yaml --mode blocking --out divisor.yaml
out~ reports/R61_ignored_rows_counted on mutants/nll_sum/divide_by_rows, blocking: [0-9]+ runs
out   before   wrong_result, wrong_normalisation: 8 rows, 6 classes
out   after    wrong_result, wrong_normalisation: 2 rows, 2 classes
out   by size: 2 rows together show it, fewer do not
shell grep -e targets -e cause divisor.yaml
out   targets: {dtype: int64, kind: indices, values: [1, -100], shape: [2]}
out   cause: wrong_normalisation

# Arrays of files become values; where they are too many, the file is named from the new place.
file d/iris.yaml
| title: Iris labels from 1
| loss: {kind: nll_loss}
| batch: {targets: {file: iris.npy}, classes: 3}
| expect: {verdict: detected, cause: one_based_labels}
copy tests/data/iris_species_from_1.npy d/iris.npy
run shrink d/iris.yaml --kernel nll_loss/reduce/report --mode blocking --out few.yaml
out*
has   before   detected, one_based_labels or wrong_head_width: 150 rows, 3 classes
shell grep -c iris.npy few.yaml
out 0
exit 1
run run --out "" few.yaml
out*
has 1 case on sim: 1 as expected, 0 not, 0 untested, 0 skipped
# A kernel that leaves out the rows beyond its one block: right for any 64 rows, wrong for 65.
file k/short.cu
| extern "C" __global__ void short_sum(float *output, float *total_weight, const float *input,
|                                      const long long *target, long long samples, long long width) {
|     __shared__ float sums[64];
|     long long row = threadIdx.x;
|     sums[row] = row < samples ? -input[row * width + target[row]] : 0;
|     __syncthreads();
|     if (row == 0) {
|         float sum = 0;
|         for (int i = 0; i < 64; i++) {
|             sum += sums[i];
|         }
|         output[0] = sum;
|         total_weight[0] = 0;
|         for (long long i = 0; i < samples; i++) {
|             total_weight[0] += 1;
|         }
|     }
| }
file k/short.yaml
| family: nll_loss
| source: short.cu
| kernels:
|   - name: short/sum
|     policy: none
|     dtypes: [float32]
|     reductions: [sum]
|     stages:
|       - entry: short_sum
|         grid: [1]
|         block: [64]
|         args: [output, total_weight, input, target, samples, head_width]
file s/many.yaml
| title: More rows than one block has threads
| loss: {kind: nll_loss, reduction: sum, direction: forward}
| batch: {seed: 4, samples: 500, classes: 7}
run shrink s/many.yaml --kernels k --mode blocking --out short.yaml
out~ many on short/sum, blocking: [0-9]+ runs
out~   before   wrong_result, .*: 500 rows, 7 classes
out~   after    wrong_result, .*: 65 rows, [1-3] class(es)?
out   by size: 65 rows together show it, fewer do not
run run --kernels k --out "" short.yaml
out*
has 1 case on sim: 1 as expected, 0 not, 0 untested, 0 skipped
has wrong_result 1

# A file of more elements than are ever listed: the rows that the finding names are tried first.
shell python3 -c "import struct,array; h=lambda d,s:(lambda t:b'\x93NUMPY\x01\x00'+struct.pack('<H',len(t))+t)((\"{'descr':'%s','fortran_order':False,'shape':%s,}\"%(d,s)).ljust(117).encode()+b'\n'); open('d/tall.npy','wb').write(h('<f4','(5000,1000)')+array.array('f',[-1.0])*5000000); open('d/tall_labels.npy','wb').write(h('<i8','(5000,)')+array.array('q',[i%1000 if i!=4321 else -7 for i in range(5000)]).tobytes())"
file d/tall.yaml
| title: One bad label of many
| loss: {kind: nll_loss}
| batch: {logits: {file: tall.npy}, targets: {file: tall_labels.npy}}
run shrink d/tall.yaml --kernel nll_loss/reduce/report --mode blocking --out tall.yaml
out*
has   before   detected, negative_labels
has 5000 rows, 1000 classes
has   after    detected, negative_labels
hasnt the batch stays generated
shell grep -c npy tall.yaml
out 0
exit 1
run run --out "" tall.yaml
out*
has 1 case on sim: 1 as expected, 0 not, 0 untested, 0 skipped

# Rows of a file that only together show it, and are too many to list.
shell python3 -c "import struct,array; t=\"{'descr':'<f4','fortran_order':False,'shape':(70,70000),}\".ljust(117).encode()+b'\n'; open('d/wide.npy','wb').write(b'\x93NUMPY\x01\x00'+struct.pack('<H',len(t))+t+array.array('f',[-1.0])*(70*70000))"
file d/wide.yaml
| title: Offsets of a file
| loss: {kind: nll_loss, reduction: sum, direction: forward}
| batch: {logits: {file: wide.npy}, targets: {distribution: round_robin}}
run shrink d/wide.yaml --kernels k --mode blocking --out d/wide_small.yaml
out*
has by size
shell grep -o 'file: [^}]*' d/wide_small.yaml
out file: "wide.npy"
file e/other.yaml
| title: A folder
run shrink d/wide.yaml --kernels k --mode blocking --out e/wide.yaml
out*
has   its arrays lie outside its folder: run it with --allow-path
shell $LOSSGATE run --kernels k --out "" e/wide.yaml 2>&1 | grep -c 'lies outside'
out 1
shell $LOSSGATE run --kernels k --out "" --allow-path d e/wide.yaml | grep -o '^wrong_result 1'
out wrong_result 1

# Nothing to shrink, and no scenario.
file s/clean.yaml
| title: Clean
| loss: {kind: nll_loss, reduction: sum, direction: forward}
| batch: {seed: 4, samples: 5, classes: 7}
run shrink s/clean.yaml --kernels k --mode blocking
err lossgate shrink: nothing to shrink: 1 case ran and passed
exit 3
run shrink
err lossgate shrink: error: give one scenario file
exit 2

# Offsets that overflow 16 bits need the size, not a row: the batch stays generated and its sizes shrink.
run shrink {src}/scenarios/reports/R33_offsets_of_16_bits.yaml --mode blocking --out sixteen.yaml
out~ reports/R33_offsets_of_16_bits on mutants/nll_row/offsets16, blocking: [0-9]+ runs
out   before   memory_fault, index_overflow: 200 rows, 200 classes
out~   after    memory_fault, index_overflow: 1[0-9]{2} rows, [12][0-9]{2} classes
out   by size: the batch stays generated; values alone do not show it, or are too many
run run --out "" sixteen.yaml
out*
has 1 case on sim: 1 as expected, 0 not, 0 untested, 0 skipped
