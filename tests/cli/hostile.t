# Input that is not what it says: an error with its place, never a hang, and nothing lost that was written.
shell mkdir d d.csv; printf 'label\r0\r1\r' > cr.csv; printf '0\n1\n' | iconv -t UTF-16 > u.csv; printf '\377\376' > mark.log
run explain d
err lossgate explain: error: cannot read d: Is a directory
exit 2
run explain mark.log
out mark.log is empty: it proves nothing
exit 3
run diagnose --targets cr.csv --head-width 3
err cr.csv:1:6: error: a carriage return within the line: end lines with a line feed
exit 2
run diagnose --targets u.csv --head-width 3
err u.csv:1:1: error: the file is UTF-16: save it as UTF-8
exit 2
run diagnose --targets d.csv --head-width 3
err d.csv: error: cannot be read: Is a directory
exit 2

# A log from a pipe, cut within a line, and one line of 60 MB with bytes 0 in it.
shell mkfifo pipe; (printf '/p/Loss.cu:250: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], thr' > pipe &) ; $LOSSGATE explain pipe
out LOSS FAULT — device assert, cut off, line 1
out*
exit 1
shell (head -c 30000000 /dev/zero; printf ' IndexError: Target 7 is out of bounds. '; head -c 30000000 /dev/zero | tr '\0' x) | $LOSSGATE explain
out LOSS FAULT — error text, line 1
out*
has values    7
exit 1

# Headers that lie.
shell python3 -c "import struct; h=lambda s:(lambda t:b'\x93NUMPY\x01\x00'+struct.pack('<H',len(t))+t)((\"{'descr':'<i8','fortran_order':False,'shape':%s,}\"%s).ljust(117).encode()+b'\n'); [open(n,'wb').write(h(s)+bytes(32)) for n,s in (('more.npy','(1000000000000,)'),('huge.npy','(4611686018427387904,4611686018427387904)'),('neg.npy','(-4,)'))]"
run diagnose --targets more.npy --head-width 3
err more.npy: error: has 32 bytes of elements, but its shape needs 8000000000000
exit 2
run diagnose --targets huge.npy --head-width 3
err huge.npy: error: is not a valid .npy file: the product of its shape does not fit 63 bits
exit 2
run diagnose --targets neg.npy --head-width 3
err neg.npy: error: is not a valid .npy file: a size in its shape is negative
exit 2

# Nowhere to write to: the finding is reported all the same.
shell printf 'IndexError: Target 7 is out of bounds.\n' > t.log; $LOSSGATE explain t.log --scenario /dev/full
out LOSS FAULT — error text, line 1
out*
err lossgate explain: error: cannot write /dev/full: No space left on device
exit 2
shell $LOSSGATE explain t.log > /dev/full
err lossgate: error: cannot write to standard output: No space left on device
exit 4
file s.yaml
| title: One bad label
| loss: {kind: nll_loss}
| batch: {seed: 3, samples: 20, classes: 4}
| faults:
|   - {kind: negative_labels, rows: [3], values: [-7]}
shell $LOSSGATE run s.yaml --kernel nll_loss/reduce/assert --mode blocking --out o > /dev/full
err lossgate: error: cannot write to standard output: No space left on device
exit 4
shell wc -l < o/cases.jsonl; grep -c '<testcase' o/junit.xml
out 1
out 1
run shrink s.yaml --kernel nll_loss/reduce/assert --mode blocking --out d
out*
err d: error: cannot write: Is a directory
exit 2
