# shellcheck shell=bash
# Shared by the benchmarks: . bench/lib.sh
# Each benchmark is called with the folder for its results, has $STANDIN (release build),
# $SEED and $RUNS, and leaves NAME.json and NAME.md (a section of docs/results.md) there.

: "${RUNS:=3}" "${SEED:=1}"
rows=$(mktemp)

# measure NAME EVENTS COMMAND…: run it $RUNS times; one row with the median time and the
# highest resident set. Fails if the command fails.
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
        { wall[NR] = $1 > 0 ? $1 : 0.005; cpu[NR] = $2 + $3; if ($4 > rss) rss = $4 }
        END {
            m = int((NR + 1) / 2)
            printf "{\"name\":\"%s\",\"events\":%d,\"runs\":%d,\"median_s\":%.3f,\"min_s\":%.3f,", name, events, NR, wall[m], wall[1]
            printf "\"max_s\":%.3f,\"cpu_s\":%.3f,\"events_per_s\":%.0f,\"peak_rss_bytes\":%d}\n", wall[NR], cpu[m], events / wall[m], rss * 1024
        }' | tee -a "$rows" >/dev/null
    rm -f "$times" "$times.err"
    tail -n 1 "$rows" | jq -r '"  \(.name): \(.median_s) s, \(.events_per_s) events/s, \(.peak_rss_bytes / 1048576 | floor) MiB"' >&2
}
