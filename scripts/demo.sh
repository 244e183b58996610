#!/bin/bash
# scripts/demo.sh: installs what is missing, builds, and runs the main job on the bundled
# recording: learn from two runs, generate a new trace, judge it by a third.
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
run kernel train "${learn[@]}" -o $out/backup.stn
run kernel generate $out/backup.stn -n 100k --seed 1 -o $out/synthetic --to ctf
run kernel check $out/synthetic
run kernel evaluate --train "${learn[@]}" --real "$unseen" --synthetic $out/synthetic \
    --html $out/report.html

printf '\nA new trace:  %s (CTF; open it with babeltrace2 or Trace Compass)\n' "$PWD/$out/synthetic"
printf 'The report:   %s\n' "$PWD/$out/report.html"
