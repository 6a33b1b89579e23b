#!/usr/bin/env bash
# Measures, and writes tests/bench/RESULTS.md: what each benchmark printed on this machine, and the gate's time. Times
# vary by machine: each benchmark prints its numbers beside something measured in the same run.
#   ci/bench.sh           about 10 minutes on two cores
#   ci/bench.sh --long    the attribution benches with 100,000 batches: about 20 minutes more
set -euo pipefail
cd "$(dirname "$0")/.."
batches=10000
cases=200
[ "${1:-}" = --long ] && batches=100000 cases=1000
bash ci/setup.sh
bash ci/build.sh release -DLG_TESTS=ON
build=build/release
page=tests/bench/RESULTS.md
new=$page.new

section() { # TITLE COMMAND…
    local title=$1
    shift
    echo "bench: $title" >&2
    {
        printf '\n## %s\n\n```\n$ %s\n' "$title" "${*//$build\/tests\/bench\//}"
        "$@" 2>&1 || echo "exit $?"
        printf '```\n'
    } >>"$new"
}

isa() {
    local name=baseline
    grep -qw avx2 /proc/cpuinfo && name=AVX2
    grep -qw avx512f /proc/cpuinfo && name=AVX-512
    echo "$name"
}

gate() {
    find kernels -name '*.yaml' -print0 | xargs -0 -n 1 -P "$(nproc)" $build/harness/lossgate check --compile >/dev/null
    ( TIMEFORMAT='%R s real, %U s user, %S s system'; time $build/harness/lossgate run --jobs "$(nproc)" ) 2>&1 | tail -n 3
}

lines() { # FOLDER PATTERN…
    local folder=$1
    shift
    local names=()
    for pattern in "$@"; do names+=(-o -name "$pattern"); done
    find "$folder" -type f \( "${names[@]:1}" \) -print0 | xargs -0 cat | wc -l
}

sizes() {
    printf '%-26s %7d lines\n' \
        harness "$(lines harness '*.c' '*.h' '*.def')" \
        'tests (C, CLI)' "$(lines tests '*.c' '*.h' '*.def' '*.t')" \
        kernels "$(lines kernels '*.cu' '*.cuh' '*.yaml')" \
        scenarios "$(lines scenarios '*.yaml')"
}

{
    echo '# Results'
    echo
    echo "Written by \`ci/bench.sh\`; no number stands anywhere else. Commit $(git rev-parse --short HEAD)," \
        "$(date -u +%Y-%m-%d), $(nproc) cores, $(isa), $(gcc --version | head -n 1 | sed 's/.* //')" "of GCC."
} >"$new"
section 'The gate, once built' gate
section 'Size' sizes
section 'Engine against the same loops in C' $build/tests/bench/bench_engine
section 'Rows of 50,257 classes on the engine' $build/tests/bench/bench_rows
section 'Reference' $build/tests/bench/bench_reference 4096 50257
section 'Logs' $build/tests/bench/bench_explain
section 'Attribution in the world of the priors' $build/tests/bench/bench_attribution --batches $batches --seed 1
section 'Attribution in another world' $build/tests/bench/bench_attribution --batches $batches --seed 3 --world other
section 'Attribution of broken kernels' $build/tests/bench/bench_attribution_kernels --cases $cases
mv "$new" "$page"
echo "bench: $page"
