# Checking a part of a trace: the rules see all of it, the filter says what counts.

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    standin kernel convert --quiet "$STN_SOURCE_DIR/examples/backup.run3.txt.zst" whole.csv
    # Every 20th exit from a system call is gone.
    awk -F, '!($5 ~ /^sys_exit_/ && ++n % 20 == 0)' whole.csv >broken.csv
}

setup() {
    cd "$BATS_FILE_TMPDIR" || return 1
}

@test "check: no part of a trace that breaks nothing seems to break a rule" {
    for filter in "--cpu 0" "--cpu 1" "--event sys_exit_*" "--event sched_switch,page_fault_*" \
        "--comm kworker*" "--time 0.3..0.6" "--tid 0"; do
        standin kernel check --json $filter whole.csv >out.json
        jq -e '.violations == 0 and .selected > 0 and .selected < .events and .events == 36000' out.json
    done
}

@test "check: the parts of a broken trace add up to the whole" {
    whole=$(standin kernel check --json broken.csv | jq .violations) || true
    [ "$whole" -gt 100 ]
    sum=0
    selected=0
    for cpu in 0 1; do
        standin kernel check --json --cpu $cpu broken.csv >out.json || [ $? = 3 ]
        sum=$((sum + $(jq .violations out.json)))
        selected=$((selected + $(jq .selected out.json)))
        jq -e --argjson cpu $cpu 'all(.first[]; .cpu == $cpu)' out.json
        jq -e '([.rules[].violations] | add) == .violations' out.json
    done
    [ "$sum" = "$whole" ]
    [ "$selected" = "$(jq .events out.json)" ]
}

@test "check: the exit code is that of what was selected" {
    run standin kernel check --quiet broken.csv
    [ "$status" = 3 ]
    run standin kernel check --quiet --event 'sys_enter_*' broken.csv
    [ "$status" = 3 ]
    run standin kernel check --quiet --event block_rq_issue broken.csv
    [ "$status" = 0 ]
}

@test "check: what is selected is said" {
    standin kernel check --cpu 0 whole.csv | tail -n 1 | grep -qE '^36,000 events, [0-9,]+ selected, 0 violations'
    ! standin kernel check whole.csv | grep -q selected
}
