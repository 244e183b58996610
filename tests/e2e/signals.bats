# Ctrl-C, the progress line, and readers that go away.

setup_file() {
    # Long enough that a command is still at it when the signal comes.
    awk 'BEGIN {
        for (i = 0; i < 1500000; i++)
            printf "  cat-100 [000] ..... %d.%06d: sys_%s_read: ret=1\n", 1 + i / 1000000, i % 1000000, i % 2 ? "exit" : "enter"
    }' >"$BATS_FILE_TMPDIR/long.txt"
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    long=$BATS_FILE_TMPDIR/long.txt
}

# interrupted SIGNAL WORDS…: the command ends with 130 soon after the signal.
interrupted() {
    local signal=$1
    shift
    run timeout --foreground -k 10 -s "$signal" 0.15 standin "$@"
    # timeout says 124 whatever the command says: ask the command's words.
    [[ "$output" == *interrupted* ]] || { echo "$*: $status: $output"; return 1; }
}

@test "signals: Ctrl-C and SIGTERM end a conversion and leave no output" {
    for signal in INT TERM HUP; do
        interrupted $signal kernel convert "$long" out.csv
        interrupted $signal kernel convert "$long" out.ctf
        [ -z "$(ls -A)" ]
    done
}

@test "signals: the exit code is 130" {
    standin kernel convert "$long" out.csv >/dev/null 2>&1 &
    pid=$!
    sleep 0.15
    kill -TERM $pid
    code=0
    wait $pid || code=$?
    [ "$code" = 130 ]
    [ -z "$(ls -A)" ]
}

@test "signals: info and check end too" {
    interrupted INT kernel info "$long"
    interrupted INT kernel check "$long"
}

@test "signals: a progress line on a terminal, none without or with --quiet" {
    command -v script >/dev/null || skip "script(1) not there"
    script -qec "standin kernel info $long" out.typescript >/dev/null
    grep -q 'reading: .* events, .*/s' out.typescript
    script -qec "standin kernel info --quiet $long" out.typescript >/dev/null
    ! grep -q 'reading: ' out.typescript
    standin kernel info "$long" >/dev/null 2>notes
    [ ! -s notes ]
}

@test "signals: a reader of standard output that goes away ends the command quietly" {
    run bash -c 'standin kernel convert --to csv "$1" - 2>notes | head -n 2' - "$long"
    [ "$status" = 0 ]
    [ "${#lines[@]}" = 2 ]
    [ ! -s notes ]
}
