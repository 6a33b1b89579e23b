#!/usr/bin/env bash
# clang-tidy over the harness and the tests with the settings of .clang-tidy (folders may add their own).
#   ci/check_tidy.sh [FILE...]    default: every C file
set -euo pipefail
cd "$(dirname "$0")/.."
preset=dev
[ -f build/$preset/compile_commands.json ] || cmake --preset $preset >/dev/null
files=("$@")
[ "${#files[@]}" -gt 0 ] || mapfile -t files < <(git ls-files -co --exclude-standard 'harness/*.c' 'tests/*.c')
exec python3 ci/tidy.py build/$preset build/tidy "${files[@]}"
