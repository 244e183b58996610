# standin kernel record, for real: needs root and tracefs.

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    instances=/sys/kernel/tracing/instances
    [ "$(id -u)" = 0 ] || skip "recording needs root"
    grep -q tracefs /proc/filesystems || skip "this kernel has no tracefs"
}

# Whatever happened, no instance of a recorder that is gone is left.
teardown() {
    for left in "$instances"/standin-*; do
        [ ! -d "$left" ] || [ -d "/proc/${left##*-}" ] || { echo "left behind: $left"; return 1; }
    done
}

@test "record: trace-cmd and our reader count what the kernel counted" {
    run standin kernel record --json -o a.dat -- sh -c 'for i in 1 2 3; do cat /proc/self/stat >/dev/null; done'
    [ "$status" = 0 ]
    events=$(jq .events <<<"$output")
    [ "$events" -gt 100 ]
    [ "$(jq .lost_events <<<"$output")" = 0 ]
    [ "$(jq .command_exit_code <<<"$output")" = 0 ]
    [ "$(standin kernel info --json a.dat | jq .events)" = "$events" ]
    [ "$(trace-cmd report a.dat 2>/dev/null | grep -vc '^cpus=')" = "$events" ]
}

@test "record: the command's first and last steps are in the trace, the recorder's are not" {
    standin kernel record --quiet -e syscalls,sched -o a.dat -- cat /dev/null
    standin kernel info --json --comm cat a.dat >cat.json
    [ "$(jq '.types.sys_enter_execve // 0' cat.json)" -ge 0 ]
    [ "$(jq .types.sys_enter_exit_group cat.json)" = 1 ]
    [ "$(standin kernel info --json a.dat | jq '.types.sys_enter_execve')" -ge 1 ]
    # In the child's life before exec it bears our name; the parent's polls would be here too.
    [ "$(standin kernel info --json --comm standin a.dat | jq '.types.sys_enter_poll // 0')" = 0 ]
}

@test "record: what is recorded can be converted and read elsewhere" {
    standin kernel record --quiet -d 200ms -o a.dat
    events=$(standin kernel info --json a.dat | jq .events)
    [ "$(standin kernel convert --json --verify a.dat a.ctf | jq .events_out)" = "$events" ]
    [ "$(babeltrace2 a.ctf | wc -l)" = "$events" ]
}

@test "record: the command sees the environment that the caller gave" {
    env -u OMP_WAIT_POLICY standin kernel record --quiet -o a.dat -- env >none
    ! grep -q 'WAIT_POLICY' none
    OMP_WAIT_POLICY=active standin kernel record --quiet -o b.dat -- env >given
    grep -qx 'OMP_WAIT_POLICY=active' given
    ! grep -q 'STANDIN_WAIT_POLICY' given
}

@test "record: -d ends a command that would go on" {
    run timeout 20 standin kernel record --json -d 200ms -e sched -o a.dat -- sh -c 'while :; do :; done'
    [ "$status" = 0 ]
    [ "$(jq .command_signal <<<"$output")" = 15 ]
    jq -e '.seconds >= 0.2 and .seconds < 5' <<<"$output"
}

@test "record: a command that crashes leaves a whole file" {
    run standin kernel record --json -o a.dat -- sh -c 'kill -SEGV $$'
    [ "$status" = 0 ]
    [ "$(jq .command_signal <<<"$output")" = 11 ]
    [ "$(standin kernel info --json a.dat | jq .events)" = "$(jq .events <<<"$output")" ]
}

@test "record: a signal ends it in good order" {
    standin kernel record --json -o a.dat >out.json &
    pid=$!
    for _ in $(seq 100); do
        [ -d "$instances/standin-$pid" ] && [ "$(cat "$instances/standin-$pid/tracing_on")" = 1 ] && break
        sleep 0.05
    done
    sleep 0.2
    kill -TERM $pid
    wait $pid
    [ "$(jq .stopped out.json)" = true ]
    [ "$(standin kernel info --json a.dat | jq .events)" = "$(jq .events out.json)" ]
}

@test "record: a full disk is told with the name of the file" {
    run standin kernel record -o /dev/full -- true
    [ "$status" = 1 ]
    [[ "$output" == *"/dev/full: "*"No space left"* ]]
}

@test "record: interrupting a command is exit code 130 and a whole file" {
    run timeout -s INT 1.5 standin kernel record -o a.dat -- sleep 30
    [[ "$output" == *"interrupted; a.dat is whole"* ]]
    standin kernel info a.dat
}

@test "record: after a recorder was killed the next one cleans up" {
    standin kernel record -o a.dat -d 30s >/dev/null 2>&1 3>&- &
    pid=$!
    for _ in $(seq 100); do
        [ -d "$instances/standin-$pid" ] && break
        sleep 0.05
    done
    kill -KILL $pid
    wait $pid || true
    [ ! -e a.dat ]
    standin kernel record --quiet -d 10ms -e sched -o b.dat
    [ ! -d "$instances/standin-$pid" ]
}

@test "record: a buffer that is too small loses events and says how many" {
    run standin kernel record --json --buffer 16K -o a.dat -- dd if=/dev/zero of=/dev/null bs=1 count=100000 status=none
    [ "$status" = 0 ]
    events=$(jq .events <<<"$output")
    [ "$(standin kernel info --json a.dat | jq .events)" = "$events" ]
    [ "$(trace-cmd report a.dat 2>/dev/null | grep -v '^cpus=' | grep -vc 'EVENTS DROPPED')" = "$events" ]
    if [ "$(jq .lost_events <<<"$output")" -gt 0 ]; then
        [ "$(standin kernel info --json a.dat | jq .lost_events)" -gt 0 ]
    fi
}

@test "record: --cpus runs the command there and records nothing else" {
    run standin kernel record --quiet --cpus 0 -o a.dat -- sh -c 'grep Cpus_allowed_list /proc/self/status | tr -d "\t"'
    [ "$status" = 0 ]
    [ "$output" = "Cpus_allowed_list:0" ]
    [ "$(standin kernel info --json a.dat | jq .cpus)" = 1 ]
}

@test "record: sets, patterns, and words that are neither" {
    standin kernel record --quiet -d 50ms -e 'sched:sched_switch,irq:softirq_*' -o a.dat
    [ -z "$(standin kernel info --json a.dat | jq -r '.types | keys[]' | grep -vE '^(sched_switch|softirq_)')" ]
    run standin kernel record -e shced -o b.dat -- true
    [ "$status" = 2 ]
    [[ "$output" == *'"shced"'*default* ]]
    run standin kernel record -e sched:nothing -o b.dat -- true
    [ "$status" = 2 ]
    [[ "$output" == *"no tracepoint sched:nothing"* ]]
    [ ! -e b.dat ]
}

@test "record: what cannot be: no such command, no such CPU, no such folder" {
    run standin kernel record -o a.dat -- no-such-command
    [ "$status" = 1 ]
    [ "$output" = "standin kernel record: no-such-command: cannot be run: No such file or directory" ]
    run standin kernel record --cpus 4000 -o a.dat -- true
    [ "$status" = 2 ]
    [[ "$output" == *"no CPU 4000"* ]]
    run standin kernel record -o nowhere/a.dat -- touch ran
    [ "$status" = 1 ]
    [[ "$output" == *nowhere/a.dat* ]]
    [ ! -e ran ]
    [ -z "$(ls -A)" ]
}

@test "record: without the rights it says which one is missing and how to get it" {
    command -v setpriv >/dev/null || skip "setpriv not there"
    cp "$STANDIN" "$BATS_TEST_TMPDIR/standin"
    chmod a+rx "$BATS_TEST_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR/.." 2>/dev/null || true
    run setpriv --reuid=65534 --regid=65534 --clear-groups "$BATS_TEST_TMPDIR/standin" kernel record -o a.dat -- true
    [ "$status" = 1 ]
    [ "${#lines[@]}" = 1 ]
    [[ "$output" == *"tracefs"*"root"*"sudo"* ]]
}

@test "record: no room for what was recorded names the output and leaves nothing" {
    run bash -c 'trap "" XFSZ; ulimit -f 64; exec standin kernel record -o a.dat -- sleep 0.2'
    [ "$status" = 1 ]
    # while it records, or, of few events, when it puts them together
    [ "${#lines[@]}" = 1 ]
    [[ "$output" == "standin kernel record: a.dat: "*"File too large"* ]]
    [ -z "$(ls -A)" ]
}
