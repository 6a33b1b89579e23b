# A filter that selects nothing proves nothing.
run run --kernel nll_los/* {src}/scenarios/smoke/nll_controls.yaml
out 
out 0 cases on sim: 0 as expected, 0 not, 0 untested, 0 skipped
out nothing was proven
err lossgate: no kernel matches 'nll_los/*'
exit 3
run run --mode blokcing {src}/scenarios/smoke/nll_controls.yaml
out 
out 0 cases on sim: 0 as expected, 0 not, 0 untested, 0 skipped
out nothing was proven
err lossgate: no launch mode matches 'blokcing'
exit 3
file empty/readme.txt
| no scenario
run run empty
out 
out 0 cases on sim: 0 as expected, 0 not, 0 untested, 0 skipped
out nothing was proven
exit 3

# A kernel asked for by name that cannot take the batch is skipped, and a run of skips is not green.
file named.yaml
| title: A kernel without reduction is asked for a mean
| loss: {kind: nll_loss, reduction: mean}
| batch: {samples: 4, classes: 3}
| run: {kernels: [nll_loss/no_reduce/nan], modes: [blocking]}
run run named.yaml
out*
has skipped 1
has nothing was proven
exit 3

# A fault that did not fire proves nothing either.
file idle.yaml
| title: No label reaches the narrow head
| loss: {kind: nll_loss, reduction: mean}
| batch:
|   samples: 3
|   classes: 5
|   targets: {values: [0, 1, 0]}
| faults:
|   - {kind: wrong_head_width, head_width: 3}
run run --kernel nll_loss/reduce/nan --mode blocking idle.yaml
out*
has untested: the fault did not fire: wrong_head_width
exit 3
