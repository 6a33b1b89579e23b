# What is wrong with labels in a file: an array of real ones, and columns of a text.
copy tests/data/iris_species_from_1.npy iris.npy
run diagnose --targets iris.npy --head-width 3
out~ FAULT one_based_labels.* — .*labels reach 3 and 0 never occurs.*
out   rows      50 of 150: 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 …
out   values    3 (50 times)
out*
has try       subtract 1 from every label
has   range         1 .. 3, 3 distinct
exit 1

copy tests/data/digits_labels.npy digits.npy
run diagnose --targets digits.npy --head-width 10
out nothing wrong: 1797 rows
out evidence
out*
has   in range      1797 labels, 10 classes, class 0 178 times
exit 0

# A column with a name; -1 is ignored only when it is said so.
file y.csv
| label
| 0
| 1
| -1
| 2
| -1
run diagnose --targets y.csv --head-width 3 --ignore-index -1
out nothing wrong: 5 rows
out*
exit 0
run diagnose --targets y.csv --head-width 3
out*
has   rows      2 of 5: 2 4
has   values    -1 (2 times)
exit 1

# Real numbers are no class indices, and weights want one a class.
file r.csv
| 0.0
| 1.5
| 2.0
run diagnose --targets r.csv --head-width 3
out FAULT float_targets — certain: the class indices are float64 and 1 has a fraction, the first is 1.5 in row 1
out   rows      1 of 3: 1
out*
exit 1
file w.csv
| 1
| 1
run diagnose --targets digits.npy --head-width 10 --weight w.csv
out FAULT weight_vector — certain: 2 weights for 10 classes
out*
exit 1

# All ignored is worth a warning, no more.
file none.csv
| -100
| -100
run diagnose --targets none.csv --head-width 3
out~ WARNING no_supervised_row — .*
out*
exit 0

# No row proves nothing.
file empty.csv
| label
run diagnose --targets empty.csv --head-width 3
out there is no row: nothing is proven
out*
exit 3

# Files that hold no column of numbers.
file bad.csv
| 1
| 2,7
| x
run diagnose --targets bad.csv --head-width 3
err bad.csv:2:2: error: a second column: give a file of one number a line
err   2,7
err    ^
err bad.csv:3:1: error: 'x' is not a number
err   x
err   ^
exit 2
run diagnose --targets nowhere.npy --head-width 3
err nowhere.npy: error: cannot be opened: No such file or directory
exit 2
shell head -c 100 iris.npy > cut.npy; $LOSSGATE diagnose --targets cut.npy --head-width 3
err cut.npy: error: is not a valid .npy file: it ends inside its header
exit 2
run diagnose --targets iris.npy --logits y.csv
err y.csv: error: is a .csv file: logits are read from .npy and .npz files
exit 2

# What is missing, or too much, on the command line.
run diagnose --head-width 3
err lossgate diagnose: error: --targets is missing
exit 2
run diagnose --targets iris.npy
err lossgate diagnose: error: give one of --logits and --head-width
exit 2
run diagnose --targets iris.npy --head-width 3 --logits x.npy
err lossgate diagnose: error: give one of --logits and --head-width
exit 2
run diagnose iris.npy
err lossgate diagnose: error: it takes no argument: give the labels as --targets FILE
exit 2
run diagnose --targets iris.npy --head-width 0
err lossgate diagnose: --head-width takes a number from 1 on, not '0'
err*
exit 2

# One-hot rows are no class indices; as floating-point rows they are class probabilities.
shell python3 -c "import struct,array; h=lambda d,s:(lambda t:b'\x93NUMPY\x01\x00'+struct.pack('<H',len(t))+t)((\"{'descr':'%s','fortran_order':False,'shape':%s,}\"%(d,s)).ljust(117).encode()+b'\n'); v=[int(c==n%4) for n in range(12) for c in range(4)]; open('hot.npy','wb').write(h('<i8','(12,4)')+array.array('q',v).tobytes()); open('soft.npy','wb').write(h('<f4','(12,4)')+array.array('f',v).tobytes())"
run diagnose --targets hot.npy --head-width 4
out FAULT shape_layout — certain: the targets are one-hot rows, int64: each has one 1 and zeros, and class indices are one number a row
out   try       hand over targets.argmax(axis=1), or the rows as class probabilities of the logits' type
out*
exit 1
run diagnose --targets hot.npy --logits soft.npy
out~ FAULT shape_layout — certain: the targets are one-hot rows, int64.*
out*
exit 1
run diagnose --targets soft.npy --head-width 4
out nothing wrong: 12 rows
out evidence
out   targets       class probabilities, 12 rows of 4 classes
out   one-hot       12 rows: targets.argmax(axis=1) as class indices says the same
exit 0
run diagnose --targets soft.npy --logits soft.npy
out nothing wrong: 12 rows
out*
exit 0

# Values that are no labels, binary targets, no rows, shapes and classes that do not fit.
file nan.csv
| 0
| nan
| 2
run diagnose --targets nan.csv --head-width 3
out FAULT float_targets — certain: the class indices are float64 and hold nan, the first at 1
out   rows      1 of 3: 1
out   values    nan, the first at 1
out*
hasnt 922337
exit 1
shell python3 -c "import struct,array; h=lambda d,s:(lambda t:b'\x93NUMPY\x01\x00'+struct.pack('<H',len(t))+t)((\"{'descr':'%s','fortran_order':False,'shape':%s,}\"%(d,s)).ljust(117).encode()+b'\n'); w=lambda f,s,v:open(f,'wb').write(h('<f4',s)+array.array('f',v).tobytes()); w('zero.npy','(0,10)',[]); w('bce.npy','(4,1)',[0,1,1,0]); w('wild.npy','(4,1)',[0,1,2,0]); w('p.npy','(3,2)',[.5,.5,0,1,.25,.75])"
run diagnose --targets zero.npy --head-width 10
out there is no row: nothing is proven
out*
exit 3
run diagnose --targets bce.npy --head-width 1
out nothing wrong: 4 rows
out   note      read as targets of binary_cross_entropy: the head has one output, and cross_entropy over one class is always 0
exit 0
run diagnose --targets wild.npy --loss bce
out FAULT bce_range — certain: 1 target is outside [0, 1], the first is 2 at 2
out   rows      1 of 4: 2
out*
exit 1
run diagnose --targets bce.npy --head-width 1 --loss ce
out~ FAULT value_domain .*
out*
exit 1
run diagnose --targets bce.npy --head-width 1 --loss mse
err lossgate diagnose: error: --loss takes nll, ce, bce or bce_logits
exit 2
run diagnose --targets digits.npy --head-width 10 --classes 9
out~ FAULT corrupt_labels — likely: 180 labels are beyond the 9 classes stated: they reach 9, .*
out*
exit 1
file three.csv
| 0
| 1
| 1
run diagnose --targets three.csv --logits p.npy
out nothing wrong: 3 rows
out~   note      the logits look like probabilities .*
out*
exit 0

# Class probabilities with logits that are probabilities already, and raw logits for nll_loss.
shell python3 -c "import struct,array; h=lambda d,s:(lambda t:b'\x93NUMPY\x01\x00'+struct.pack('<H',len(t))+t)((\"{'descr':'%s','fortran_order':False,'shape':%s,}\"%(d,s)).ljust(117).encode()+b'\n'); w=lambda f,d,s,c,v:open(f,'wb').write(h(d,s)+array.array(c,v).tobytes()); w('p.npy','<f4','(3,2)','f',[.5,.5,0,1,.25,.75]); w('raw.npy','<f4','(3,2)','f',[-1,2.5,-.6931472,-.6931472,-3,4]); w('i.npy','<i8','(3,)','q',[0,1,1])"
run diagnose --targets p.npy --logits p.npy
out nothing wrong: 3 rows
out   note      the logits look like probabilities (no entry is negative, each row sums to 1): is softmax applied twice? cross_entropy applies it itself
out*
exit 0
run diagnose --targets i.npy --logits raw.npy --loss nll
out FAULT value_domain — likely: 2 input rows have entries above 0, which no log-probability is
out   rows      2 of 3: 0 2
out   try       apply log_softmax first, or use cross_entropy
out*
exit 1
run diagnose --targets i.npy --logits raw.npy
out nothing wrong: 3 rows
out*
exit 0
