# Two runs into one folder would mix their lines: the second is refused, and nothing of the first changes.
file s.yaml
| title: A few points
| loss: {kind: nll_loss, reduction: mean}
| batch: {seed: 4, samples: 20, classes: 5}
file held.py
| import fcntl, os, subprocess, sys
| os.mkdir("taken")
| lock = open("taken/.lock", "w")
| fcntl.flock(lock, fcntl.LOCK_EX)
| open("taken/cases.jsonl", "w").write("of the first run\n")
| command = [os.environ["LOSSGATE"], "run", "--kernel", "nll_loss/reduce/nan", "--out", "taken", "s.yaml"]
| second = subprocess.run(command, capture_output=True, text=True)
| print(second.returncode, second.stderr.strip())
| print(open("taken/cases.jsonl").read().strip(), *sorted(os.listdir("taken")))
| fcntl.flock(lock, fcntl.LOCK_UN)
| again = subprocess.run(command, capture_output=True, text=True)
| print(again.returncode, again.stdout.strip().splitlines()[-2])
shell python3 held.py
out 2 taken: error: another run is writing there: wait for it, or give an --out of your own
out of the first run .lock cases.jsonl
out 0 3 cases on sim: 3 as expected, 0 not, 0 untested, 0 skipped
