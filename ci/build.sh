#!/usr/bin/env bash
# Configures and builds one preset (default: dev), quietly; used by the other scripts.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-dev}
shift || true
log=build/$preset.log
mkdir -p build
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
# A compiler that changed since the last time (another nvcc, say) must not stay in the cache.
nvcc=$(cat .toolchain/nvcc-path 2>/dev/null || true)
if ! { cmake --preset "$preset" "${launcher[@]}" ${nvcc:+-DLG_NVCC="$nvcc"} -DLG_WERROR=ON "$@" &&
    cmake --build "build/$preset"; } >"$log" 2>&1; then
    grep -nE 'error|Error|FAILED' "$log" | head -n 40 >&2 || true
    tail -n 30 "$log" >&2
    echo "build: error: preset $preset failed; the whole log is $log" >&2
    exit 1
fi
echo "build: preset $preset is up to date"
