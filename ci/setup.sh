#!/usr/bin/env bash
# Installs what lossgate needs on Debian 12 and settles on a CUDA compiler. Quick when all is there.
#
#   ci/setup.sh            packages, then nvcc
#   LG_NVCC=/path/to/nvcc  use this compiler
#   LG_HIDE_NVCC=1         pretend there is no system compiler: proves the wheel path
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(gcc g++ cmake ninja-build pkg-config git ccache
    libyaml-dev libjansson-dev libzip-dev librandom123-dev libxxhash-dev
    libcunit1-dev lcov clang clang-format clang-tidy
    python3 python3-pip python3-jinja2 python3-matplotlib)

# One pinned version of NVIDIA's own wheels: the compiler, its back end and the headers it needs.
wheels=(nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88
    nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85)

missing_packages() {
    local status
    status=$(dpkg-query -W -f '${Package} ${Status}\n' "${packages[@]}" 2>/dev/null || true)
    for package in "${packages[@]}"; do
        grep -q "^$package install ok installed$" <<<"$status" || echo "$package"
    done
}

install_packages() {
    local missing
    mapfile -t missing < <(missing_packages)
    [ "${#missing[@]}" -eq 0 ] && return
    echo "setup: installing ${missing[*]}"
    local log
    log=$(mktemp)
    if ! { apt-get update && DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        echo "setup: error: could not install ${missing[*]}" >&2
        exit 1
    fi
    rm -f "$log"
}

system_nvcc() {
    [ -n "${LG_HIDE_NVCC:-}" ] && return 1
    command -v nvcc && return
    [ -x /usr/local/cuda/bin/nvcc ] && echo /usr/local/cuda/bin/nvcc
}

wheel_nvcc() {
    local folder=.toolchain/cuda
    local stamp=$folder/wheels.txt
    if ! [ -f "$stamp" ] || [ "$(cat "$stamp")" != "${wheels[*]}" ]; then
        echo "setup: no nvcc on this machine, installing NVIDIA's wheels into $folder" >&2
        rm -rf "$folder"
        # A distribution's own pip on the system Python; --target leaves the system untouched.
        /usr/bin/python3 -m pip install --quiet --no-deps --disable-pip-version-check \
            --root-user-action=ignore --target "$folder" "${wheels[@]}" >&2
        echo "${wheels[*]}" >"$stamp"
    fi
    local found
    found=$(find "$PWD/$folder" -path '*/bin/nvcc' -type f | head -n 1)
    [ -n "$found" ] || { echo "setup: error: the wheels brought no bin/nvcc" >&2; return 1; }
    chmod +x "$found"
    echo "$found"
}

install_packages
mkdir -p .toolchain
nvcc=${LG_NVCC:-$(system_nvcc || wheel_nvcc)}
"$nvcc" --version >/dev/null || { echo "setup: error: $nvcc does not run" >&2; exit 1; }
if [ "$(cat .toolchain/nvcc-path 2>/dev/null)" != "$nvcc" ]; then
    echo "$nvcc" >.toolchain/nvcc-path
fi
echo "setup: nvcc is $nvcc ($("$nvcc" --version | sed -n 's/.*, release .*, \(V.*\)$/\1/p'))"
