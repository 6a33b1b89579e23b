run list modes
out blocking               CUDA_LAUNCH_BLOCKING=1: each launch waits and returns its own error
out async                  unrelated work queued behind the loss, to see who gets blamed
out block_sizes            the other legal block sizes of the kernel, each must give the same loss
out poisoned               behind a batch that ended the context, if asked for by name: nothing of this one runs, and it is not blamed
run list policies
out assert                 a device-side assert; the context is dead after it
out report                 a fault record for each invalid row, and NaN for it; the kernel keeps going
out nan                    NaN for the invalid row (and for a mean or sum over it), no record
out none                   nothing: unchecked, what a build without asserts is
run list verdicts
out*
has untested
has silent_corruption      no signal, and a finite number that is wrong or should not exist
run list relations
out*
has double_batch           the batch beside a copy of itself: the same mean, twice the sum, each row as before
run list faults
out*
has wrong_head_width       labels fill 0..K-1 and the head has fewer than K outputs
has no_supervised_row
hasnt off_by_one_check
run list causes
out*
has off_by_one_check
run list kernels
out*
has nll_loss/no_reduce/report
run list scenarios
out*
has faults/wrong_head_width
has smoke/nll_controls
hasnt invalid
run list
err lossgate list: error: say what to list: scenarios reports kernels modes faults causes policies verdicts relations
exit 2
run list modse
err lossgate list: error: cannot list 'modse', did you mean 'modes'? There are: scenarios reports kernels modes faults causes policies verdicts relations
exit 2
run list modes blocking
err lossgate list: error: 'blocking' after modes
exit 2
