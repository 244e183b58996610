#!/bin/bash
# scripts/tidy_one.sh FILE: clang-tidy over one source, unless it held before. $STAMP stands
# for the headers and the rules.
set -uo pipefail
key=$(printf '%s %s' "$STAMP" "$(sha256sum <"$1")" | sha256sum | cut -c1-16)
done_file=build/tidy/$key
[ ! -e "$done_file" ] || exit 0
extra=(--extra-arg="-include$PWD/scripts/analyzer.h")
[ "$1" != src/core/base/err.c ] || extra=() # where they are defined
if output=$(clang-tidy -p build/dev --quiet "${extra[@]}" "$1" 2>&1); then
    touch "$done_file"
else
    # The path that leads there is left out; clang-tidy -p build/dev FILE shows it.
    printf '%s\n' "$output" | grep -A2 'error:' | grep -v '^--'
    exit 1
fi
