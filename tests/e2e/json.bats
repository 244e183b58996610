# docs/json.md says what --json prints: every key of it is there, and no other.

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    runs=$STN_SOURCE_DIR/examples/backup
    standin kernel convert --quiet --time ..0.3 "$runs.run3.txt.zst" in.csv
    standin kernel train --quiet "$runs.run1.txt.zst" -o m.stn
}

setup() {
    cd "$BATS_FILE_TMPDIR" || return 1
}

# The keys that the page has for the command "$*", one a line.
documented() {
    awk -v head="## standin $*" '/^## /{on = $0 == head} on && /^\| `/' "$STN_SOURCE_DIR/docs/json.md" |
        sed 's/^| \(`[^|]*`\) |.*/\1/' | grep -o '`[^`]*`' | tr -d '`'
}

# same COMMAND… -- WORDS…: what the command prints has the keys of its section, top and nested.
same() {
    local command=()
    while [ "$1" != -- ]; do command+=("$1"); shift; done
    standin "${command[@]}" --json "${@:2}" >out.json
    documented "${command[@]}" >keys
    [ -s keys ] || { echo "docs/json.md has nothing on ${command[*]}"; return 1; }
    diff <(grep -v '[.]' keys | sort) <(jq -r 'keys[]' out.json | sort)
    local key
    while read -r key; do
        jq -e --arg key "$key" '
            reduce ($key | gsub("\\[\\]"; ".[]") | split("."))[] as $part ([., true];
                if .[1] | not then .
                elif $part == "[]" then [.[0][0], (.[0] | length > 0)]
                else [.[0][$part]?, (.[0] | type == "object" and has($part))] end)
            | .[1]' out.json >/dev/null || { echo "no key $key"; return 1; }
    done < <(grep '[.]' keys)
}

@test "json: the page has a section for every command of kernel that prints JSON" {
    for name in $(standin help kernel | awk '/^commands:/ {on = 1; next} /^$/ {on = 0} on && /^  [a-z]/ {print $1}'); do
        standin help kernel "$name" | grep -q -- --json || continue
        [ -n "$(documented kernel "$name")" ] || { echo "nothing on $name"; return 1; }
    done
}

@test "json: doctor, formats, info, convert, check, mine" {
    same doctor --
    same kernel formats --
    same kernel info -- in.csv
    same kernel convert -- in.csv out.txt
    same kernel convert -- --max-events 50 in.csv out.json.zst
    same kernel check -- in.csv
    same kernel mine -- in.csv -o out.rules
}

@test "json: train, generate, repair, of both kinds" {
    same kernel train -- in.csv -o n.stn
    same kernel train -- --kind diffusion --steps 2 --context 64 in.csv -o d.stn
    for model in m.stn d.stn; do
        same kernel generate -- $model -n 500
        same kernel generate -- $model -n 500 --unguided --rate 2x
        same kernel repair -- in.csv --model $model --hole 0.1..0.12 -o out.csv
    done
    documented kernel repair | grep -v 'holes\[' >plain
    standin kernel repair --json in.csv -o out.csv >out.json
    diff <(sort plain) <(jq -r 'keys[]' out.json | sort)
}

@test "json: evaluate" {
    same kernel evaluate -- --train in.csv --real in.csv --synthetic in.csv
}

@test "json: llm ops, llm capture" {
    same llm ops -- "$STN_SOURCE_DIR/tests/fuzz/corpus/opgraph/llama"
    standin doctor --json | jq -e '.capabilities[] | select(.name == "llama.cpp").found' >/dev/null ||
        skip "llama.cpp is not there"
    same llm capture -- "$STN_SOURCE_DIR/examples/tiny-llama.json"
}

@test "json: record" {
    [ "$(id -u)" = 0 ] && [ -d /sys/kernel/tracing/instances ] || skip "recording needs root and tracefs"
    documented kernel record >keys
    standin kernel record --json -o a.dat -- true >out.json
    diff <(sort keys) <(jq -r 'keys[]' out.json | sort)
    standin kernel record --json -d 20ms -o a.dat >out.json
    diff <(grep -v ^command_ keys | sort) <(jq -r 'keys[]' out.json | sort)
}

@test "json: db ls, show, merge, export, check" {
    export STANDIN_DB=$STN_SOURCE_DIR/examples/latency.db
    same db ls --
    same db show -- 26a2
    same db export -- -o rows.csv
    same db check --
    cp "$STANDIN_DB" other.db
    chmod u+w other.db
    sqlite3 other.db "UPDATE latency SET count=count+1"
    same db merge -- "$STANDIN_DB" other.db -o all.db
    [ "$(jq '[.conflicts, .replaced, (.conflict_list | length)] | unique | .[]' out.json)" = 9 ]
}
