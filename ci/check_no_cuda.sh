#!/usr/bin/env bash
# Builds lossgate where there is no CUDA toolkit, and runs what needs none: diagnose, explain, reference, check and a
# kernel given as PTX. Only a `.cu` file asks for nvcc.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=build/no-cuda
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
mkdir -p "$folder"
if ! { cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLG_NVCC=none -DLG_CUDA_INCLUDE= \
    -DLG_WERROR=ON -DLG_TESTS=OFF "${launcher[@]}" && cmake --build "$folder" --target lossgate; } >"$folder.log" 2>&1; then
    tail -n 30 "$folder.log" >&2
    echo "no-cuda: error: it does not build without CUDA; the whole log is $folder.log" >&2
    exit 1
fi

export PATH=/usr/bin:/bin
if command -v nvcc >/dev/null; then
    echo "no-cuda: error: /usr/bin has nvcc: this machine cannot show what happens without it" >&2
    exit 1
fi
lossgate=$folder/harness/lossgate
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
data=tests/data

expect() { # NAME EXIT_CODE TEXT COMMAND…
    local name=$1 code=$2 text=$3 got=0
    shift 3
    "$@" >"$work/out" 2>&1 || got=$?
    if [ "$got" -ne "$code" ] || ! grep -qF -- "$text" "$work/out"; then
        cat "$work/out" >&2
        echo "no-cuda: error: $name: exit $got, expected $code and '$text'" >&2
        exit 1
    fi
}

echo 'nll.cu:41: nll_rows: block: [0,0,0], thread: [3,0,0] Assertion `t >= 0 && t < n_classes` failed.' >"$work/log"
expect diagnose 1 one_based_labels "$lossgate" diagnose --targets $data/iris_species_from_1.npy --head-width 3
expect explain 1 'n_classes' "$lossgate" explain "$work/log"
expect reference 0 '"loss"' "$lossgate" reference scenarios/smoke/nll_controls.yaml
expect check 0 ' 0 errors' "$lossgate" check scenarios/smoke kernels/nll_loss.yaml
expect 'a kernel as PTX' 0 ' 0 not, 0 untested' "$lossgate" run scenarios/smoke scenarios/faults \
    --kernels $data/foreign/nll_rows.yaml --mode blocking --out "$work/run"
expect 'a .cu file' 2 'needs nvcc' "$lossgate" run scenarios/smoke --kernels $data/session/rows.yaml --out "$work/run"
echo "no-cuda: builds without CUDA, and asks for nvcc only where a .cu is to be compiled"
