#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over the given files, one process a core; a file that was clean is not looked at again.

    ci/tidy.py BUILD_DIR CACHE_DIR FILE...

BUILD_DIR holds compile_commands.json. A clean file stays clean while its text after the preprocessor (with
comments: NOLINT stands in one), its compile command, the settings and clang-tidy stay what they were: their
hash names a file in CACHE_DIR. A file that is compiled several times is looked at as it is compiled
first. Exit 1 when a file has a finding, is not compiled at all, or clang-tidy cannot read it.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time


def run(words, **options):
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, errors="replace", check=False, **options)


def compile_flags(entry):
    """What the command of an entry tells a compiler of the code: no compiler, launcher, input or output."""
    words = shlex.split(entry["command"])
    words = words[next(i for i, word in enumerate(words) if word.startswith("-")):]
    flags = []
    for before, word in zip([""] + words, words):
        if before != "-o" and word not in ("-o", "-c", entry["file"]):
            flags.append(word)
    return flags


def settings_key():
    names = run(["git", "ls-files", "-co", "--exclude-standard", "*.clang-tidy"]).stdout.split()
    return run(["clang-tidy", "--version"]).stdout + "".join(pathlib.Path(name).read_text() for name in names)


def file_key(settings, entry):
    flags = compile_flags(entry)
    text = run(["clang", "-E", "-CC", *flags, entry["file"]], cwd=entry["directory"])
    if text.returncode != 0:
        return None
    parts = [settings, " ".join(flags), text.stdout]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def check(entry, cache_dir, settings):
    """(clean, looked at, what clang-tidy said) for one file."""
    key = file_key(settings, entry)
    if key and (cache_dir / key).exists():
        return True, False, ""
    began = time.monotonic()
    result = run(["clang-tidy", "--quiet", "-p", str(cache_dir), entry["file"]], stderr=subprocess.PIPE)
    clean = result.returncode == 0 and not result.stdout.strip()
    if clean and key:
        (cache_dir / key).write_text(f"{entry['file']} {time.monotonic() - began:.1f} s\n")
    return clean, True, result.stdout or ("" if clean else result.stderr)


def main(build_dir, cache_dir, names):
    root = pathlib.Path.cwd()
    build_dir, cache_dir = pathlib.Path(build_dir), pathlib.Path(cache_dir)
    cache_dir.mkdir(parents=True, exist_ok=True)
    entries = {}
    for entry in json.loads((build_dir / "compile_commands.json").read_text()):
        entries.setdefault(entry["file"], entry)
    # clang-tidy looks at a file once for each entry that names it.
    (cache_dir / "compile_commands.json").write_text(json.dumps(list(entries.values())))
    files = [str(root / name) for name in names]
    failed = [file for file in files if file not in entries]
    for file in failed:
        print(f"{file}:1: error: not compiled by {build_dir}, so clang-tidy cannot look at it")
    settings, looked_at, began = settings_key(), 0, time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(check, entries[file], cache_dir, settings)
                for file in files if file in entries]
        for job in concurrent.futures.as_completed(jobs):
            clean, fresh, said = job.result()
            looked_at += fresh
            if not clean:
                failed.append(said)
                print(said, flush=True)
    if not failed:
        print(f"tidy: {len(files)} files are clean ({looked_at} looked at, {time.monotonic() - began:.0f} s)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
