# shellcheck shell=bash
# Shared by the benchmarks: . bench/lib.sh
# Each benchmark is called with the folder for its results, has $STANDIN (release build),
# $SEED and $RUNS, and leaves NAME.json and NAME.md (a section of docs/results.md) there.

: "${RUNS:=3}" "${SEED:=1}"
rows=$(mktemp)

# measure NAME EVENTS COMMAND…: run it $RUNS times; one row with the median time, the lowest
# CPU time (which a busy machine disturbs least) and the highest resident set. Fails if the
# command fails.
measure() {
    local name=$1 events=$2 i times
    shift 2
    times=$(mktemp)
    for ((i = 0; i < RUNS; i++)); do
        if ! /usr/bin/time -q -a -o "$times" -f '%e %U %S %M' "$@" >/dev/null 2>"$times.err"; then
            echo "bench: $name failed: $*" >&2
            cat "$times.err" >&2
            rm -f "$times" "$times.err"
            return 1
        fi
    done
    sort -n "$times" | awk -v name="$name" -v events="$events" '
        { wall[NR] = $1 > 0 ? $1 : 0.005; cpu = $2 + $3; if (NR == 1 || cpu < best) best = cpu
          if ($4 > rss) rss = $4 }
        END {
            m = int((NR + 1) / 2)
            if (best <= 0) best = 0.005
            printf "{\"name\":\"%s\",\"events\":%d,\"runs\":%d,", name, events, NR
            printf "\"median_s\":%.3f,\"min_s\":%.3f,\"max_s\":%.3f,", wall[m], wall[1], wall[NR]
            printf "\"cpu_s\":%.3f,\"events_per_s\":%.0f,", best, events / wall[m]
            printf "\"events_per_cpu_s\":%.0f,\"peak_rss_bytes\":%d}\n", events / best, rss * 1024
        }' >>"$rows"
    rm -f "$times" "$times.err"
    tail -n 1 "$rows" | jq -r '"  \(.name): \(.median_s) s (\(.cpu_s) of CPU), \(.events_per_s) events/s, \(.peak_rss_bytes / 1048576 | floor) MiB"' >&2
}

# said NAME RATE EVENTS: a row with a rate that the program itself measured, start-up left out.
said() {
    jq -nc --arg name "$1" --argjson rate "$2" --argjson events "$3" \
        '{name: $name, events: $events, runs: 1, events_per_s: $rate}' >>"$rows"
}
