run --help
out Usage: lossgate VERB [OPTION...] [ARGUMENT...]
out Injects faults into batches, runs loss kernels on them, and says for each run whether the
out fault was detected, attributed, and kept from corrupting the loss.
out 
out   run [PATH...]          Run scenarios on the device and say what was detected, attributed and corrupted.
out   list WHAT [PATH...]    List scenarios, reports, kernels, modes, faults, causes, policies, verdicts or relations.
out   check [PATH...]        Check scenario files and kernel manifests and report all their errors.
out   reference SCENARIO     Print the double-precision reference of a scenario as JSON, one object a matrix point.
out   asm KERNEL             Show the PTX of a kernel's stages with source lines, as the engine reads it.
out   explain [LOG]          Say what the errors in a training log mean and what to do next.
out   diagnose               Find what is wrong with the labels in an array file, and which rows.
out   replay CASE            Run a case of an earlier run again and compare what is seen.
out   shrink SCENARIO        Write the smallest batch that shows what a case of the scenario shows.
out   guards [PATH...]       Measure how well the checks work that people put in front of a loss.
out   version                Print the version.
out 
out lossgate VERB --help describes a verb and its options.

# Without a verb the same text is an error.
shell $LOSSGATE 2>&1 >/dev/null | head -n 1
out Usage: lossgate VERB [OPTION...] [ARGUMENT...]
run
err Usage: lossgate VERB [OPTION...] [ARGUMENT...]
err*
exit 2

run chekc
err lossgate: error: no verb 'chekc', did you mean 'check'?
err Try 'lossgate --help'.
exit 2

# Every verb describes itself, with every option that it takes.
shell for verb in run list check reference asm explain replay; do $LOSSGATE $verb --help | head -n 1; done
out Usage: lossgate run [OPTION...] [PATH...]
out Usage: lossgate list [OPTION...] WHAT [PATH...]
out Usage: lossgate check [OPTION...] [PATH...]
out Usage: lossgate reference [OPTION...] SCENARIO
out Usage: lossgate asm [OPTION...] KERNEL
out Usage: lossgate explain [OPTION...] [LOG]
out Usage: lossgate replay [OPTION...] CASE
run run --help
out*
has --kernel=GLOB
has --mode=GLOB
has --seed=N
has --jobs=N
has --out=DIR
has --case=ID
has 3 nothing proven (of a kernel of
hasnt --schema
