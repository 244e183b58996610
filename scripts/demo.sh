#!/bin/bash
# scripts/demo.sh: installs what is missing, builds, and runs the main job on the bundled
# recordings: learn from two runs with a network, for a minute, generate a new trace, judge it by a
# third.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh build
scripts/build.sh release

standin=build/release/standin
out=out/demo
learn=(examples/backup.run1.txt.zst examples/backup.run2.txt.zst)
unseen=examples/backup.run3.txt.zst
rm -rf $out
mkdir -p $out

# Show the command as a user would type it, then run it.
run() {
    printf '\n$ standin %s\n' "$*" >&2
    "$standin" "$@"
}

run kernel info "$unseen"
run kernel check "$unseen"
run kernel mine "${learn[@]}" -o $out/backup.rules
# 138 rules make a long table: its end is enough. Mined rules are no law, so 3 is no failure.
run kernel check --show 3 --rules $out/backup.rules "$unseen" >$out/mined.txt || [ $? = 3 ]
head -n 2 $out/mined.txt && echo ... && tail -n 6 $out/mined.txt

# The network, and as a yardstick the tables of the Markov kind, which take a second.
run kernel train --kind diffusion --budget 1m "${learn[@]}" -o $out/network.stn
run kernel generate $out/network.stn -n 100k --seed 1 -o $out/synthetic --to ctf
run kernel check $out/synthetic
run kernel evaluate --train "${learn[@]}" --real "$unseen" --synthetic $out/synthetic \
    --html $out/report.html | tee $out/network.txt
run kernel train "${learn[@]}" -o $out/tables.stn
run kernel generate $out/tables.stn -n 100k --seed 1 -o $out/markov --to ctf
run kernel evaluate --train "${learn[@]}" --real "$unseen" --synthetic $out/markov >$out/tables.txt
printf '%-30s %14s %12s\n' 'beside each other' network tables
awk '/^  / {label = substr($0, 1, 30); value = substr($0, 31, 15)}
    /^  / && NR == FNR {network[label] = value}
    /^  / && NR != FNR {printf "%s%15s%13s\n", label, network[label], value}' \
    $out/network.txt $out/tables.txt | grep -E '^  (macro-F1|ratio of macro|.-gram|time between|run-queue) *'

# Without the rules' guidance it breaks some; repair finds the smallest edits that mend them.
run kernel generate $out/network.stn -n 20k --seed 1 --unguided --no-repair -o $out/unguided.csv
run kernel repair $out/unguided.csv -o $out/mended.csv | head -n 3
run kernel check $out/mended.csv | tail -n 1

printf '\nA new trace:  %s (CTF; open it with babeltrace2 or Trace Compass)\n' "$PWD/$out/synthetic"
printf 'The report:   %s\n' "$PWD/$out/report.html"
