#!/usr/bin/env bash
# The checks of ci/ bite: each must refuse a small tree that breaks its rule, and name the place.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

refuses() { # TEXT COMMAND…
    local text=$1
    shift
    if "$@" >"$tree/said" 2>&1; then
        echo "not refused: $text" >&2
        exit 1
    fi
    grep -qF -- "$text" "$tree/said" || { cat "$tree/said" >&2; echo "does not say: $text" >&2; exit 1; }
}

mkdir -p "$tree/low" "$tree/high"
printf 'low:\nhigh: low\n' >"$tree/layers.txt"
echo '#include "high/high.h"' >"$tree/low/a.c"
refuses "low/a.c:1: error: low must not include high" bash ci/check_layers.sh "$tree"
printf '#include "low/internal.h"\n' >"$tree/high/b.c"
rm "$tree/low/a.c"
refuses "is for its own folder only" bash ci/check_layers.sh "$tree"
echo '#include "other/c.h"' >"$tree/high/b.c"
refuses "does not start with a folder" bash ci/check_layers.sh "$tree"
echo '#include "low/low.h"' >"$tree/high/b.c"
bash ci/check_layers.sh "$tree" >/dev/null
printf 'low: high\nhigh:\n' >"$tree/layers.txt"
refuses "low lists high, which does not stand above it" bash ci/check_layers.sh "$tree"

mkdir -p "$tree/judge"
echo 'bool late = strstr(reason, "backward") != NULL;' >"$tree/judge/judge.c"
: >"$tree/allowed.txt"
refuses "judge/judge.c:1: error: it compares texts" bash ci/check_facts.sh "$tree" "$tree/allowed.txt"
echo 'judge/judge.c | strstr(reason | for this test' >"$tree/allowed.txt"
bash ci/check_facts.sh "$tree" "$tree/allowed.txt" >/dev/null
echo 'judge/other.c | strcmp(a, b) | for this test' >>"$tree/allowed.txt"
refuses 'judge/other.c has no "strcmp(a, b)" any more' bash ci/check_facts.sh "$tree" "$tree/allowed.txt"
echo "1 passed, 0 failed"
