# A kernel with an entry for each pair of types is given scenarios without a type in every type that
# it offers, so that what is wrong in one of its entries is found.
copy tests/data/foreign/ce_types.cu ce_types.cu
copy tests/data/foreign/ce_types.yaml ce_types.yaml
shell ln -s {src}/scenarios s && mkdir b && cp ce_types.* b
run run s/smoke s/faults s/metamorphic --kernels ce_types.yaml --jobs 2
out*
err*
has  0 not, 0 untested,
hasnt never tested
hasnt nothing was proven
exit 0
shell grep -c '"point":"[^"]*batch.logits.dtype=float16 batch.targets.dtype=uint8"' out/cases.jsonl | awk '{print ($1 > 5)}'
out 1
# What a run left out is told for each type, beside the other, and in each direction.
file one.yaml
| title: One type
| loss: {kind: cross_entropy, reduction: none, direction: forward}
| batch: {samples: 8, classes: 3, ignored_fraction: 0.5, logits: {dtype: float32}, targets: {dtype: int64}}
file both.yaml
| title: Another type, and both directions
| loss: {kind: cross_entropy, reduction: none, grad_output: {uniform: [1, 2]}}
| batch: {samples: 8, classes: 3, logits: {dtype: float64}, targets: {dtype: int32}}
run run one.yaml both.yaml --kernels ce_types.yaml --mode blocking
out*
err*
has never tested: invalid rows, float16 input, uint8 targets, float64 input with int64 targets, float32 input with int32 targets, float32 input backward, int64 targets backward (my_types/rows)
exit 0
# One entry's guard is gone, forward and backward.
shell sed 's/assert(label >= 0/assert((sizeof(T) == 8 \&\& sizeof(L) == 1) || label >= 0/' ce_types.cu > b/ce_types.cu
run run s/faults/plain_label_faults.yaml s/faults/plain_backward_alone.yaml --kernels b/ce_types.yaml
out*
err*
has batch.logits.dtype=float64 batch.targets.dtype=uint8
has expected detected, found silent_corruption
exit 1
# That of one input type is gone in the backward pass alone; the case is there again by its id.
shell sed '/void backward/,$s/guard(r);/if (sizeof(T) != 2) { guard(r); }/' ce_types.cu > b/ce_types.cu
run run s/faults/plain_label_faults.yaml s/smoke/plain.yaml --kernels b/ce_types.yaml
out*
err*
has  0 not, 0 untested,
exit 0
run run s/faults/plain_backward_alone.yaml --kernels b/ce_types.yaml
out*
err*
has batch.logits.dtype=float16
has expected detected, found silent_corruption
exit 1
shell "$LOSSGATE" replay out/cases/$(ls out/cases | head -n 1) 2> /dev/null | tail -n 1
out~ reproduced: silent_corruption, .*
shell mv out/cases kept && "$LOSSGATE" replay $(ls kept | head -n 1) 2> /dev/null | tail -n 1
out~ reproduced: silent_corruption, .*
# Rows behind the 65,536th: counted in 16 bits, or along y, where a grid has no more blocks.
shell sed 's/^#define ROW (\(.*\))$/#define ROW static_cast<unsigned short>(\1)/' ce_types.cu > b/ce_types.cu
run run s/smoke/plain.yaml s/faults/plain_label_faults.yaml --kernels b/ce_types.yaml
out*
err*
has  0 not, 0 untested,
exit 0
run run s/smoke/plain_many_rows.yaml s/faults/plain_late_row.yaml --kernels b/ce_types.yaml
out*
err*
has elements of `output` were never written, the first is 65536
has elements of `grad_input` were never written, the first is 131072
exit 1
shell sed 's/ROW (blockIdx.x/ROW (blockIdx.y/' ce_types.cu > b/ce_types.cu
shell sed -i 's/grid: .*/grid: [1, samples]/; s/block: .*/block: [1]/' b/ce_types.yaml
run run s/smoke/plain.yaml --kernels b/ce_types.yaml
out*
err*
has  0 not, 0 untested,
exit 0
run run s/smoke/plain_many_rows.yaml --kernels b/ce_types.yaml
out*
err*
has crash: the device reported CUDA_ERROR_INVALID_VALUE (1)
exit 1
# Labels of 32 bits alone: the relations are looked at, and a kernel of 37 rows breaks them.
shell cp ce_types.* b && sed -i 's/targets: .*/targets: [int32]/' b/ce_types.yaml
run run s/metamorphic --kernels b/ce_types.yaml
out*
err*
has  0 not, 0 untested,
hasnt nothing was proven
exit 0
shell sed -i 's/if (row < samples)/if (row < samples \&\& row < 37)/' b/ce_types.cu
run run s/metamorphic --kernels b/ce_types.yaml
out*
err*
has relation double_batch
exit 1
# Class probabilities: the guard is gone in the two narrow types.
shell cp -r {src}/kernels k && sed -i 's/valid, probability >= zero/valid, sizeof(T) == 2 || probability >= zero/' k/cross_entropy.cu
run run s/faults/plain_probability_faults.yaml --kernels k/cross_entropy.yaml --kernel cross_entropy/probability*/assert
out*
err*
has batch.logits.dtype=float16
has expected detected, found silent_corruption
exit 1
