#!/bin/bash
# scripts/tidy_one.sh FILE: clang-tidy over one source. A file that held once is looked at
# again only when its text, a header of ours that it includes, or the rules change.
set -uo pipefail
read -r -a outside <<<"$(pkg-config --cflags babeltrace2 libtracefs libtraceevent libtracecmd)"
read -r -a seen <<<"$(gcc -MM -MT x -Iinclude -Isrc "${outside[@]/#-I/-isystem}" "$1" |
    tr -d '\\\n' | cut -d: -f2-)"
key=$(cat .clang-tidy scripts/tidy_one.sh scripts/analyzer.h "${seen[@]}" | sha256sum | cut -c1-24)
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
