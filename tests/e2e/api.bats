# The example of the C interface compiles against the public headers and counts as info does.

@test "api: examples/api/read.c counts switches as info does" {
    cd "$BATS_TEST_TMPDIR"
    gcc -std=c17 -Wall -Wextra -Wpedantic -Werror -I"$STN_SOURCE_DIR/include" \
        "$STN_SOURCE_DIR/examples/api/read.c" -L"$STN_BUILD_DIR" -lstandin -o read
    export LD_LIBRARY_PATH=$STN_BUILD_DIR
    trace=$STN_SOURCE_DIR/examples/backup.run3.txt.zst
    run ./read "$trace"
    [ "$status" = 0 ]
    standin kernel info --json "$trace" >info.json
    [ "${lines[0]}" = "ftrace, $(jq .events info.json) events, 0 lost" ]
    sum=$(awk '/^CPU/ {n += $3} END {print n}' <<<"$output")
    [ "$sum" = "$(jq .types.sched_switch info.json)" ]
    run ./read nothing.dat
    [ "$status" = 1 ]
    [ "$output" = "read: nothing.dat: No such file or directory" ]
}
