#!/usr/bin/env bash
# A layer includes only itself and the layers below it. Exit 1 and one line for each include that does not.
#   ci/check_layers.sh [FOLDER]    default: harness
set -euo pipefail
cd "$(dirname "$0")/.."
root=${1:-harness}

declare -A allowed=(
    [support]="support"
    [model]="model support"
    [engine/ptx]="engine/ptx support"
    [engine/sim]="engine/sim engine/ptx support"
    [engine]="engine engine/sim engine/ptx model support"
    [pipeline]="pipeline engine model support"
    [report]="report model support"
    [cli]="cli pipeline report engine engine/sim engine/ptx model support"
)
failed=0

layer_of() { # path below the root, or an include path → its layer
    case "$1" in
        engine/ptx/*) echo engine/ptx ;;
        engine/sim/*) echo engine/sim ;;
        */*) echo "${1%%/*}" ;;
        *) echo "" ;;
    esac
}

while IFS=: read -r file line text; do
    include=$(sed -E 's/^[[:space:]]*#[[:space:]]*include "([^"]*)".*/\1/' <<<"$text")
    from=$(layer_of "${file#"$root"/}")
    to=$(layer_of "$include")
    if [ -z "$to" ] || [ -z "${allowed[$to]:-}" ]; then
        echo "$file:$line: error: include \"$include\" does not start with a layer"
        failed=1
    elif ! grep -qw -- "$to" <<<"$(tr ' ' '\n' <<<"${allowed[$from]:-}" | grep -x -- "$to")"; then
        echo "$file:$line: error: layer $from must not include $to (\"$include\")"
        failed=1
    fi
done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include "' --include='*.c' --include='*.h' \
    --include='*.inc' --include='*.def' "$root")
[ "$failed" -eq 0 ] && echo "layers: every include points downward"
exit "$failed"
