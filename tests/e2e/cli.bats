# The command line itself: version, help, man pages, completion, exit codes.

@test "cli: --version names the version" {
    run standin --version
    [ "$status" = 0 ]
    [[ "$output" =~ ^standin\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}

@test "cli: without a word it says what there is" {
    run standin
    [ "$status" = 0 ]
    [[ "$output" == *"standin kernel:"* ]]
}

@test "cli: every command that help lists has help of its own and a man page" {
    mkdir "$BATS_TEST_TMPDIR/man"
    standin __man "$BATS_TEST_TMPDIR/man"
    count=0
    for name in $(standin help kernel | awk '/^commands:/ {on = 1; next} /^$/ {on = 0} on && /^  [a-z]/ {print $1}'); do
        run standin help kernel "$name"
        [ "$status" = 0 ]
        [[ "$output" == "standin kernel $name: "* ]]
        run standin kernel "$name" --help
        [ "$status" = 0 ]
        [ -s "$BATS_TEST_TMPDIR/man/standin-kernel-$name.1" ]
        count=$((count + 1))
    done
    [ "$count" -ge 4 ]
}

@test "cli: groff has nothing to say against the man pages" {
    command -v groff >/dev/null || skip "groff not there"
    mkdir "$BATS_TEST_TMPDIR/man"
    standin __man "$BATS_TEST_TMPDIR/man"
    for page in "$BATS_TEST_TMPDIR"/man/*.1; do
        run groff -man -ww -Tutf8 -z "$page"
        [ "$status" = 0 ]
        [ -z "$output" ] || { echo "$page: $output"; return 1; }
    done
}

@test "cli: completion offers commands, options and formats" {
    standin __completion bash >"$BATS_TEST_TMPDIR/standin.bash"
    complete_at() { # COMP_CWORD, words…
        bash -c '. "$1"; shift; COMP_CWORD=$1; shift; COMP_WORDS=("$@"); _standin; echo "${COMPREPLY[*]}"' \
            - "$BATS_TEST_TMPDIR/standin.bash" "$@"
    }
    [ "$(complete_at 1 standin doc)" = doctor ]
    [ "$(complete_at 2 standin kernel inf)" = info ]
    [ "$(complete_at 3 standin kernel info --js)" = --json ]
    [ "$(complete_at 4 standin kernel convert --to ct)" = ctf ]
    [ "$(complete_at 2 standin help ker)" = kernel ]
    [ "$(complete_at 3 standin help kernel inf)" = info ]
}

@test "cli: completion for zsh and fish is written, for others refused" {
    standin __completion zsh | grep -q '^#compdef standin'
    standin __completion fish | grep -q '^complete -c standin'
    run standin __completion tcsh
    [ "$status" = 2 ]
}

@test "cli: docs/cli says what the table of commands says" {
    mkdir "$BATS_TEST_TMPDIR/cli"
    standin __markdown "$BATS_TEST_TMPDIR/cli"
    diff -r "$STN_SOURCE_DIR/docs/cli" "$BATS_TEST_TMPDIR/cli" ||
        { echo "run scripts/docs_update.sh"; return 1; }
}

@test "cli: a full disk is told with the name of the output" {
    for words in "convert --to csv $STN_SOURCE_DIR/tests/golden/tiny.txt" "repair --to csv $STN_SOURCE_DIR/tests/golden/tiny.txt -o" \
        "mine $STN_SOURCE_DIR/tests/golden/tiny.txt -o"; do
        run standin kernel $words /dev/full
        [ "$status" = 1 ]
        [[ "$output" == *": /dev/full: "*"No space left"* ]]
    done
}

@test "cli: a full disk is an error, a reader that went away is not worth a word" {
    run bash -c 'standin help >/dev/full'
    [ "$status" = 1 ]
    [[ "$output" == *"No space left on device"* ]]
    run bash -c 'standin kernel info --json "$1" 2>&1 >&- | cat' - "$STN_SOURCE_DIR/tests/golden/tiny.txt"
    [[ "$output" == *"standard output"* ]]
    run bash -c 'set -o pipefail; for i in 1 2 3; do standin help kernel record; done | head -n 1; exit 0'
    [ "$output" = "$(standin help kernel record | head -n 1)" ]
}

@test "cli: a word of the wrong kind is exit code 2 and one sentence" {
    for line in "kernle" "kernel inof" "kernel info" "kernel info --jsno x" "kernel info --time 3..1 x" \
        "kernel convert x" "kernel convert x y --to zzz" "kernel info --cpu 70000 x" "help nothing"; do
        # shellcheck disable=SC2086 # words on purpose
        run standin $line
        [ "$status" = 2 ] || { echo "$line: $status"; return 1; }
        [ "${#lines[@]}" = 2 ] || { echo "$line: $output"; return 1; }
        [[ "${lines[0]}" == standin*:* ]]
        [[ "${lines[1]}" == "try: standin "* ]]
    done
}
