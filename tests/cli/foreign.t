# A kernel that is not lossgate's, with the very manifest that kernels/README.md shows.
copy tests/data/foreign/my_loss.cu my_loss.cu
shell awk '/^```yaml/{f=1;next} /^```/{f=0} f' {src}/kernels/README.md > my_loss.yaml && grep -c my_loss_forward my_loss.yaml
out 1
run check --compile my_loss.yaml
out 0 scenarios (0 points), 1 manifest (1 kernel): 0 errors
run run {src}/scenarios/smoke {src}/scenarios/faults --kernels my_loss.yaml
out*
has smoke/nll_controls
has faults/label_equals_width
has device assert `label >= 0 && label < n_classes`
has  0 not, 0 untested,
has : it has no reduction sum (my_loss/forward)
hasnt nothing was proven
exit 0
# Its guard one too wide: the build proves nothing, and the text names the guard.
edit my_loss.cu label < n_classes => label <= n_classes
run run {src}/scenarios/smoke/nll_controls.yaml {src}/scenarios/faults/label_equals_width.yaml --kernels my_loss.yaml --mode blocking
out*
has UNTESTED my_loss/forward, blocking:
has the guard is `label >= 0 && label <= n_classes` at
has nothing was proven
exit 3

# A kernel that takes 32-bit labels only is given labels as such where a scenario gives them no type.
copy tests/data/foreign/ce_int32.cu ce_int32.cu
copy tests/data/foreign/ce_int32.yaml ce_int32.yaml
file controls.yaml
| title: Labels without a type
| loss: {kind: cross_entropy, reduction: none}
| batch: {seed: 3, samples: 50, classes: 9, ignored_fraction: 0.2}
run run controls.yaml --kernels ce_int32.yaml --mode blocking
out*
has 1 case on sim: 1 as expected
has pass 1
file faults.yaml
| title: Bad labels without a type
| loss: {kind: cross_entropy, reduction: none}
| batch: {seed: 4, samples: 50, classes: 9}
| faults:
|   - {kind: label_equals_width, rows: [7]}
run run faults.yaml --kernels ce_int32.yaml --mode blocking
out*
has detected   device assert `label >= 0 && label <= LAST(n_classes)`
has rows       1 of 50: 7
# A type that is given stays, and a label that does not fit is not cut.
file given.yaml
| title: Labels of a type
| loss: {kind: cross_entropy, reduction: none}
| batch: {samples: 50, classes: 9, targets: {dtype: int64}}
run run given.yaml --kernels ce_int32.yaml --mode blocking
out*
has left out 1: it takes no int64 targets (my_ce/rows)
exit 3
file wide.yaml
| title: A label beyond 32 bits
| loss: {kind: cross_entropy, reduction: none}
| batch: {classes: 9, targets: {values: [1, 4294967297, 2]}}
run run wide.yaml --kernels ce_int32.yaml --mode blocking
out*
has left out 1: it takes no int64 targets (my_ce/rows)
exit 3
run run {src}/scenarios/smoke {src}/scenarios/faults --kernels ce_int32.yaml --jobs 2
out*
has smoke/cross_entropy_sizes
has faults/cross_entropy_labels
has  0 not, 0 untested,
has : it has no reduction mean (my_ce/rows)
# The smallest batch that shows a fault is written so that the kernel can be given it again.
run shrink faults.yaml --kernels ce_int32.yaml --mode blocking --out small.yaml
out*
has after    detected
run run small.yaml --kernels ce_int32.yaml
out*
has 1 case on sim: 1 as expected
# A guard that is wrong is no more believed than one of ours.
shell sed -i 's/^source: ce_int32.cu/source: ce_int32.cu\nnvcc_flags: [-DWIDE_CHECK]/' ce_int32.yaml
run run controls.yaml --kernels ce_int32.yaml --mode blocking
out*
has missed: label C in one row, label C in the last row; caught: label -1 in one row
has nothing was proven
exit 3
