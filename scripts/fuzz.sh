#!/bin/bash
# scripts/fuzz.sh: SECONDS_EACH (60) of libFuzzer for each target of tests/fuzz. What breaks
# a target lands in out/fuzz; copy it to tests/fuzz/corpus/NAME once the bug is mended.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh test
scripts/build.sh fuzz
mkdir -p out/fuzz
bad=0
shopt -s nullglob
for target in build/fuzz/tests/fuzz_*; do
    name=${target##*/fuzz_}
    mkdir -p "out/fuzz/$name"
    echo "fuzz: $name for ${SECONDS_EACH:-60} s"
    "$target" -max_total_time="${SECONDS_EACH:-60}" -rss_limit_mb=2048 -timeout=10 \
        -artifact_prefix="out/fuzz/$name-" -print_final_stats=1 -verbosity=0 \
        "out/fuzz/$name" "tests/fuzz/corpus/$name" || bad=1
done
exit $bad
