#!/bin/bash
# Rows a second that a latency database takes and gives, SQLite and (where the server is installed)
# PostgreSQL. bench/latdb.c does the work; ROWS (500k) says how much.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=bench/lib.sh
. bench/lib.sh
out=$1
: "${LATDB:=build/release/bench/latdb}" "${ROWS:=500000}"
load=$(cut -d' ' -f1 /proc/loadavg)
folder=$(mktemp -d -u "${TMPDIR:-/tmp}/latdb-XXXXXX")
mkdir "$folder"
server=$(tests/postgres.sh start "$folder.pg") || server=
finish() {
    [ -z "$server" ] || tests/postgres.sh stop "$folder.pg"
    rm -rf "$folder" "$folder.pg" "$rows"
}
trap finish EXIT

# The cases are interleaved, so that a busy minute does not meet one of them alone.
base=0
for ((i = 0; i < RUNS; i++)); do
    for order in sorted shuffled; do
        for backend in sqlite postgresql; do
            place=$folder/lat.db
            if [ $backend = postgresql ]; then
                [ -n "$server" ] || continue
                base=$((base + 1))
                psql -qX "$server" -c "CREATE DATABASE b$base"
                place=${server/\/postgres?/\/b$base?}
            fi
            rm -f "$folder/lat.db"
            "$LATDB" "$place" "$ROWS" $order | tee -a "$rows" |
                jq -r '"  \(.backend), \(.order): \(.put_rows_per_s) rows/s, replaced \(.replace_rows_per_s), read \(.read_rows_per_s)"' >&2
        done
    done
done

# Medians, each figure by itself.
jq -s --arg date "$(date -u +%FT%TZ)" '
    def median: sort | .[(length - 1) / 2 | floor];
    {benchmark: "latdb", date: $date,
     cases: (group_by([.backend, .order]) | map(. as $all | .[0]
        + (["put_rows_per_s", "put_rows_per_cpu_s", "replace_rows_per_s", "read_rows_per_s", "single_rows_per_s"]
           | map({(.): (. as $k | $all | map(.[$k]) | median)}) | add)))}' "$rows" >"$out/latdb.json"

{
    printf '## The latency database: rows a second\n\n@stamp@\n'
    printf 'One process, %s rows of 200 signatures in one transaction, by rising point or shuffled; then all once more,\n' "$ROWS"
    printf 'each replacing one; then all read; then 200 rows, each a transaction of its own. Medians of the runs; load\n'
    printf 'when this began: %s. PostgreSQL runs on the same machine, on a socket, without waiting for the disk\n' "$load"
    printf '(fsync=off); SQLite waits for it. CPU seconds are those of the one process: not of the server.\n\n'
    printf '| backend | order | put | put, CPU second | replace | read | single transactions | bytes a row |\n|---|---|---:|---:|---:|---:|---:|---:|\n'
    jq -r '.cases[] | "| \(.backend) | \(.order) | \(.put_rows_per_s) | \(.put_rows_per_cpu_s) | \(.replace_rows_per_s) | \(.read_rows_per_s) | \(.single_rows_per_s) | \(if .bytes_per_row > 0 then .bytes_per_row else "" end) |"' "$out/latdb.json"
} >"$out/latdb.md"
