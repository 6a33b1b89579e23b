#!/usr/bin/env bash
# Sets up, builds and runs every scenario on the embedded device. Arguments go to `lossgate run`.
set -euo pipefail
cd "$(dirname "$0")/.."
bash ci/setup.sh
bash ci/build.sh release -DLG_TESTS=OFF
exec build/release/harness/lossgate run --jobs "$(nproc)" "$@"
