#!/usr/bin/env bash
# Sets up, builds and runs every scenario on the embedded device. Arguments go to `lossgate run`.
set -euo pipefail
cd "$(dirname "$0")/.."
bash ci/setup.sh
bash ci/build.sh release -DLG_TESTS=OFF
lossgate=build/release/harness/lossgate
# Compile the kernels first, one compiler a core; later runs find them in the cache.
find kernels -name '*.yaml' -print0 | xargs -0 -n 1 -P "$(nproc)" "$lossgate" check --compile
exec "$lossgate" run --jobs "$(nproc)" "$@"
