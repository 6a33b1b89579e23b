# An expectation that is wrong turns the run red and says what differed.
file s.yaml
| title: Expects the wrong cause
| loss: {kind: nll_loss, reduction: mean}
| batch: {seed: 3, samples: 200, classes: 6}
| faults:
|   - {kind: wrong_head_width, head_width: 4}
| expect: {cause: one_based_labels}
run run --kernel nll_loss/reduce/nan --mode blocking s.yaml
out                   nan  
out                   block
out s
out   nll_loss/reduce  !  1
out 
out D detected  ! not as expected (how many)
out 
out*
has   differs    expected cause one_based_labels, found wrong_head_width (certain)
has 1 case on sim: 0 as expected, 1 not, 0 untested, 0 skipped
save --case ([0-9a-f]{16})
exit 1
# The case leaves a bundle from which it can be told and run again.
shell ls out/cases/{saved}
out batch.npz
out case.json
out evidence.txt
out finding.txt
out scenario.yaml
shell head -n 3 out/cases/{saved}/evidence.txt
out~ labels        [0-9]+ of int64, 0 ignored .*
out~ classes       head width .*
out~ range         .*
shell grep differs out/cases/{saved}/finding.txt
out   differs    expected cause one_based_labels, found wrong_head_width (certain)
run check out/cases/{saved}/scenario.yaml
out 1 scenario (1 point), 0 manifests (0 kernels): 0 errors
run replay out/cases/{saved}
out*
has out/cases/{saved}: the batch is the recorded one, bit for bit
has expected cause one_based_labels
has reproduced: detected, wrong_head_width
# A run that goes well takes old bundles away.
edit s.yaml cause: one_based_labels => cause: wrong_head_width
run run --kernel nll_loss/reduce/nan --mode blocking s.yaml
out*
has 1 as expected
shell test ! -e out/cases && echo gone
out gone
