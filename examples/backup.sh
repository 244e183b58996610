#!/bin/bash
# examples/backup.sh [FOLDER]: the workload of the bundled recordings, until it is stopped.
# A small shop: a long-lived sqlite3 books orders (fsync each), every tenth round a folder
# is packed with tar and gzip and synced, every twentieth it is checked; rests in between.
set -eu
dir=$(mktemp -d "${1:-${TMPDIR:-/tmp}}/backup.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"

mkdir tree
for i in 1 2 3 4 5 6 7 8; do
    seq "$i" "$((i * 400))" >"tree/page$i.txt"
done
mkfifo rest
exec 7<>rest # never written: a read with a time limit is a rest without a process

coproc sqlite3 shop.db
echo 'PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL;
    CREATE TABLE orders(id INTEGER PRIMARY KEY, item TEXT, price REAL);' >&"${COPROC[1]}"

round=0
while :; do
    round=$((round + 1))
    echo "INSERT INTO orders(item, price) VALUES('tea', $round), ('milk', 2);
        SELECT count(*), sum(price) FROM orders;" >&"${COPROC[1]}"
    read -r report <&"${COPROC[0]}"
    echo "$report" >>report.txt
    if [ $((round % 10)) = 5 ]; then
        tar -cf - tree | gzip -6 >tree.tgz
        sync tree.tgz
    fi
    if [ $((round % 20)) = 15 ]; then
        gzip -dc tree.tgz | tar -tf - >>report.txt
    fi
    read -r -t "0.0$((round % 4 + 1))" -u 7 _ || true
done
