#!/bin/bash
# scripts/test.sh: all tests. Set-up, dev build, ctest (unit, scripts, fuzz corpus, golden),
# bats (end to end), then ctest again under ASan and UBSan. The last line sums everything:
# each test function of a cmocka program, each other ctest test and each bats test is one.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

scripts/setup.sh test || exit 1
mkdir -p out/test
rm -f out/test/*.log out/test/*.tap
logs=()
bad=0

# ctest of one preset; its log holds every test's own output.
run_ctest() {
    local preset=$1
    rm -f "build/$preset/Testing/Temporary/LastTest.log"
    ctest --preset "$preset" --progress --no-tests=error || bad=1
    if ! cp "build/$preset/Testing/Temporary/LastTest.log" "out/test/$preset.log"; then
        bad=1
        return
    fi
    logs+=("out/test/$preset.log")
}

# End to end: the built program as a user calls it.
run_bats() {
    local files=(tests/e2e/*.bats)
    [ -e "${files[0]}" ] || return 0
    STANDIN=$PWD/build/dev/standin STN_SOURCE_DIR=$PWD STN_BUILD_DIR=$PWD/build/dev \
        STN_NODE_PATH=$PWD/build/browser/node_modules \
        PATH=$PWD/build/dev:$PATH bats --formatter tap "${files[@]}" </dev/null |
        tee out/test/e2e.tap || bad=1
    logs+=(out/test/e2e.tap)
}

scripts/build.sh dev || exit 1
run_ctest dev
run_bats
scripts/build.sh asan || exit 1
run_ctest asan

grep -hE "^skipped: |^ok .*# skip" "${logs[@]}" | sed 's/^ok [0-9]* //' | sort -u | head -n 20
read -r passed failed skipped < <(awk -f scripts/tally.awk "${logs[@]}")
[ "$bad" = 0 ] || [ "$failed" != 0 ] || failed=1 # a tool failed without saying which test
[ "$passed" != 0 ] || failed=$((failed + 1))     # a run that tests nothing is no success
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
