#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one CLI test file: commands with their exact standard output, standard error and exit status.

    run_cli_test.py LOSSGATE SOURCE_DIR TEST_FILE

A test file is a list of lines, each a keyword and a text:
    file PATH        makes a file in the test's own empty folder; its lines follow as `| text`
    copy FROM TO     copies a file or folder of the source tree
    edit PATH OLD => NEW   replaces a text that must occur exactly once
    env NAME=VALUE   for the commands that follow
    run WORDS        `lossgate WORDS`, split as a shell does; {src} is the source tree, {saved} a saved text
    shell TEXT       a shell command instead, with $LOSSGATE
    save REGEX       keeps the first group of the first match in the output of the last command
    out TEXT, err TEXT     one exact line of standard output / error, in order
    out~ REGEX, err~ REGEX one line that must match as a whole
    out* , err*      any further lines, or none; then only `has` looks at them
    has TEXT         a text somewhere in standard output
    hasnt TEXT       a text nowhere in standard output
    exit N           the exit status (default 0)
Commands run in the test's own folder, which is removed at the end. NO_COLOR is set and the cache of
compiled kernels is the build's own.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

TIMEOUT_SECONDS = 280


class Failure(Exception):
    """What the test says is not what happened."""


class Expectation:
    """What one command must show."""

    def __init__(self, line, words):
        self.line, self.words = line, words
        self.lines = {"out": [], "err": []}
        self.open = {"out": False, "err": False}
        self.has, self.hasnt, self.save, self.status = [], [], [], 0


def check_stream(name, expected, is_open, text):
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    for i, (kind, want) in enumerate(expected):
        got = lines[i] if i < len(lines) else None
        same = got is not None and (got == want if kind == "text" else re.fullmatch(want, got))
        if not same:
            raise Failure(f"{name} line {i + 1}:\n  expected {want!r}\n  got      {got!r}")
    if len(lines) > len(expected) and not is_open:
        raise Failure(f"{name} has more lines, the first: {lines[len(expected)]!r}")


class Test:
    def __init__(self, program, source, folder):
        self.program, self.source, self.folder = program, source, folder
        cache = os.path.join(os.path.dirname(program), "test-cache")
        self.env = dict(os.environ, NO_COLOR="1", LOSSGATE=program, XDG_CACHE_HOME=cache,
                        LC_ALL="C.UTF-8", ARGP_HELP_FMT="rmargin=100")
        self.saved = ""
        self.stdout = ""

    def fill(self, text):
        return text.replace("{src}", self.source).replace("{saved}", self.saved)

    def path(self, name):
        return os.path.join(self.folder, name)

    def command(self, expectation):
        if expectation.words[0] == "run":
            words = [self.program] + shlex.split(self.fill(expectation.words[1]))
        else:
            words = ["bash", "-c", self.fill(expectation.words[1])]
        done = subprocess.run(words, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=TIMEOUT_SECONDS, check=False)
        out = done.stdout.decode("utf-8", "replace")
        err = done.stderr.decode("utf-8", "replace")
        self.stdout = out
        try:
            if done.returncode != expectation.status:
                raise Failure(f"exit status {done.returncode}, expected {expectation.status}")
            for name, text in (("out", out), ("err", err)):
                expected = [(kind, self.fill(want)) for kind, want in expectation.lines[name]]
                check_stream(name, expected, expectation.open[name], text)
            for text in expectation.has:
                if self.fill(text) not in out:
                    raise Failure(f"output has no {self.fill(text)!r}")
            for text in expectation.hasnt:
                if self.fill(text) in out:
                    raise Failure(f"output has {self.fill(text)!r}")
            for pattern in expectation.save:
                match = re.search(pattern, out, re.M)
                if not match:
                    raise Failure(f"nothing matches {pattern!r}")
                self.saved = match.group(1)
        except Failure as failure:
            raise Failure(f"line {expectation.line}: {shlex.join(words)}: {failure}\n"
                          f"--- standard output\n{out[-6000:]}--- standard error\n{err[-3000:]}") from None

    def edit(self, text):
        name, change = text.split(" ", 1)
        old, new = change.split(" => ")
        with open(self.path(name), encoding="utf-8") as file:
            content = file.read()
        if content.count(old) != 1:
            raise Failure(f"{name} has {old!r} {content.count(old)} times, not once")
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content.replace(old, new))

    def copy(self, text):
        source, target = text.split(" ")
        source = os.path.join(self.source, source)
        copier = shutil.copytree if os.path.isdir(source) else shutil.copy
        copier(source, self.path(target))


def parse(lines):
    """(keyword, text, line number) of each line; `| text` lines belong to the `file` before them."""
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\n")
        if not line.strip() or line.startswith("#"):
            continue
        keyword, _, text = line.partition(" ")
        yield keyword, text, number


def run_file(test, path):
    pending, n_commands, written = None, 0, None
    with open(path, encoding="utf-8") as file:
        steps = list(parse(file)) + [("end", "", 0)]
    for keyword, text, number in steps:
        if keyword in ("run", "shell", "end", "copy", "edit", "env", "file") and pending:
            test.command(pending)
            n_commands += 1
            pending = None
        if keyword in ("run", "shell"):
            pending = Expectation(number, (keyword, text))
        elif keyword in ("out", "err"):
            pending.lines[keyword].append(("text", text))
        elif keyword in ("out~", "err~"):
            pending.lines[keyword[:3]].append(("regex", text))
        elif keyword in ("out*", "err*"):
            pending.open[keyword[:3]] = True
        elif keyword in ("has", "hasnt", "save"):
            getattr(pending, keyword).append(text)
        elif keyword == "exit":
            pending.status = int(text)
        elif keyword == "env":
            name, value = text.split("=", 1)
            test.env[name] = test.fill(value)
        elif keyword == "file":
            written = test.path(text)
            os.makedirs(os.path.dirname(written), exist_ok=True)
            with open(written, "w", encoding="utf-8"):
                pass
        elif keyword == "|":
            with open(written, "a", encoding="utf-8") as out:
                out.write(text + "\n")
        elif keyword == "copy":
            test.copy(text)
        elif keyword == "edit":
            test.edit(text)
        elif keyword != "end":
            raise Failure(f"line {number}: no keyword {keyword!r}")
    if n_commands == 0:
        raise Failure("no command was run")


def main(arguments):
    program, source, path = arguments
    with tempfile.TemporaryDirectory(prefix="lossgate-cli-") as folder:
        try:
            run_file(Test(os.path.abspath(program), os.path.abspath(source), folder), path)
        except (Failure, subprocess.TimeoutExpired) as failure:
            print(f"{path}: {failure}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
