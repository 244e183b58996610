# standin doctor: what is found, and the one command that adds what is not.

@test "doctor: names every capability, found or not, and how to get it" {
    run standin doctor --json
    [ "$status" = 0 ]
    names=$(jq -r '.capabilities[].name' <<<"$output" | paste -sd,)
    [ "$names" = "live tracing,CTF,trace.dat,OpenBLAS,SQLite,PostgreSQL,llama.cpp,DuckDB,MPI" ]
    [ "$(jq '[.capabilities[] | select((.found | type) == "boolean" and (.how | length) > 0)] | length' <<<"$output")" = 9 ]
    [ "$(jq -r '.capabilities[] | select(.name == "CTF") | .version' <<<"$output")" = \
        "babeltrace2 $(babeltrace2 --version | grep -o '[0-9]*\.[0-9]*\.[0-9]*' | head -n 1)" ]
}

@test "doctor: one line each; what is missing comes with its command" {
    run standin doctor
    [ "$status" = 0 ]
    [ "${#lines[@]}" = 9 ]
    for line in "${lines[@]}"; do
        [[ "$line" == *" found "* || "$line" == *" missing "*": "* ]]
    done
}

@test "doctor: libraries that cannot be loaded are missing, not an error" {
    # A folder that shadows the libraries with files that are none.
    for name in libopenblas.so.0 libpq.so.5; do
        echo "not a library" >"$BATS_TEST_TMPDIR/$name"
    done
    run env LD_LIBRARY_PATH="$BATS_TEST_TMPDIR" standin doctor --json
    [ "$status" = 0 ]
    [ "$(jq '.capabilities[] | select(.name == "OpenBLAS" or .name == "PostgreSQL") | .found' <<<"$output" | sort -u)" = false ]
}

@test "doctor: without rights live tracing is missing, with the advice that record gives" {
    [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || skip "needs root to drop it"
    cp "$STANDIN" "$BATS_FILE_TMPDIR/standin"
    chmod -R a+rX "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR" 2>/dev/null || true
    run setpriv --reuid=65534 --regid=65534 --clear-groups "$BATS_FILE_TMPDIR/standin" doctor
    [ "$status" = 0 ] || skip "the program cannot be reached without rights"
    [[ "${lines[0]}" == "live tracing  missing"*"root"* ]]
    advice=${lines[0]##*: }
    [ "$advice" = "run it as root, for example with sudo" ]
    run setpriv --reuid=65534 --regid=65534 --clear-groups "$BATS_FILE_TMPDIR/standin" doctor --json
    [ "$(jq -r '.capabilities[0].how' <<<"$output")" = "$advice" ]
    run setpriv --reuid=65534 --regid=65534 --clear-groups "$BATS_FILE_TMPDIR/standin" \
        kernel record -o /dev/shm/never.dat -- true
    [ "$status" = 1 ]
    [[ "$output" == *": $advice" ]]
}
