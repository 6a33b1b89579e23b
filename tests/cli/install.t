# An installed program brings its scenarios, kernels and the header of fault records, and needs no source tree.
shell cmake --install "$(dirname "$(dirname "$LOSSGATE")")" --prefix "$PWD/usr" >install.log && ls usr/bin usr/share/lossgate
out usr/bin:
out lossgate
out
out usr/share/lossgate:
out kernels
out reports
out scenarios
shell mkdir mine && cd mine && ../usr/bin/lossgate list kernels | grep -vc "/usr/share/lossgate/kernels/"
out 0
exit 1
shell usr/bin/lossgate list scenarios scenarios/smoke | grep -c '^smoke/'
out~ [0-9]{2,}
# A kernel that writes fault records, in a folder of its own.
file mine/rows.cu
| #include "lossgate_record.cuh"
|
| extern "C" __global__ void rows(float *loss, const float *x, const long long *target, long long samples,
|                                 long long width, long long ignore, lossgate_record_ring *ring,
|                                 unsigned launch) {
|     long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
|     if (row >= samples) {
|         return;
|     }
|     long long label = target[row];
|     if (label == ignore) {
|         loss[row] = 0;
|     } else if (label < 0 || label >= width) {
|         lossgate_write_record(ring, launch, 1, row, label, 0, width);
|         loss[row] = __int_as_float(0x7fc00000);
|     } else {
|         loss[row] = -x[row * width + label];
|     }
| }
file mine/rows.yaml
| family: nll_loss
| source: rows.cu
| kernels:
|   - name: mine/rows
|     policy: report
|     dtypes: [float32]
|     reductions: [none]
|     weights: false
|     stages:
|       - entry: rows
|         grid: ["ceil_div(samples, 64)"]
|         block: [64]
|         recorder: row
|         args: [output, input, target, samples, head_width, ignore_index, fault_record, launch_index]
shell cd mine && ../usr/bin/lossgate check --compile rows.yaml
out 0 scenarios (0 points), 1 manifest (1 kernel): 0 errors
shell cd mine && ../usr/bin/lossgate run scenarios/faults/label_equals_width.yaml --kernels rows.yaml
out*
has faults/label_equals_width
has  0 not, 0 untested,
has detected
# What is neither here nor shipped is not found.
shell cd mine && ../usr/bin/lossgate run scenarios/faults/no_such.yaml --kernels rows.yaml
err scenarios/faults/no_such.yaml: error: cannot read: No such file or directory
exit 2
# A header of that name beside the kernel comes first.
shell cd mine && echo 'int broken(' >lossgate_record.cuh && ../usr/bin/lossgate check --compile rows.yaml
out~ 0 scenarios .*: [1-9][0-9]* errors?
err*
exit 2
