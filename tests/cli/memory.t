# A run takes at most three times the bytes of its batch: the tensors a call takes and returns, here the
# logits of 256 x 50257 and, with the backward pass, their gradient. The peak is all that the process has in
# memory at once, the program and its kernels included. A build with a sanitizer has more, and shows nothing.
file forward.yaml
| title: A wide batch
| loss: {kind: cross_entropy, reduction: mean, direction: forward}
| batch: {seed: 3, samples: 256, classes: 50257, logits: {dtype: float32}}
file both.yaml
| title: A wide batch, both ways
| loss: {kind: cross_entropy, reduction: mean, direction: both}
| batch: {seed: 3, samples: 256, classes: 50257, logits: {dtype: float32}}
file peak.py
| import os, sys
| program, mode, name = os.environ["LOSSGATE"], sys.argv[1], sys.argv[2]
| def peak(scenario):
|     child = os.fork()
|     if child == 0:
|         os.dup2(os.open("log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
|         os.execv(program, [program, "run", "--kernel", "cross_entropy/block/nan", "--mode", mode, scenario])
|     _, status, usage = os.wait4(child, 0)
|     assert status == 0 and "1 case on sim: 1 as expected" in open("log").read(), open("log").read()
|     return usage.ru_maxrss * 1024
| text = open(name + ".yaml").read()
| open("small.yaml", "w").write(text.replace("samples: 256", "samples: 2"))
| batch = 256 * 50257 * 4 * (2 if name == "both" else 1)
| binary = open(program, "rb").read()
| sanitized = b"__asan_init" in binary or b"__tsan_init" in binary
| peak("small.yaml") # compiles, if that is still to be done
| share = peak(name + ".yaml") / batch
| print(f"{mode} {name} {share:.2f}", file=sys.stderr)
| print("within" if sanitized or share <= 3 else f"{share:.2f} times the batch")
shell python3 peak.py blocking forward
out within
err*
shell python3 peak.py blocking both
out within
err*
shell python3 peak.py async both
out within
err*
shell python3 peak.py block_sizes both
out within
err*
