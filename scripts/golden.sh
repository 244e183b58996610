#!/bin/sh
# scripts/golden.sh PROGRAM CASE.cmd [--update]
# Runs the shell lines of CASE.cmd, with $STANDIN the program and $EXAMPLES the bundled
# recordings, in a fresh folder; output and exit code must be exactly CASE.out.
set -u
program=$(realpath "$1") || exit 1
case=$(realpath "$2") || exit 1
expected=${case%.cmd}.out
root=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

(
    cd "$scratch" || exit 1
    export STANDIN="$program" EXAMPLES="$root/examples" GOLDEN="$root/tests/golden" LC_ALL=C TZ=UTC
    unset COLUMNS
    sh "$case" >"$scratch/.golden" 2>&1 </dev/null
    echo "exit $?" >>"$scratch/.golden"
)

if [ "${3:-}" = --update ]; then
    cp "$scratch/.golden" "$expected"
    exit 0
fi
diff -u "$expected" "$scratch/.golden"
