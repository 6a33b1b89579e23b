# What a training log says: which operation's assert, which rows, and which exit status.
file train.log
| epoch 1 loss 0.31
| /pytorch/aten/src/ATen/native/cuda/Loss.cu:186: nll_loss_forward_no_reduce_cuda_kernel: block: [0,0,0], thread: [17,0,0] Assertion `cur_target >= 0 && cur_target < n_classes` failed.
| RuntimeError: CUDA error: device-side assert triggered
run explain train.log --scenario s.yaml
out LOSS FAULT — device assert `cur_target >= 0 && cur_target < n_classes`, line 2
out   fired     the label check of nll_loss (cross_entropy with class indices), reduction none
out   where     /pytorch/aten/src/ATen/native/cuda/Loss.cu:186, nll_loss_forward_no_reduce_cuda_kernel, block 0 thread 17
out   rows      row 17 exactly: block · 1024 + thread
out   unknown   the label's value, the head width, and how many rows are wrong
out*
has   aftermath line 3: a device assert fired in some earlier launch
has   next      before the loss: numpy.save("labels.npy", target.cpu().numpy()); then
has             lossgate diagnose --targets labels.npy --head-width C
exit 1

# The scenario it wrote is one, and shows the fault.
run check s.yaml
out 1 scenario (1 point), 0 manifests (0 kernels): 0 errors
shell cat s.yaml
out*
has kind: cross_entropy
has reduction: none
has rows: [17]
run run s.yaml --kernel "cross_entropy/*/assert" --mode blocking
out*
has label_equals_width
exit 0

# From standard input; the value is in the text.
shell echo 'IndexError: Target -1 is out of bounds.' | $LOSSGATE explain
out LOSS FAULT — error text, line 1
out*
has text      IndexError: Target -1 is out of bounds.
has negative_labels
has over_shifted_labels
hasnt wrong_head_width
exit 1

# Another operation's assert is not the loss's.
file index.log
| ../aten/src/ATen/native/cuda/Indexing.cu:1146: indexSelectLargeIndex: block: [5,0,0], thread: [37,0,0] Assertion `srcIndex < srcSelectDimSize` failed.
run explain index.log
out no loss fault in index.log: what failed is another operation
out   unrelated device assert `srcIndex < srcSelectDimSize`, line 1: index_select or an embedding
out   next      look at the arguments of that operation; the loss is not to blame
exit 0

# The aftermath alone proves nothing, nor does an empty log.
file lost.log
| RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm`
run explain lost.log
out lost.log shows that the device failed, but not where
out   aftermath line 1: cuBLAS found the device in an error state (EXECUTION_FAILED)
out   next      run again with CUDA_LAUNCH_BLOCKING=1 and keep standard error: the assert that fired is printed there
exit 3
run explain /dev/null
out /dev/null is empty: it proves nothing
exit 3
file clean.log
| epoch 1
| epoch 2
run explain clean.log
out no loss fault in clean.log: 2 lines, none speaks of one
exit 0

# A log that cannot be read, and a scenario of a log that holds no fault.
run explain nowhere.log
err lossgate explain: error: cannot read nowhere.log: No such file or directory
exit 2
run explain a.log b.log
err lossgate explain: error: give one log, or none to read standard input
exit 2
run explain clean.log --scenario t.yaml
out no loss fault in clean.log: 2 lines, none speaks of one
err lossgate explain: no scenario is written: the log shows no fault of a loss
exit 0
shell echo 'RuntimeError: CUDA error: device-side assert triggered' | $LOSSGATE explain --scenario t.yaml 2>&1 >/dev/null
out lossgate explain: no scenario is written: the log shows no fault of a loss
exit 3
shell echo 'L.cu:1: k: block: [0,0,0], thread: [0,0,0] Assertion `input_index >= 0` failed.' | $LOSSGATE explain --scenario t.yaml 2>&1 >/dev/null
out lossgate explain: no scenario is written: the likeliest cause is none that a scenario can inject
exit 1

# Files that are no plain text: UTF-16 is read, a packed one is not, and of a binary one it is said.
shell printf 'IndexError: Target 7 is out of bounds.\n' | iconv -t UTF-16 > u.log; $LOSSGATE explain u.log
out LOSS FAULT — error text, line 1
out*
has values    7
exit 1
shell gzip -c index.log > p.log.gz; $LOSSGATE explain p.log.gz --scenario t.yaml
err lossgate explain: error: p.log.gz is compressed: zcat p.log.gz | lossgate explain
exit 2
shell head -c 100000 /dev/zero > b.log; $LOSSGATE explain b.log
out b.log is no text, so that nothing is proven
exit 3

# A progress bar, colours and a container's escapes are no part of what is said.
file dock.log
| {"log":"step 1\rstep 2\r\u001b[31m/p/Loss.cu:242: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], thread: [5,0,0] Assertion `t \u003e= 0 \u0026\u0026 t &lt; n_classes` failed.\n","stream":"stderr"}
run explain dock.log
out LOSS FAULT — device assert `t >= 0 && t < n_classes`, line 1
out*
has where     /p/Loss.cu:242, nll_loss_forward_reduce_cuda_kernel_2d, block 0 thread 5
exit 1

# A line of which the log has a part.
shell printf '/p/Loss.cu:242: nll_loss_forward_reduce_cuda_kernel_2d: blo' | $LOSSGATE explain
out LOSS FAULT — device assert, cut off, line 1
out*
has where     /p/Loss.cu:242, nll_loss_forward_reduce_cuda_kernel_2d
has cut       the log cuts the line off; missing: block and thread, the condition
exit 1

# A check that is not known here may be a loss's: nothing is said about whose it is.
file unknown.log
| /u/my.cu:3: my_kernel: block: [2,0,0], thread: [1,0,0] Assertion `x < y` failed.
run explain unknown.log
out cannot tell from unknown.log: a check that is not known here failed first
out   where     /u/my.cu:3, my_kernel, block 2 thread 1
out   unknown   device assert `x < y`, line 1: a check not known here: whether a loss has it cannot be told
out   next      look up what stands there; if it is a check of class indices:
out             before the loss: numpy.save("labels.npy", target.cpu().numpy()); then
out             lossgate diagnose --targets labels.npy --head-width C
exit 3

# A log that ends within the line still says what is there.
shell printf '/p/Loss.cu:250: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], thread: [5,0,0] Assertion `t >= 0 && t < n_cl' | $LOSSGATE explain
out LOSS FAULT — device assert `t >= 0 && t < n_cl`, line 1
out   fired     the label check of nll_loss (cross_entropy with class indices)
out*
has rows 5, 37, 69
has    1.  label_equals_width
hasnt %
exit 1

# A kernel that torch.compile made: its name has the loss, its condition the head width.
file compiled.log
| /tmp/c/cpi.py:37: triton_per_fused__log_softmax_nll_loss_forward_1: block: [2,0,0], thread: [53,0,0] Assertion `index out of bounds: 0 <= tmp4 < 50257` failed.
run explain compiled.log
out LOSS FAULT — device assert `index out of bounds: 0 <= tmp4 < 50257`, line 1
out*
has bound     the index must be below 50257: the head has so many outputs
has lossgate diagnose --targets labels.npy --head-width 50257
exit 1
