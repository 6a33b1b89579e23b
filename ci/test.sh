#!/usr/bin/env bash
# Sets up, builds and passes all tests: style and layer checks, then ctest.
#   ci/test.sh [PRESET]    default dev; also release, asan-ubsan, tsan, coverage
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-dev}
bash ci/setup.sh
bash ci/check_layers.sh
bash ci/check_facts.sh
bash ci/check_format.sh
bash ci/build.sh "$preset"
bash ci/check_no_cuda.sh
ctest --preset "$preset" -j "$(nproc)"
