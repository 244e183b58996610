# standin db: an SQLite file and a PostgreSQL server hold the same; several programs at once.

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    example=$STN_SOURCE_DIR/examples/latency.db
}

teardown() {
    [ -z "${cluster:-}" ] || { "$STN_SOURCE_DIR/tests/postgres.sh" stop "$cluster"; rm -rf "$cluster"; }
}

# A PostgreSQL server of one's own: its address in $server.
need_postgres() {
    folder=$(mktemp -d -u /tmp/standin-pg-XXXXXX)
    server=$("$STN_SOURCE_DIR/tests/postgres.sh" start "$folder" 3>&-) || skip "$server"
    cluster=$folder
    standin doctor --json | jq -e '.capabilities[] | select(.name == "PostgreSQL") | .found' ||
        skip "libpq cannot be used"
}

@test "db: a server holds what a file holds, row for row" {
    need_postgres
    run standin db ls --db "$server"
    [ "$status" = 1 ]
    [[ "$output" == *": holds no latency database yet" ]]
    standin db merge "$example" -o "$server" --json >said
    [ "$(jq -c '[.rows, .added, .duplicates, .conflicts]' said)" = "[9,9,0,0]" ]
    standin db export --db "$example" -o file.csv
    standin db export --db "$server" -o server.csv
    cmp file.csv server.csv
    standin db ls --db "$example" --json | jq 'del(.database, .backend)' >file.json
    STANDIN_DB=$server standin db ls --json >server.json
    [ "$(jq -r .backend server.json)" = postgresql ]
    diff file.json <(jq 'del(.database, .backend)' server.json)
    [ "$(standin db show 26a2 --db "$server")" = "$(standin db show 26a2 --db "$example")" ]
    standin db check --db "$server"
    # And back; what is there already is taken once.
    standin db merge "$server" "$example" -o back.db --json >said
    [ "$(jq -c '[.rows, .added, .duplicates, .conflicts]' said)" = "[18,9,9,0]" ]
    standin db export --db back.db -o back.csv
    cmp file.csv back.csv
}

@test "db: programs that merge into one place at once lose nothing" {
    need_postgres
    for i in 1 2 3 4; do
        cp "$example" $i.db
        chmod u+w $i.db
        sqlite3 $i.db "UPDATE latency SET p0=p0+$i"
    done
    for place in all.db "$server"; do
        standin db merge "$example" -o "$place" -q
        for i in 1 2 3 4; do
            standin db merge $i.db -o "$place" -q 3>&- &
            pids[i]=$!
        done
        for i in 1 2 3 4; do
            wait "${pids[i]}"
        done
        [ "$(standin db check --db "$place" --json | jq -c '[.rows, .faults]')" = "[45,0]" ]
    done
}

@test "db: hardware is kept apart, and one has to be named" {
    cp "$example" other.db
    chmod u+w other.db
    # A machine with more memory, its fingerprint as docs/formats/latency-database.md says.
    sqlite3 other.db "UPDATE hardware SET memory_bytes=memory_bytes*2"
    right() { standin db check --db other.db --json | jq -r '.fault_list[]' | sed -n "s/^$1 .*should be //p"; }
    sqlite3 other.db "PRAGMA foreign_keys=0; UPDATE hardware SET id=$((16#$(right hardware)));
        UPDATE series SET hardware=(SELECT id FROM hardware)"
    sqlite3 other.db "UPDATE series SET id=$((16#$(right series))); UPDATE latency SET series=(SELECT id FROM series)"
    standin db check --db other.db
    run standin db merge "$example" other.db -o both.db
    [ "$status" = 0 ]
    [ "${lines[0]}" = "rows        18, 18 of them new" ]
    [ "${lines[3]}" = "hardware    2, kept apart" ]
    run standin db show 26a2 --db both.db
    [ "$status" = 2 ]
    [[ "${lines[0]}" == *"measured on 2 hardware; name one with --hardware: "*"24 GiB"*"48 GiB"* ]]
    run standin db show 26a2 --db both.db --hardware epyc
    [ "$status" = 2 ]
    [[ "${lines[0]}" == *"--hardware epyc may be 2 things: "* ]]
    first=$(standin db ls --db both.db --json | jq -r '.hardware[0].id')
    [ "$(standin db show 26a2 --db both.db --hardware "${first:0:6}" --json | jq '.engines[0].rows | length')" = 9 ]
    [ "$(standin db export --db both.db --hardware "$first" | wc -l)" = 10 ]
    [ "$(standin db export --db both.db | wc -l)" = 19 ]
}

@test "db: a merge that fails leaves no file, and an older one as it was" {
    head -c 20000 "$example" >cut.db
    run standin db merge "$example" cut.db -o all.db
    [ "$status" = 1 ]
    [ "${#lines[@]}" = 1 ]
    [[ "$output" == *"cut.db: is cut short or damaged"* ]]
    [ "$(ls)" = cut.db ]
    standin db merge "$example" -o all.db -q
    sha256sum all.db >sum
    run standin db merge "$example" cut.db -o all.db
    [ "$status" = 1 ]
    sha256sum -c sum
    run standin db merge "$example" -o nowhere/all.db
    [ "$status" = 1 ]
    [[ "$output" == *"nowhere/all.db"*"unable to open"* ]]
    run standin db export --db "$example" -o /dev/full
    [ "$status" = 1 ]
    [[ "$output" == *"/dev/full: "*"No space left"* ]]
}

@test "db: without libpq PostgreSQL is refused with a word, a file goes on" {
    echo "not a library" >libpq.so.5
    run env LD_LIBRARY_PATH="$PWD" standin db ls --db postgresql://nobody:secret@localhost/x
    [ "$status" = 1 ]
    [ "$output" = "standin db ls: postgresql://nobody:***@localhost/x: PostgreSQL cannot be used: libpq.so.5 cannot be loaded; see standin doctor" ] ||
        [[ "$output" == *"PostgreSQL cannot be used: standin was built without libpq" ]]
    LD_LIBRARY_PATH="$PWD" standin db check --db "$example" -q
}

@test "db: an interrupted merge leaves nothing" {
    cp "$example" large.db
    chmod u+w large.db
    sqlite3 large.db "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<500000)
        INSERT OR IGNORE INTO latency SELECT series,i,0,0,0,0,0,1,1,1,1,0,1,source,0,0 FROM
        (SELECT series,source FROM latency LIMIT 1), n"
    run timeout -s INT 0.3 standin db merge large.db -o all.db
    [ "$status" = 130 ] || [ "$status" = 124 ] # 124: timeout's own
    [[ "$output" == *"interrupted; nothing was written"* ]]
    [ "$(ls)" = large.db ]
}

@test "db: the example of the C interface fills a database of this machine" {
    cmake --install "$STN_BUILD_DIR" --prefix "$PWD/prefix" >/dev/null
    export PKG_CONFIG_PATH=$PWD/prefix/lib/pkgconfig LD_LIBRARY_PATH=$PWD/prefix/lib
    gcc -O2 -o latency "$STN_SOURCE_DIR/examples/api/latency.c" $(pkg-config --cflags --libs standin) -lm
    ./latency mine.db
    ./latency mine.db # once more: the rows are replaced
    [ "$(standin db show 26a2 --db mine.db --hardware this --json | jq '.engines[0].rows | length')" = 9 ]
    standin db ls --db mine.db | grep -q '(this machine)$'
    standin db check --db mine.db -q
}
