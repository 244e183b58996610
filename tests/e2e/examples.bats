# Every example of the README, of docs/getting-started.md and of the manual is run, in its
# order, in one folder that holds the bundled recordings.

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    ln -s "$STN_SOURCE_DIR/examples" examples
}

# May this example run here? Recording needs root and tracefs, capturing llama.cpp.
possible() {
    case $1 in
    *"llm capture"* | *"llm ops"*)
        standin doctor --json | jq -e '.capabilities[] | select(.name == "llama.cpp").found' >/dev/null
        ;;
    *"kernel record"*) [ "$(id -u)" = 0 ] && grep -q tracefs /proc/filesystems ;;
    *) true ;;
    esac
}

run_line() {
    possible "$1" || { echo "skipped: $1" >&3; return 0; }
    bash -euo pipefail -c "$1" >output 2>&1 || { echo "failed: $1"; cat output; return 1; }
}

# run_page FILE: the lines of its blocks that begin with ```sh; a line that ends with a
# backslash goes on.
run_page() {
    local line
    awk '/^```sh$/ {on = 1; next} /^```/ {on = 0} on' "$1" |
        sed -e ':a' -e '/\\$/{N; s/\\\n *//; ba' -e '}' >commands
    [ -s commands ] || { echo "$1 holds no example"; return 1; }
    while IFS= read -r line <&4; do
        run_line "$line" || return 1
    done 4<commands
}

@test "examples: the README" {
    run_page "$STN_SOURCE_DIR/README.md"
}

@test "examples: docs/getting-started.md" {
    run_page "$STN_SOURCE_DIR/docs/getting-started.md"
}

@test "examples: the manual" {
    standin __examples >commands
    [ "$(wc -l <commands)" -ge 10 ]
    while IFS= read -r line <&4; do
        run_line "$line" || return 1
    done 4<commands
}
