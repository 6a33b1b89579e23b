# A filter or path that matches nothing at all is mistyped: nothing is run, and nothing proven.
run run --kernel nll_los/* {src}/scenarios/smoke/nll_controls.yaml
err lossgate: error: no kernel matches 'nll_los/*', did you mean 'nll_loss/*'?
exit 3
run run --mode blokcing {src}/scenarios/smoke/nll_controls.yaml
err lossgate: error: no launch mode matches 'blokcing', did you mean 'blocking'?
exit 3
# One that is right does not hide one that is not.
run run --kernel nll_loss/reduce/* --kernel nll_loss/redcue/nan --mode blocking {src}/scenarios/smoke/nll_controls.yaml
err lossgate: error: no kernel matches 'nll_loss/redcue/nan', did you mean 'nll_loss/reduce/nan'?
exit 3
file empty/readme.txt
| no scenario
run run empty {src}/scenarios/smoke/nll_controls.yaml
err lossgate: error: there is no scenario (*.yaml) under 'empty'
exit 3
file mistyped.yaml
| title: A kernel that is not there
| loss: {kind: nll_loss}
| batch: {samples: 4, classes: 3}
| run: {kernels: [nll_loss/reduce/nan, nll_loss/*/asert, foo]}
run run mistyped.yaml
err mistyped.yaml: run.kernels: error: no kernel matches 'nll_loss/*/asert', did you mean 'nll_loss/*/assert'?
err mistyped.yaml: run.kernels: error: no kernel matches 'foo'
exit 3
run shrink mistyped.yaml
err mistyped.yaml: run.kernels: error: no kernel matches 'nll_loss/*/asert', did you mean 'nll_loss/*/assert'?
err mistyped.yaml: run.kernels: error: no kernel matches 'foo'
exit 3
# Each row of a matrix is looked at, and said once.
file rows.yaml
| title: A kernel that is not there
| loss: {kind: nll_loss}
| batch: {samples: 4, classes: 3}
| matrix:
|   kernel:
|     there: {run.kernels: [nll_loss/reduce/nan]}
|     not: {run.kernels: [zzzzzzz]}
|   batch.seed: [1, 2, 3]
run run rows.yaml
err rows.yaml: run.kernels: error: no kernel matches 'zzzzzzz'
exit 3
# Another set of kernels need not have those that a scenario of the project names.
run run --kernels {src}/kernels/cross_entropy.yaml mistyped.yaml
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
has   skipped 1: it has no reduction mean (nll_loss/no_reduce/nan)
has nothing was proven
exit 3
# Chosen kernels that cannot take a point leave it out, and the run says so.
file two.yaml
| title: A mean and rows
| loss: {kind: nll_loss}
| batch: {samples: 4, classes: 3}
| matrix: {loss.reduction: [none, mean]}
run run --kernel nll_loss/reduce/nan --mode blocking two.yaml
out*
has 1 case on sim: 1 as expected, 0 not, 0 untested, 0 skipped
has 1 scenario point is taken by none of the kernels and modes chosen
has   left out 1: it has no reduction none (nll_loss/reduce/nan)

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
has untested: the fault wrong_head_width changed nothing in this batch
exit 3
