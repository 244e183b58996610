#!/bin/bash
# scripts/docs_update.sh: write docs/cli anew from the program's table of commands.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh build
scripts/build.sh dev standin
mkdir -p docs/cli
rm -f docs/cli/*.md
build/dev/standin __markdown docs/cli
git --no-pager diff --stat -- docs/cli
