# A kernel that takes neither float32 nor int64 is launched by scenarios that leave the types open.
copy tests/data/foreign/ce_half.cu ce_half.cu
copy tests/data/foreign/ce_half.yaml ce_half.yaml
shell ln -s {src}/scenarios s && ls s/smoke/plain_*.yaml s/faults/plain_*.yaml | wc -l
out 20
run run s/smoke s/faults --kernels ce_half.yaml --mode blocking
out*
has smoke/plain_ignored_rows
has faults/plain_label_faults
has  0 not, 0 untested,
hasnt never tested
hasnt nothing was proven
exit 0
# What a run did not put to it is told.
run run s/smoke/plain_large_logits.yaml --kernels ce_half.yaml
out*
has never tested: ignored rows, invalid rows (my_half/mean)
exit 0
# A green run never means that the kernel was not launched: here every case is refused before that.
file refused.yaml
| title: Labels of a type that a checked call refuses
| loss: {kind: cross_entropy, reduction: mean}
| batch: {samples: 8, classes: 3}
| faults: [{kind: float_targets}]
run run refused.yaml --kernels ce_half.yaml --mode blocking
out*
has 1 as expected, 0 not, 0 untested
has nothing was proven of my_half/mean: no case was launched and judged: refused by a host check, before any launch (1)
exit 3
shell grep -c 'name="my_half/mean".*\|nothing was proven of it' out/junit.xml
out 2
# Each break of one character is found.
shell mkdir b && cp ce_half.* b && sed -i 's/label == ignore/label == -ignore/' b/ce_half.cu
run run s/smoke/plain_ignored_rows.yaml --kernels b/ce_half.yaml
out*
has false_alarm
exit 1
shell sed 's/counts.blockIdx.x. = 0/counts[blockIdx.x] = 1/' ce_half.cu > b/ce_half.cu
run run s/smoke/plain_ignored_rows.yaml --kernels b/ce_half.yaml
out*
has wrong_result
exit 1
shell sed 's/loss . count/loss \/ n_rows/' ce_half.cu > b/ce_half.cu
run run s/smoke/plain_ignored_rows.yaml --kernels b/ce_half.yaml
out*
has wrong_result
exit 1
shell sed 's/k += blockDim.x/k += 2 * blockDim.x/' ce_half.cu > b/ce_half.cu
run run s/smoke/plain_ignored_rows.yaml --kernels b/ce_half.yaml
out*
has wrong_result
exit 1
shell sed 's/top = -INFINITY/top = 0/' ce_half.cu > b/ce_half.cu
run run s/smoke/plain_large_logits.yaml --kernels b/ce_half.yaml
out*
has wrong_result
exit 1
# The mean over no row is no number, and what a kernel makes of it must not look like a loss.
shell sed 's/loss . count/count > 0 ? loss \/ count : 0/' ce_half.cu > b/ce_half.cu
run run s/smoke/plain_ignored_rows.yaml --kernels b/ce_half.yaml
out*
has  0 not, 0 untested,
exit 0
run run s/smoke/plain_empty.yaml --kernels b/ce_half.yaml
out*
has wrong_result: a number where NaN is right
exit 1
