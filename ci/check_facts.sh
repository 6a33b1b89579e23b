#!/usr/bin/env bash
# No decision reads prose: in the folders that decide, comparing texts (strcmp, strstr, globs, …) is an error but
# where ci/facts_allowed.txt says why. One line for each call without a reason, and for each reason without a call.
#   ci/check_facts.sh [FOLDER [ALLOWED]]    default: harness ci/facts_allowed.txt
set -euo pipefail
cd "$(dirname "$0")/.."
root=${1:-harness}
allowed=${2:-ci/facts_allowed.txt}

{ grep -rnE '\b(strcmp|strncmp|strcasecmp|strncasecmp|strstr|strcasestr|fnmatch|lg_glob_match|memmem)\(' \
    --include='*.c' --include='*.h' "$root"/{labels,batch,device,judge,attribute,session,shrink,diagnose,guards,report,engine/sim} \
    2>/dev/null || true; } | awk -v root="$root" -v allowed="$allowed" '
    BEGIN {
        while ((getline line < allowed) > 0) {
            if (line ~ /^(#|$)/) continue
            # PATH | a piece of the line of code | why
            n = split(line, part, " [|] ")
            if (n != 3) { print allowed ": error: not PATH | CODE | WHY: " line; failed = 1; continue }
            count++
            path[count] = part[1]; code[count] = part[2]
        }
    }
    {
        match($0, /^[^:]*:[0-9]+/)
        place = substr($0, 1, RLENGTH)
        file = substr(place, length(root) + 2)
        sub(/:[0-9]+$/, "", file)
        found = 0
        for (i = 1; i <= count; i++)
            if (path[i] == file && index($0, code[i])) { used[i] = 1; found = 1 }
        if (!found) {
            print place ": error: it compares texts: " substr($0, RLENGTH + 2) " — make the fact a type, or say why in " allowed
            failed = 1
        }
    }
    END {
        for (i = 1; i <= count; i++)
            if (!(i in used)) { print allowed ": error: " path[i] " has no \"" code[i] "\" any more"; failed = 1 }
        if (!failed) print "facts: no decision reads a text"
        exit failed
    }'
