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
    [[ "$output" == *"interrupted; nothing was written"* ]] || { echo "$*: $status: $output"; return 1; }
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

@test "signals: the other commands end too, with the same sentence" {
    interrupted INT kernel info "$long"
    interrupted INT kernel check "$long"
    interrupted INT kernel mine "$long" -o rules
    interrupted INT kernel train "$long" -o model
    interrupted INT kernel repair "$long" -o out.csv
    [ -z "$(ls -A)" ]
}

@test "signals: repair stops at once in the middle of its search" {
    # Events in any order: nearly every one has to be searched for.
    awk 'BEGIN {
        srand(5); print "time_ns,cpu,tid,comm,event,fields"
        split("sys_enter_read sys_exit_read sys_enter_close sys_exit_close sched_switch softirq_entry", names, " ")
        for (i = 0; i < 200000; i++)
            printf "%d,%d,%d,a,%s,vec=1;ret=0;prev_pid=%d;next_pid=%d\n", i * 1000, rand() * 2, rand() * 9, names[1 + int(rand() * 6)], rand() * 9, rand() * 9
    }' >soup.csv
    standin kernel repair soup.csv -o out.csv 2>notes &
    pid=$!
    sleep 1
    from=$(date +%s%N)
    kill -TERM $pid # a job in the background ignores SIGINT
    code=0
    wait $pid || code=$?
    ms=$((($(date +%s%N) - from) / 1000000))
    [ "$code" = 130 ]
    [ "$ms" -lt 1000 ] || { echo "took $ms ms"; return 1; } # a loaded machine; 50 ms on an idle one
    rm soup.csv notes
    [ -z "$(ls -A)" ]
}

@test "signals: a progress line on a terminal, none without or with --quiet" {
    script -qec true /dev/null >/dev/null 2>&1 || skip "script(1) or pseudo-terminals not there"
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

@test "signals: a network's training that is stopped says where what it learned is" {
    standin kernel train --kind diffusion --context 32 --budget 1m --quiet \
        "$STN_SOURCE_DIR/examples/backup.run1.txt.zst" -o n.stn 2>notes &
    pid=$!
    # The first checkpoint is written on the way: then it is learning.
    for ((i = 0; i < 600; i++)); do
        [ ! -e n.stn.checkpoint ] || break
        sleep 0.1
    done
    kill -TERM $pid
    code=0
    wait $pid || code=$?
    [ "$code" = 130 ]
    grep -q 'interrupted; n.stn.checkpoint holds what was learned, for --resume' notes
    [ -s n.stn.checkpoint ]
    [ ! -e n.stn ]
}
