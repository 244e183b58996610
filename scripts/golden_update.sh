#!/bin/bash
# scripts/golden_update.sh: write down what the program says now as what it should say.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh test
scripts/build.sh dev
shopt -s nullglob
for golden in tests/golden/*.cmd; do
    scripts/golden.sh build/dev/standin "$golden" --update
done
git --no-pager diff --stat -- tests/golden
