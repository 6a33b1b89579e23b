# One character in a guard of a copy of the kernels: the gate turns red and names kernel, line, scenario.
copy kernels kernels
shell sed -i '0,/t < n_classes, to/s//t <= n_classes, to/' kernels/nll_loss.cu && diff kernels/nll_loss.cu {src}/kernels/nll_loss.cu | grep -c '^<'
out 1
run run --kernels kernels/nll_loss.yaml --kernel nll_loss/reduce/* --mode blocking {src}/scenarios/faults/label_equals_width.yaml {src}/scenarios/faults/negative_labels.yaml
out*
has UNTESTED nll_loss/reduce/assert, blocking:
has UNTESTED nll_loss/reduce/report, blocking:
has UNTESTED nll_loss/reduce/nan, blocking:
has the built-in bad batch (label C in one row, forward) gave silent_corruption
has the guard is `t >= 0 && t <= n_classes` at kernels/nll_loss.cu:
has   scenarios  faults/label_equals_width
has              faults/negative_labels
hasnt UNTESTED nll_loss/reduce/none
exit 1

# A kernel without any guard that claims one detects nothing.
copy kernels unguarded
shell sed -i 's/^#define LOSSGATE_GUARD(P, /#define LOSSGATE_GUARD_OFF(P, /' unguarded/lossgate_kernel.cuh && echo '#define LOSSGATE_GUARD(P, ok, test, ...) const bool ok = true' >> unguarded/lossgate_kernel.cuh
run run --kernels unguarded/nll_loss.yaml --kernel nll_loss/reduce/assert --mode blocking {src}/scenarios/faults/label_equals_width.yaml
err*
out*
has this build detects nothing: its asserts are compiled out, missing or never reached
has nothing was proven
exit 3
