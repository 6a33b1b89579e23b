# What cannot be written is an error, never a green exit.
shell $LOSSGATE list modes > /dev/full
err lossgate: error: cannot write to standard output: No space left on device
exit 4
shell (sleep 0.2; $LOSSGATE check --schema; echo "status $?" >&2) | true
err lossgate: error: cannot write to standard output: Broken pipe
err status 4
# Who reads the first lines of a list only has what they want: no message.
shell (sleep 0.2; $LOSSGATE list causes) | true
file s.yaml
| title: Clean
| loss: {kind: nll_loss, reduction: mean}
| batch: {samples: 4, classes: 3}
file taken
| a file where a folder is wanted
run run --out taken --kernel nll_loss/reduce/nan --mode blocking s.yaml
err taken: error: is not a folder
exit 2
# Nothing is written without --out when one case is run, and nowhere when --out is empty.
run run --out '' --kernel nll_loss/reduce/nan --mode blocking s.yaml
out*
shell ls
out s.yaml
out taken
