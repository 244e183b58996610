#!/bin/bash
# Events per second and peak memory of reading, checking, generating and writing kernel
# traces, on a generated trace of $EVENTS events, next to babeltrace2 and trace-cmd reading
# the same files in the same run.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=bench/lib.sh
. bench/lib.sh
out=$1
: "${EVENTS:=1000000}" "${STANDIN:=build/release/standin}"
scratch=$(mktemp -d)
load=$(cut -d' ' -f1 /proc/loadavg)
trap 'rm -rf "$scratch" "$rows"' EXIT

# What we read: a trace made here, so that its size can be chosen, in every format.
"$STANDIN" kernel train --quiet examples/backup.run1.txt.zst examples/backup.run2.txt.zst \
    -o "$scratch/m.stn"
measure "generate, nothing written" "$EVENTS" "$STANDIN" kernel generate --quiet --seed "$SEED" \
    "$scratch/m.stn" -n "$EVENTS"
measure "generate, CTF" "$EVENTS" "$STANDIN" kernel generate --quiet --seed "$SEED" \
    "$scratch/m.stn" -n "$EVENTS" -o "$scratch/ctf" --to ctf
events=$("$STANDIN" kernel info --quiet --json "$scratch/ctf" | jq .events)

for format in txt csv json; do
    measure "convert CTF to $format" "$events" \
        "$STANDIN" kernel convert --quiet "$scratch/ctf" "$scratch/t.$format"
done
measure "convert CTF to CTF" "$events" "$STANDIN" kernel convert --quiet --to ctf \
    "$scratch/ctf" "$scratch/ctf2"
zstd -q -3 "$scratch/t.txt" -o "$scratch/t.txt.zst"

measure "babeltrace2 reads CTF" "$events" babeltrace2 "$scratch/ctf" -c sink.utils.dummy
measure "info reads CTF" "$events" "$STANDIN" kernel info --quiet "$scratch/ctf"
measure "info reads ftrace text" "$events" "$STANDIN" kernel info --quiet "$scratch/t.txt"
measure "info reads ftrace text, zstd" "$events" "$STANDIN" kernel info --quiet "$scratch/t.txt.zst"
measure "info reads CSV" "$events" "$STANDIN" kernel info --quiet "$scratch/t.csv"

# trace.dat can only be recorded: here, if this machine lets us.
dat_note="trace.dat: not measured, this machine does not let us record."
if "$STANDIN" kernel record --quiet -d 4 -o "$scratch/t.dat" -- examples/backup.sh "$scratch" \
    >/dev/null 2>&1; then
    dat=$("$STANDIN" kernel info --quiet --json "$scratch/t.dat" | jq .events)
    measure "trace-cmd reads trace.dat" "$dat" trace-cmd report -i "$scratch/t.dat"
    measure "info reads trace.dat" "$dat" "$STANDIN" kernel info --quiet "$scratch/t.dat"
    dat_note="trace.dat: recorded in this run, $dat events."
fi

# Checking alone, from a parsed trace, is what the program itself reports.
# A broken rule (exit 3) does not end the measurement; the page says how many there are.
checked() {
    "$STANDIN" kernel check --quiet "$@" || [ $? = 3 ]
}
export -f checked
# shellcheck disable=SC2016 # the inner shell expands it
measure "check, with reading" "$events" bash -c 'checked "$1"' check "$scratch/ctf"
verdict=$(checked --json "$scratch/ctf")
said "check alone" "$(jq .events_per_s <<<"$verdict")" "$events"
said "generate alone" "$("$STANDIN" kernel generate --quiet --json --seed "$SEED" \
    "$scratch/m.stn" -n "$EVENTS" -o "$scratch/ctf3" --to ctf | jq .events_per_s)" "$events"

jq -s --arg date "$(date -u +%FT%TZ)" --argjson seed "$SEED" \
    '{benchmark: "kernel-io", date: $date, seed: $seed, rows: .}' "$rows" >"$out/kernel-io.json"

{
    printf '## Kernel traces: reading, checking, generating, writing\n\n@stamp@\n'
    printf 'A generated trace of %s events; process start to end. %s\n' "$events" "$dat_note"
    printf 'Seconds: median of the runs. CPU: the lowest of the runs; rates of one CPU second and ratios are\n'
    printf 'made of it, since other work on the machine disturbs it least (load when this began: %s).\n' "$load"
    printf 'The check of that trace finds %s violations.\n' "$(jq .violations <<<"$verdict")"
    printf 'Rows without seconds are what the program says of the step alone.\n'
    printf 'The ratio is to the tool in the row above, which reads the same file. Not quite the same\n'
    printf 'work: info also counts and times what it reads; trace-cmd has no sink and prints text.\n\n'
    printf '| what | seconds | CPU s | events/s | events/CPU s | peak MiB | ratio |\n|---|---:|---:|---:|---:|---:|---:|\n'
    jq -r '
        (.rows | map({(.name): .events_per_cpu_s}) | add) as $rate
        | {"info reads CTF": "babeltrace2 reads CTF", "info reads trace.dat": "trace-cmd reads trace.dat"} as $beside
        | .rows[]
        | ($beside[.name] // null) as $other
        | [ .name, .median_s // "", .cpu_s // "", (.events_per_s | round),
            (.events_per_cpu_s // "" | if . == "" then . else round end),
            (if .peak_rss_bytes then (.peak_rss_bytes / 1048576 | round) else "" end),
            (if $other then (.events_per_cpu_s / $rate[$other] * 100 | round / 100 | tostring) + " × " + ($other | split(" ")[0]) else "" end)
          ] | "| " + (map(tostring) | join(" | ")) + " |"
        ' "$out/kernel-io.json"
} >"$out/kernel-io.md"
