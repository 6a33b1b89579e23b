#!/usr/bin/env bash
# A folder includes only itself and what harness/layers.txt lets it include, and what it lists there stands above
# it. Exit 1 and one line for each include or listing that does not.
#   ci/check_layers.sh [FOLDER]    default: harness
set -euo pipefail
cd "$(dirname "$0")/.."
root=${1:-harness}

declare -A allowed=()
failed=0
while IFS=: read -r folder below; do
    for name in $below; do
        if [ -z "${allowed[$name]:-}" ]; then
            echo "$root/layers.txt: error: $folder lists $name, which does not stand above it"
            failed=1
        fi
    done
    allowed[$folder]=" $folder $below "
done < <(grep -E '^[a-z]' "$root/layers.txt")

while IFS=: read -r file line text; do
    include=$(sed -E 's/^[[:space:]]*#[[:space:]]*include "([^"]*)".*/\1/' <<<"$text")
    from=$(dirname "${file#"$root"/}")
    to=$(dirname "$include")
    if [ -z "${allowed[$to]:-}" ]; then
        echo "$file:$line: error: include \"$include\" does not start with a folder of $root/layers.txt"
        failed=1
    elif [[ "${allowed[$from]:-}" != *" $to "* ]]; then
        echo "$file:$line: error: $from must not include $to (\"$include\")"
        failed=1
    fi
done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include "' --include='*.c' --include='*.h' \
    --include='*.inc' --include='*.def' "$root")
[ "$failed" -eq 0 ] && echo "layers: every include points downward"
exit "$failed"
