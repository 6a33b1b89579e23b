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
