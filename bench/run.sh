#!/bin/bash
# bench/run.sh [NAME…]: release build, then bench/NAME.sh (all of them if none is named).
# JSON goes to out/bench; each benchmark's section of docs/results.md is written anew.
# EVENTS (1M), RUNS (3) and SEED (1) choose the size.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh test
scripts/build.sh release

export STANDIN=$PWD/build/release/standin SEED=${SEED:-1} RUNS=${RUNS:-3} EVENTS=${EVENTS:-1000000}
mkdir -p out/bench
commit=$(git describe --always --dirty --abbrev=10 2>/dev/null || echo 'no git')
cpu=$(awk -F': ' '/^model name/ {print $2; exit}' /proc/cpuinfo)
stamp="$(date -u +%Y-%m-%d), commit $commit, seed $SEED, @runs@$(nproc) CPUs (${cpu:-unknown})"

[ $# -gt 0 ] || for file in bench/*.sh; do
    case $file in bench/run.sh | bench/lib.sh) ;; *) set -- "$@" "$(basename "$file" .sh)" ;; esac
done

page=docs/results.md
if [ ! -f $page ]; then
    cat >$page <<'P'
# Results

Written by `make bench`; each section says when, on what commit and on what.
P
fi
for name in "$@"; do
    echo "bench: $name"
    "bench/$name.sh" out/bench
    # Replace the section between the marks, or add it at the end.
    {
        awk -v open="<!-- bench:$name -->" -v shut="<!-- /bench:$name -->" '
            $0 == open { skip = 1 }
            !skip { print; blank = $0 == "" }
            $0 == shut { skip = 0 }' $page | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
        printf '\n<!-- bench:%s -->\n' "$name"
        # Likeness repeats by seeds, and says so itself.
        case $name in kernel-likeness) runs= ;; *) runs="$RUNS runs each, " ;; esac
        sed "s|^@stamp@\$|${stamp/@runs@/$runs}.|" "out/bench/$name.md"
        printf '<!-- /bench:%s -->\n' "$name"
    } >out/bench/page
    mv out/bench/page $page
done
echo "bench: wrote $page and out/bench/*.json"
