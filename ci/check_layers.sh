#!/usr/bin/env bash
# A folder includes only itself and what harness/layers.txt lets it include, of other folders no internal.h, and
# what it lists there stands above it. Exit 1 and one line for each include or listing that does not.
#   ci/check_layers.sh [FOLDER]    default: harness
set -euo pipefail
cd "$(dirname "$0")/.."
root=${1:-harness}

grep -rnE '^[[:space:]]*#[[:space:]]*include "' --include='*.c' --include='*.h' --include='*.inc' \
    --include='*.def' "$root" | awk -v root="$root" -v layers="$root/layers.txt" '
    function fail(text) { print text; failed = 1 }
    function folder_of(path) { return sub(/\/[^\/]*$/, "", path) ? path : "" }
    BEGIN {
        while ((getline line < layers) > 0) {
            if (line !~ /^[a-z]/) continue
            split(line, part, ":")
            known[part[1]] = 1
            n = split(part[2], below, " ")
            allowed[part[1], part[1]] = 1
            for (i = 1; i <= n; i++) {
                allowed[part[1], below[i]] = 1
                if (!(below[i] in known))
                    fail(layers ": error: " part[1] " lists " below[i] ", which does not stand above it")
            }
        }
    }
    {
        match($0, /^[^:]*:[0-9]+/)
        place = substr($0, 1, RLENGTH)
        path = place
        sub(/:[0-9]+$/, "", path)
        split($0, quoted, "\"")
        include = quoted[2]
        from = folder_of(substr(path, length(root) + 2))
        to = folder_of(include)
        if (!(to in known))
            fail(place ": error: include \"" include "\" does not start with a folder of " layers)
        else if (!((from, to) in allowed))
            fail(place ": error: " from " must not include " to " (\"" include "\")")
        else if (from != to && include ~ /\/internal\.h$/)
            fail(place ": error: \"" include "\" is for its own folder only")
    }
    END {
        if (!failed) print "layers: every include points downward"
        exit failed
    }'
