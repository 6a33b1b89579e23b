#!/usr/bin/env bash
# Host coverage of the tests: gcov and lcov, HTML under out/coverage/.
set -euo pipefail
cd "$(dirname "$0")/.."
bash ci/setup.sh
bash ci/build.sh coverage
find build/coverage -name '*.gcda' -delete
ctest --preset coverage -j "$(nproc)"
mkdir -p out/coverage
lcov --quiet --capture --directory build/coverage --output-file out/coverage/all.info \
    --rc lcov_branch_coverage=1
lcov --quiet --extract out/coverage/all.info "$PWD/harness/*" --output-file out/coverage/harness.info \
    --rc lcov_branch_coverage=1
genhtml --quiet --branch-coverage --output-directory out/coverage out/coverage/harness.info
lcov --summary out/coverage/harness.info --rc lcov_branch_coverage=1 2>&1 | sed -n 's/^  //p'
echo "coverage: out/coverage/index.html"
