# standin llm ops: table, JSON, picture, what two graphs share.

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    graph=$STN_SOURCE_DIR/tests/fuzz/corpus/opgraph/llama
}

@test "llm ops: the table has a line for each distinct operation" {
    standin llm ops "$graph" >table
    [ "$(wc -l <table)" = 20 ]
    [ "$(sed 's/  */ /g' table | grep -c '^gemm 4 0-1 MUL_MAT q8_0\[64,64\] f32\[64,n_tokens\] -> f32\[64,n_tokens\]$')" = 1 ]
    [ "$(standin llm ops --json "$graph" | jq -c '[(.operations | length), ([.operations[].count] | add) == .nodes, .architecture]')" = '[19,true,"llama"]' ]
    [ "$(standin llm ops --json "$graph" | jq -c '[.operations[].signature]')" = "$(jq -c '[.operations[].signature]' "$graph")" ]
}

@test "llm ops: what two graphs share" {
    # the same model with another feed-forward
    jq '.nodes |= map(.dims |= map(gsub("n_ff"; "2*n_ff")))' "$graph" >wide.json
    standin llm ops --diff --json "$graph" wide.json >said
    [ "$(jq -c '[(.shared | length), (.only_a | length), (.only_b | length)]' said)" = '[13,6,6]' ]
    [ "$(jq -c '.only_b[0].signature' said)" = '"MUL_MAT q8_0[64,192] f32[64,n_tokens] -> f32[192,n_tokens]"' ]
    run standin llm ops --diff "$graph" wide.json
    [ "${lines[0]}" = "in both: 13 operations, 31 of 39 nodes of $graph, 31 of 39 of wide.json" ]
    run standin llm ops --diff "$graph" "$graph"
    [[ "$output" == *"only in $graph: 0"* ]]
}

@test "llm ops: as one of several ranks" {
    standin llm ops --json --tp 2 --pp 2 "$graph" -o part.json >said
    [ "$(jq -c '[.operations[] | select(.kind == "collective") | {(.signature): .count}] | add' said)" = \
        '{"ALL_REDUCE f32[64,n_tokens] -> f32[64,n_tokens]":3,"SEND_RECV f32[64,n_tokens] -> f32[64,n_tokens]":1,"ALL_REDUCE f32[64,n_outputs] -> f32[64,n_outputs]":2,"ALL_GATHER f32[128,n_outputs] -> f32[256,n_outputs]":1}' ]
    [ "$(jq -c '[.nodes[].stage // 0] | max' part.json)" = 1 ]
    [ "$(jq -r '.nodes[] | select(.name == "blk.0.ffn_up.weight").dims | join(" ")' part.json)" = "n_embd n_ff/tp" ]
    run standin llm ops part.json --tp 2
    [ "$status" = 2 ]
    [[ "${lines[0]}" == *"part.json: is sharded already" ]]
    run standin llm ops "$graph" --tp 3 -o no.json
    [ "$status" = 2 ]
    [[ "${lines[0]}" == *"n_head 4 cannot be cut for 3 ranks" ]]
    [ ! -e no.json ]
}

@test "llm ops: the picture fetches nothing and names are text" {
    jq '.model = "<script>alert(1)</script>"' "$graph" >odd.json
    standin llm ops odd.json --html page.html
    ! grep -q '<script' page.html
    grep -q "default-src 'none'" page.html
    [ "$(grep -c '<g><title>' page.html)" = 19 ]
}

@test "llm ops: wrong files and wrong use" {
    run standin llm ops "$STN_SOURCE_DIR/tests/fuzz/corpus/opgraph/cut"
    [ "$status" = 1 ]
    [ "${#lines[@]}" = 1 ]
    run standin llm ops nowhere.json
    [ "$status" = 1 ]
    [[ "$output" == *"nowhere.json: No such file or directory" ]]
    echo '{}' >not.json
    run standin llm ops not.json --html page.html
    [[ "$output" == *'not.json: is no op graph: expected "format": "standin-opgraph"' ]]
    [ ! -e page.html ]
    for words in "$graph $graph" "--diff $graph" "--diff $graph $graph --html x.html"; do
        # shellcheck disable=SC2086
        run standin llm ops $words
        [ "$status" = 2 ]
    done
    cp "$graph" own.json
    run standin llm ops own.json --html own.json
    [ "$status" = 2 ]
}
