# standin llm model: sizes on the disk, time, what a failure leaves behind.

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    tiny=$STN_SOURCE_DIR/examples/tiny-llama.json
}

# Skip unless llama.cpp can be used.
need_llama() {
    standin llm model "$tiny" -o try.gguf --weights none --verify -q 2>why ||
        skip "llama.cpp: $(cat why)"
}

@test "llm model: a model of any size takes no disk and no time" {
    # 1.3 T parameters.
    jq '.num_hidden_layers = 200 | .hidden_size = 16384 | .num_attention_heads = 128 |
        .num_key_value_heads = 8 | .intermediate_size = 120000' "$tiny" >large.json
    begin=$(date +%s%N)
    standin llm model large.json -o large.gguf --weights none --json >said
    [ $((($(date +%s%N) - begin) / 1000000)) -lt 1000 ]
    [ "$(jq '.parameters > 1e12' said)" = true ]
    [ "$(stat -c %s large.gguf)" = "$(jq .bytes said)" ]
    [ "$(du -k large.gguf | cut -f1)" -lt 1024 ]
    [ "$(jq .disk_bytes said)" = $(($(stat -c '%b * %B' large.gguf))) ]
}

@test "llm model: real configs take no disk and no time" {
    configs=$STN_SOURCE_DIR/../shared/data/llm/configs
    [ -d "$configs" ] || skip "../shared not there"
    for config in "$configs"/*.json; do
        begin=$(date +%s%N)
        standin llm model "$config" -o m.gguf --weights none -q
        [ $((($(date +%s%N) - begin) / 1000000)) -lt 1000 ]
        [ "$(du -k m.gguf | cut -f1)" -lt 1024 ]
    done
    [ "$(standin llm model "$configs/deepseek-ai--DeepSeek-V3.json" -o m.gguf --weights none --json |
        jq .parameters)" = 671026419200 ]
}

@test "llm model: llama.cpp loads what was written" {
    need_llama
    for quant in q8_0 q4_0 f16 bf16; do
        run standin llm model "$tiny" -o m.gguf --quant $quant --verify
        [ "$status" = 0 ]
        [[ "${lines[3]}" == "llama.cpp   loads it: llama "*", 4 layers, 1000 words" ]]
        [ "$(standin llm model "$tiny" -o m.gguf --quant $quant --verify --json | jq .verified)" = true ]
    done
}

@test "llm model: the doctor says where llama.cpp is, and that a folder lacks it" {
    need_llama
    row=$(standin doctor --json | jq -r '.capabilities[] | select(.name == "llama.cpp") | "\(.found) \(.version)"')
    [[ "$row" =~ ^true\ [0-9]+\.[0-9]+.*,\ .*libllama ]]
    row=$(STANDIN_LLAMA=$PWD standin doctor --json | jq -r '.capabilities[] | select(.name == "llama.cpp") | "\(.found) \(.why)"')
    [[ "$row" == "false STANDIN_LLAMA=$PWD: holds no libllama"* ]]
}

@test "llm model: what cannot be written leaves nothing, an older file stays" {
    echo old >m.gguf
    jq '.num_hidden_layers = 500 | .hidden_size = 65536 | .num_attention_heads = 512 |
        .num_key_value_heads = 8' "$tiny" >large.json
    run standin llm model large.json -o m.gguf
    [ "$status" = 1 ]
    [ "${#lines[@]}" = 1 ]
    [[ "$output" == *"m.gguf: random weights take "*" GB and the disk has "* ]]
    [ "$(cat m.gguf)" = old ]
    run standin llm model "$tiny" -o nowhere/m.gguf
    [ "$status" = 1 ]
    run standin llm model "$tiny" -o /dev/full
    [ "$status" = 1 ]
    [[ "$output" == *"/dev/full: "*"No space left"* ]]
    [ "$(find . -name '.?*' ! -name . | wc -l)" = 0 ]
}
