#!/usr/bin/env bash
# clang-tidy over the harness with the settings of .clang-tidy. Needs a configured dev build.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -f build/dev/compile_commands.json ] || bash ci/build.sh dev
mapfile -t files < <(git ls-files 'harness/*.c' | grep -v 'engine/sim/lane_')
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 8 clang-tidy --quiet -p build/dev
echo "tidy: ${#files[@]} files are clean"
