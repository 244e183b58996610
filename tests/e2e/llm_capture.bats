# standin llm capture: models, any program, what it cannot do.

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    tiny=$STN_SOURCE_DIR/examples/tiny-llama.json
    engine=$STN_SOURCE_DIR/build/engine
}

# Skip unless llama.cpp can be used.
need_llama() {
    standin llm model "$tiny" -o try.gguf --weights none --verify -q 2>why ||
        skip "llama.cpp: $(cat why)"
}

# A program of its own, dynamically linked with llama.cpp.
build_program() {
    [ -f "$engine/VERSION" ] || skip "llama.cpp is installed: no known folder to link with"
    cc -O1 -isystem "$engine/include" "$STN_SOURCE_DIR/tests/e2e/ggml_program.c" -o program \
        -L"$engine/lib" -l:libllama.v0.5.0.so -l:libggml.v0.5.0.so -l:libggml-base.so \
        -Wl,-rpath,"$engine/lib"
    standin llm model "$tiny" -o tiny.gguf -q
}

@test "llm capture: a config.json and its model give the same graph" {
    need_llama
    standin llm capture --json "$tiny" -o a.json >said
    [ "$(jq -c '[.unknown_dims, .passes_checked >= 2, .operations, .seconds < 10]' said)" = '[0,true,19,true]' ]
    [ "$(jq '.peak_rss_bytes < 1e9' said)" = true ]
    standin llm model "$tiny" -o m.gguf --weights none -q
    standin llm capture m.gguf -o b.json -q
    diff <(jq -c '.nodes' a.json) <(jq -c '.nodes' b.json)
    [ "$(jq '[.nodes[] | select(.inputs)] | length' a.json)" = "$(jq .nodes said)" ]
    [ "$(jq '.operations | length' a.json)" = "$(jq .operations said)" ]
    [ "$(jq -r '.nodes[] | select(.name == "result_output") | .dims | join(" ")' a.json)" = "n_vocab n_outputs" ]
    [ -z "$(find . "${TMPDIR:-/tmp}" -maxdepth 1 -name 'standin-??????' -newer said)" ]
}

@test "llm capture: the sizes asked for are those of the pass" {
    need_llama
    standin llm capture "$tiny" --tokens 10 --seqs 2 --kv 300 --outputs 4 -o t.json -q
    [ "$(jq -c '[.labels[] | select(.origin == "request") | {(.name): .value}] | add' t.json)" = \
        '{"n_tokens":10,"n_outputs":4,"n_kv":512,"n_seqs":2}' ]
    [ "$(jq -r .phase t.json)" = prefill ]
    # decode: a token of each sequence
    standin llm capture "$tiny" --tokens 2 --seqs 2 --outputs 2 -o d.json -q
    [ "$(jq -r .phase d.json)" = decode ]
    diff <(jq -c '.nodes[].dims' t.json) <(jq -c '.nodes[].dims' d.json)
}

@test "llm capture: a full cache takes no longer file" {
    need_llama
    standin llm capture "$tiny" --kv 30000 -o t.json --json >said
    [ "$(jq -c '[.passes, .unknown_dims, .peak_rss_bytes < 5e8]' said)" = '[3,0,true]' ]
    [ "$(jq '.labels[] | select(.name == "n_kv").value' t.json)" = 30208 ]
}

@test "llm capture: DeepSeek-V3 in seconds and under 1 GB" {
    need_llama
    config=$STN_SOURCE_DIR/../shared/data/llm/configs/deepseek-ai--DeepSeek-V3.json
    [ -f "$config" ] || skip "../shared not there"
    standin llm capture --json "$config" >said
    [ "$(jq -c '[.unknown_dims, .seconds < 30, .peak_rss_bytes < 1e9]' said)" = '[0,true,true]' ]
}

@test "llm capture: any program, which runs as it would alone" {
    need_llama
    build_program
    alone=$(./program tiny.gguf "$engine/lib" 2>/dev/null)
    watched=$(standin llm capture -q -o t.json -- ./program tiny.gguf "$engine/lib" 2>/dev/null)
    [ "$alone" = "$watched" ]
    [ "$(jq -c '[.architecture, (.unknown | length)]' t.json)" = '["llama",0]' ]
    [ "$(jq -c '.labels[] | select(.name == "n_tokens").value' t.json)" = 20 ]
    standin llm capture "$tiny" -o model.json -q

    # the same work as the model's own, whose sequences have caches of their own
    diff <(jq -r '.nodes[].op' t.json) <(jq -r '.nodes[].op' model.json) >differ || true
    [ "$(grep '^[<>]' differ | sort -u)" = '> RESHAPE' ]
    # one output of experts: a 1 among others, which another pass of the same file tells apart
    standin llm model "$STN_SOURCE_DIR/tests/fuzz/corpus/config/deepseek_v3.json" -o moe.gguf -q
    standin llm capture -q -o moe.json -- ./program moe.gguf "$engine/lib" >/dev/null 2>&1
    [ "$(jq -c '[(.unknown | length), (.labels[] | select(.name == "n_outputs").value)]' moe.json)" = '[0,1]' ]
    [ "$(jq -r '.nodes[] | select(.name == "ffn_moe_probs-2 (reshaped)").dims | join(" ")' moe.json)" = "1 n_expert n_outputs" ]
    standin llm capture --skip --json -- ./program tiny.gguf "$engine/lib" 2>/dev/null |
        tail -n +2 | jq -e '.passes >= 2'
}

@test "llm capture: a program that loads llama.cpp for itself alone" {
    need_llama
    standin llm capture --json -o t.json -- "$STN_BUILD_DIR/tests/test_engine_llama" >said 2>/dev/null
    [ "$(sed -n '/^{$/,$p' said | jq -c '[.passes > 1, .architecture != ""]')" = '[true,true]' ]
}

@test "llm capture: what cannot be captured is said, and nothing is left" {
    need_llama
    printf 'GGUF and nothing behind it' >bad.gguf
    run standin llm capture bad.gguf -o t.json
    [ "$status" = 3 ]
    [ "${#lines[@]}" = 1 ]
    [[ "$output" == *"bad.gguf: llama.cpp refuses it: "* ]]
    # metadata is whole, tensors are cut
    standin llm model "$tiny" -o m.gguf -q
    head -c 20000 m.gguf >cut.gguf
    run standin llm capture cut.gguf -o t.json
    [ "$status" = 3 ]
    [ "${#lines[@]}" = 1 ]
    [[ "$output" == *"cut.gguf: llama.cpp "* ]]
    run standin llm capture -o t.json -- true
    [ "$status" = 3 ]
    [[ "$output" == *"true: it had no graph computed through a shared ggml"* ]]
    run standin llm capture -o t.json -- no-such-program
    [ "$status" = 1 ]
    [[ "$output" == *"no-such-program: no such program" ]]
    printf 'int main(void){return 0;}\n' >s.c
    if cc -static s.c -o static 2>/dev/null; then
        run standin llm capture -o t.json -- ./static
        [ "$status" = 1 ]
        [[ "$output" == *"./static: is a static program: nothing can be put before its functions"* ]]
    fi
    run env STANDIN_LLAMA="$PWD" standin llm capture "$tiny" -o t.json
    [ "$status" = 1 ]
    [ "${#lines[@]}" = 1 ]
    [[ "$output" == *"STANDIN_LLAMA=$PWD: holds no libllama that loads" ]]
    cp "$STANDIN" lonely
    run ./lonely llm capture "$tiny" -o t.json
    [ "$status" = 1 ]
    [[ "$output" == *"libstandin-ggml.so is not beside the program"* ]]
    [ ! -e t.json ]
}

@test "llm capture: wrong use" {
    for words in "" "$tiny -- true" "$tiny --skip" "--tokens 3 -- true" "$tiny --seqs 65"; do
        # shellcheck disable=SC2086
        run standin llm capture $words
        [ "$status" = 2 ]
    done
    run standin llm capture "$tiny" --tokens 10 --seqs 3
    [ "$status" = 2 ]
    [[ "$output" == *"10 tokens of 3 sequences: expected a multiple"* ]]
}
