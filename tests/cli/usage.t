run run --seed 12abc
err lossgate run: --seed takes a number from 0 to 2^64-1, not '12abc'
err*
exit 2
run run --seed -1
err lossgate run: --seed takes a number from 0 to 2^64-1, not '-1'
err*
exit 2
run run --jobs 0
err lossgate run: --jobs takes a number from 1 to 256, not '0'
err*
exit 2
run run --frobnicate
err lossgate run: unrecognized option '--frobnicate'
err*
exit 2
run run nowhere.yaml
err nowhere.yaml: error: cannot read: No such file or directory
exit 2
run run --device gpu nowhere
err nowhere: error: cannot read: No such file or directory
err lossgate: error: --device takes sim or cuda, not 'gpu'
exit 2
run run --kernels nowhere {src}/scenarios/smoke/nll_controls.yaml
err nowhere: error: cannot read: No such file or directory
exit 2
run reference
err lossgate reference: error: give one scenario file
exit 2
run asm nll_loss/reduce/asert
err lossgate asm: error: no kernel 'nll_loss/reduce/asert', did you mean 'nll_loss/reduce/assert'?
exit 2
run replay 0123456789abcdef
err out/cases.jsonl: error: cannot read: No such file or directory
exit 2
