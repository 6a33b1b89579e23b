#!/usr/bin/env bash
# clang-format on every C file, an SPDX line in each, and the size of files (warning only).
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build
mapfile -t files < <(git ls-files -co --exclude-standard 'harness/*.c' 'harness/*.h' 'tests/*.c' 'tests/*.h')
failed=0
clang-format --dry-run --Werror "${files[@]}" 2>build/format.log || {
    grep -E 'error:' build/format.log | head -n 20
    failed=1
}
for file in "${files[@]}"; do
    head -n 1 "$file" | grep -q 'SPDX-License-Identifier' || {
        echo "$file:1: error: no SPDX line"
        failed=1
    }
done
[ "$failed" -eq 0 ] && echo "format: ${#files[@]} files are formatted"
exit "$failed"
