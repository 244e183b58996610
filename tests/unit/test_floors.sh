#!/bin/sh
# The floors check must pass on this tree and fail on each kind of bad include.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
check=$root/scripts/check_floors.sh
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
failed=0

# try EXPECTED FILE INCLUDE…: a tree with FILE that has these lines; EXPECTED is "good"
# or a part of the complaint.
try() {
    expected=$1
    file=$2
    shift 2
    rm -rf "${tree:?}"/*
    mkdir -p "$tree/src" "$tree/include/standin" "$tree/$(dirname "$file")"
    cp "$root/src/FLOORS" "$tree/src/"
    printf '#include %s\n' "$@" >"$tree/$file"
    output=$("$check" "$tree" 2>&1)
    status=$?
    case "$expected:$status" in
    good:0) return ;;
    good:*) ;;
    *:0) ;;
    *)
        case $output in *"$expected"*) return ;; esac
        ;;
    esac
    echo "$file with $*: expected \"$expected\", got exit $status: $output"
    failed=1
}

try good src/core/base/a.c '<stdio.h>' '"core/base/b.h"' '"b.h"' '<standin/base.h>'
try good src/kernel/rules/a.c '"core/nn/a.h"' '"kernel/trace/a.h"' '<standin/trace.h>'
try good src/bridge/a.c '"kernel/judge/a.h"' '"llm/plan/a.h"'
try good src/app/a.c '<standin/standin.h>' '"bridge/a.h"'
try good include/standin/rules.h '<standin/trace.h>'
try 'higher floor' src/core/base/a.c '<stdio.h>' '"kernel/trace/a.h"'
try 'higher floor' src/core/nn/a.c '<standin/trace.h>'
try 'to the right' src/core/base/a.c '"core/data/a.h"'
try 'to the right' src/kernel/trace/a.c '<standin/rules.h>'
try 'to the right' include/standin/trace.h '<standin/synth.h>'
try 'another wing' src/llm/sim/a.c '"kernel/trace/a.h"'
try 'another wing' src/kernel/synth/a.c '"llm/ops/a.h"'
try 'higher floor' src/kernel/judge/a.c '"app/cli.h"'
try 'higher floor' src/kernel/judge/a.c '<standin/standin.h>'
try 'no room' src/kernel/judge/a.c '"kernel/cellar/a.h"'
try 'no room' src/attic/a.c '<stdio.h>'
try 'from src/' src/kernel/judge/a.c '"../trace/a.h"'

"$check" "$root" || failed=1
exit $failed
