# The PTX of a stage, with the lines of its source.
run asm nll_loss/reduce/assert
out*
has nll_loss_forward_reduce_assert_float32_int64
has nll_loss.cu
has bar.sync
run asm nll_loss/reduce/assert --dtype float8
err*
exit 2
