# What the latency database says, and what is refused.
db=$EXAMPLES/latency.db
$STANDIN db ls --db "$db" | sed "s|$EXAMPLES/||; s/ (this machine)//"
STANDIN_DB=$db $STANDIN db ls --all --hardware epyc | tail -n 5 | sed 's/ (this machine)//'
$STANDIN db show 26a2 --db "$db"
$STANDIN db show 26A2494A --db "$db" --json --engine memcpy | head -n 48
$STANDIN db export --db "$db" | head -n 2
$STANDIN db check --db "$db"
# Another machine, and rows that differ, in a copy.
cp "$db" b.db
chmod u+w b.db
sqlite3 b.db "UPDATE latency SET count=count+1, median_ns=51 WHERE p0=1024; UPDATE latency SET median_ns=171 WHERE p0=4096"
$STANDIN db merge "$db" b.db -o c.db
$STANDIN db merge b.db -o c.db --json | jq -c 'del(.hardware, .conflict_list), (.conflict_list[] | [.signature.kind, .there.median_ns, .newcomer.median_ns, .kept])'
$STANDIN db merge c.db -o c.db
echo "exit $?"
$STANDIN db merge b.db nothing.db -o d.db
echo "exit $?"
for words in "show 26" "show ffff" "show 26a2 --hardware nothing" "show 26a2 --hardware amd --engine x" "ls --hardware zzzz" "export --json"; do
    $STANDIN db $words --db c.db
    echo "exit $?"
done
sqlite3 b.db "UPDATE latency SET median_ns=-median_ns WHERE p0=1024; UPDATE hardware SET cores=3"
$STANDIN db check --db b.db
echo "exit $?"
$STANDIN db check --db b.db --json | jq -c '[.faults, (.fault_list | length)]'
head -c 20000 c.db >cut.db
sqlite3 foreign.db 'CREATE TABLE orders(a)'
sqlite3 newer.db ".restore c.db" "INSERT INTO migration VALUES(99, 'of the future')"
echo 'not a database' >text.db
for name in cut foreign newer text nothing; do
    $STANDIN db ls --db $name.db
    echo "exit $?"
done
$STANDIN db ls --db mysql://host/base
echo "exit $?"
HOME= XDG_DATA_HOME= STANDIN_DB= $STANDIN db ls
echo "exit $?"
HOME=/nowhere XDG_DATA_HOME= STANDIN_DB= $STANDIN db ls
echo "exit $?"
ls
