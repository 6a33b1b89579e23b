# Values small enough to check by hand.
file s.yaml
| title: Three rows by hand, one ignored, one out of range
| loss: {kind: nll_loss, reduction: mean, direction: both}
| batch:
|   samples: 3
|   classes: 3
|   logits: {values: [-1, -2, -3, -4, -5, -6, -7, -8, -9], shape: [3, 3]}
|   targets: {values: [0, 3, -100]}
run reference s.yaml
out {"loss":["nan"],"row_loss":[1.0,"nan",0.0],"total_weight":1.0,"grad_input":[-1.0,0.0,0.0,"nan","nan","nan",0.0,0.0,0.0],"valid":false,"cause":"label_equals_width","rows":[1]}

file w.yaml
| title: Weights divide the mean
| loss: {kind: nll_loss, reduction: mean, direction: forward, weight: {values: [1, 2, 4]}}
| batch:
|   samples: 2
|   classes: 3
|   logits: {values: [-1, -2, -3, -4, -5, -6], shape: [2, 3]}
|   targets: {values: [0, 2]}
| matrix:
|   loss.reduction: [none, mean, sum]
run reference w.yaml
out {"point":"loss.reduction=none","loss":[1.0,24.0],"row_loss":[1.0,24.0],"total_weight":0.0,"valid":true}
out {"point":"loss.reduction=mean","loss":[5.0],"row_loss":[1.0,24.0],"total_weight":5.0,"valid":true}
out {"point":"loss.reduction=sum","loss":[25.0],"row_loss":[1.0,24.0],"total_weight":5.0,"valid":true}

file i.yaml
| title: No row counts
| loss: {kind: nll_loss, reduction: mean, direction: forward}
| batch:
|   samples: 2
|   classes: 2
|   logits: {values: [-1, -2, -3, -4], shape: [2, 2]}
|   targets: {values: [-100, -100]}
run reference i.yaml
out {"loss":["nan"],"row_loss":[0.0,0.0],"total_weight":0.0,"valid":true,"warning":"no_supervised_row"}

file f.yaml
| title: Targets of a floating type are refused
| loss: {kind: nll_loss, reduction: mean}
| batch:
|   samples: 2
|   classes: 2
|   logits: {values: [-1, -2, -3, -4], shape: [2, 2]}
|   targets: {values: [0, 1], dtype: float32}
run reference f.yaml
out*
has {"loss":[],"row_loss":[],"total_weight":null,"valid":false,"cause":"float_targets"
has "refused":"

file g.yaml
| title: An upstream gradient a row, and one that no row without a loss passes on
| loss: {kind: nll_loss, reduction: none, direction: both, grad_output: {values: [2, -1, 5]}}
| batch:
|   samples: 3
|   classes: 2
|   logits: {values: [-1, -2, -3, -4, -5, -6], shape: [3, 2]}
|   targets: {values: [0, 1, -100]}
run reference g.yaml
out {"loss":[1.0,4.0,0.0],"row_loss":[1.0,4.0,0.0],"total_weight":0.0,"grad_input":[-2.0,0.0,0.0,1.0,0.0,0.0],"valid":true}

# The same from a file; its header is 118 bytes and a line end.
shell python3 -c "import struct; h=\"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\".ljust(117)+chr(10); open('g.npy','wb').write(b'\x93NUMPY\x01\x00'+struct.pack('<H',118)+h.encode()+struct.pack('<3f',2,-1,5))"
edit g.yaml {values: [2, -1, 5]} => {file: g.npy}
run reference g.yaml
out {"loss":[1.0,4.0,0.0],"row_loss":[1.0,4.0,0.0],"total_weight":0.0,"grad_input":[-2.0,0.0,0.0,1.0,0.0,0.0],"valid":true}

file b.yaml
| title: Both weights of a binary loss, its gradient from above
| loss: {kind: binary_cross_entropy_with_logits, reduction: sum, direction: both, weight: [2, 1], pos_weight: [3], grad_output: [0.5]}
| batch:
|   samples: 2
|   logits: {values: [0, 0]}
|   targets: {values: [1, 0]}
run reference b.yaml
out~ \{"loss":\[4\.85203026\d*\],"row_loss":\[4\.15888308\d*,0\.69314718\d*\],"total_weight":2\.0,"grad_input":\[-1\.5,0\.25\],"valid":true\}

file p.yaml
| title: A class probability below zero is none
| loss: {kind: cross_entropy, reduction: none, direction: both}
| batch:
|   samples: 2
|   classes: 2
|   logits: {values: [0, 0, 0, 0], shape: [2, 2]}
|   targets: {kind: probabilities, values: [1.25, -0.25, 0.5, 0.5], shape: [2, 2]}
run reference p.yaml
out*
has {"loss":["nan",0.69314718
has "grad_input":["nan","nan",0.0,0.0],"valid":false,"cause":"value_domain","rows":[0]
