# A kernel of somebody's own that takes strides, gated for offsets beyond 2^31 by the scenarios of `wide`.
file my_nll.cu
| using i64 = long long;
| extern "C" __global__ void my_nll(float *output, const float *input, const i64 *target, i64 rows, i64 spatial,
|                                   i64 sn, i64 sc, i64 ss, i64 tn, i64 ts, i64 ignore_index) {
|     i64 row = blockIdx.x * (i64)blockDim.x + threadIdx.x;
|     if (row >= rows) { return; }
|     i64 n = row / spatial, s = row % spatial;
|     i64 t = target[n * tn + s * ts];
|     output[row] = t == ignore_index ? 0 : -input[n * sn + t * sc + s * ss];
| }
file my_nll.yaml
| family: nll_loss
| source: my_nll.cu
| kernels:
|   - name: my_nll/strided
|     policy: none
|     dtypes: [float32]
|     reductions: [none]
|     inputs: [batched, spatial]
|     weights: false
|     strided: true
|     stages:
|       - entry: my_nll
|         grid: ["ceil_div(rows, 64)"]
|         block: [64]
|         args: [output, input, target, rows, spatial, input_stride_n, input_stride_c, input_stride_s,
|                target_stride_n, target_stride_s, ignore_index]
run run {src}/scenarios/wide/nll.yaml --kernels my_nll.yaml --kernel 'my_nll/*'
out*
has 3 cases on sim: 3 as expected
has pass 3
# The product of label and stride as an int: the view of far classes shows it, and the finding says which element.
edit my_nll.cu t * sc => (int)(t * sc)
run run {src}/scenarios/wide/nll.yaml --kernels my_nll.yaml --kernel 'my_nll/*'
out*
has 3 cases on sim: 2 as expected, 1 not
has FAULT index_overflow — likely: `input` is accessed at byte
has lands when the offset is cut to 32 bits with a sign
has point      loss.reduction=none batch.logits.dtype=float32 batch.logits.stride=[4,3000000000,1]
has verdict    memory_fault: read out of bounds of 4 bytes
exit 1
# The same in a `uint32_t`, on strides of which nothing is left: no address is bad.
edit my_nll.cu (int)(t * sc) => (unsigned)(t * sc)
run run {src}/scenarios/wide/whole_turns.yaml --kernels my_nll.yaml --kernel 'my_nll/*'
out*
has 3 cases on sim: 2 as expected, 1 not
has FAULT index_overflow — likely: the offsets of the input are cut to 32 bits: that gives all the numbers returned
has verdict    wrong_result
exit 1
# A kernel that takes strides in 32 bits cannot be told such a view: it was not run, and that proves nothing.
edit my_nll.cu i64 sn, i64 sc, i64 ss => int sn, int sc, int ss
run run {src}/scenarios/wide/nll.yaml --kernels my_nll.yaml --kernel 'my_nll/*'
out*
has : it takes 'input_stride_n' in 32 bits, and 3000000000 does not fit (my_nll/strided)
has it takes 'input_stride_c' in 32 bits, and 3000000000 does not fit (my_nll/strided)
hasnt FAULT
exit 3
# A cross-entropy that is right forward; backward takes the class's offset in an int.
file my_ce.cu
| using i64 = long long;
| struct view { i64 rows, classes, spatial, sn, sc, ss, tn, ts; };
| #define PARAMS i64 rows, i64 classes, i64 spatial, i64 sn, i64 sc, i64 ss, i64 tn, i64 ts, i64 ignore_index
| #define VIEW view{rows, classes, spatial, sn, sc, ss, tn, ts}
| __device__ i64 row_of() { return blockIdx.x * (i64)blockDim.x + threadIdx.x; }
| __device__ const float *row_at(const view &v, const float *input, i64 row) {
|     return input + row / v.spatial * v.sn + row % v.spatial * v.ss;
| }
| __device__ float log_sum(const view &v, const float *x) {
|     float max = x[0], sum = 0;
|     for (i64 c = 1; c < v.classes; c++) { max = fmaxf(max, x[c * v.sc]); }
|     for (i64 c = 0; c < v.classes; c++) { sum += expf(x[c * v.sc] - max); }
|     return max + logf(sum);
| }
| extern "C" __global__ void ce_forward(float *output, const float *input, const i64 *target, PARAMS) {
|     const view v = VIEW;
|     i64 row = row_of();
|     if (row >= rows) { return; }
|     const float *x = row_at(v, input, row);
|     i64 t = target[row / spatial * tn + row % spatial * ts];
|     output[row] = log_sum(v, x) - x[t * sc];
| }
| extern "C" __global__ void ce_backward(float *grad_input, const float *grad_output, const float *input,
|                                        const i64 *target, PARAMS) {
|     const view v = VIEW;
|     i64 row = row_of();
|     if (row >= rows) { return; }
|     const float *x = row_at(v, input, row);
|     i64 t = target[row / spatial * tn + row % spatial * ts];
|     float lse = log_sum(v, x);
|     for (i64 c = 0; c < classes; c++) {
|         float p = expf(x[(int)(c * sc)] - lse);
|         grad_input[(row / spatial * classes + c) * spatial + row % spatial] = grad_output[row] * (p - (c == t));
|     }
| }
file my_ce.yaml
| family: cross_entropy
| source: my_ce.cu
| kernels:
|   - name: my_ce/strided
|     policy: none
|     dtypes: [float32]
|     reductions: [none]
|     inputs: [batched, spatial]
|     weights: false
|     strided: true
|     stages:
|       - entry: ce_forward
|         grid: ["ceil_div(rows, 64)"]
|         block: [64]
|         args: [output, input, target, rows, head_width, spatial, input_stride_n, input_stride_c,
|                input_stride_s, target_stride_n, target_stride_s, ignore_index]
|       - entry: ce_backward
|         direction: backward
|         grid: ["ceil_div(rows, 64)"]
|         block: [64]
|         args: [grad_input, grad_output, input, target, rows, head_width, spatial, input_stride_n,
|                input_stride_c, input_stride_s, target_stride_n, target_stride_s, ignore_index]
shell sed 's/, label_smoothing: 0.1//' {src}/scenarios/wide/cross_entropy.yaml > ce.yaml
run run ce.yaml --kernels my_ce.yaml --kernel 'my_ce/*'
out*
has 3 cases on sim: 2 as expected, 1 not
has FAULT index_overflow — likely: `input` is accessed at byte
has failed     launch 1 of 2 (ce_backward)
exit 1
edit my_ce.cu (int)(c * sc) => c * sc
run run ce.yaml --kernels my_ce.yaml --kernel 'my_ce/*'
out*
has 3 cases on sim: 3 as expected
# What no device can be given is refused where it is written.
file far_views.yaml
| title: A far view of too many elements
| loss: {kind: cross_entropy}
| batch: {samples: 40, extent: [100], classes: 5, logits: {stride: [1, 3000000000, 1000]}}
run check far_views.yaml
err~ far_views.yaml:3:66: error: batch.logits.stride spreads 20000 elements over .*
err*
out*
exit 2
