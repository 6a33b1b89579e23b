# What an earlier run left is gone before a new one can fail.
shell mkdir out && echo stale | tee out/junit.xml > out/cases.jsonl
run run nowhere.yaml
err*
exit 2
shell ls out | wc -l
out 0
# A signal stops a run: what it has is told and written, and it is not green.
file stop.py
| import os, shutil, signal, subprocess, sys, time
| command = [os.environ["LOSSGATE"], "run", "--jobs", "1", "--mode", "blocking", "--kernel", "nll_loss/reduce/*"]
| command += [sys.argv[1] + "/scenarios/" + folder for folder in ("pairwise", "faults", "smoke")]
| shutil.rmtree("out")
| run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
| while not (os.path.exists("out/cases.jsonl") and os.path.getsize("out/cases.jsonl") > 0):
|     time.sleep(0.001)
| run.send_signal(getattr(signal, sys.argv[2]))
| lines = run.communicate()[0].splitlines()
| n = sum(1 for line in open("out/cases.jsonl") if line.endswith("}\n"))
| counts = next(line for line in lines if " on sim: " in line)
| print(run.returncode, n > 0, counts.startswith(f"{n} case"))
| print(sum(line.startswith("interrupted after ") for line in lines))
| print("interrupted after" in open("out/junit.xml").read())
shell python3 stop.py {src} SIGTERM
out 143 True True
out 1
out True
shell python3 stop.py {src} SIGINT
out 130 True True
out 1
out True
# Names that are nearly right.
run run --kernel nll_loss/reduce {src}/scenarios/smoke/nll_controls.yaml
err lossgate: error: no kernel matches 'nll_loss/reduce', did you mean 'nll_loss/reduce/*'?
exit 3
shell mkdir -p x/y
run replay x/y
err lossgate: error: x/y has no case.json: give a case id or a folder out/cases/ID
exit 2
