# Models from a config.json: what is said of them, and what is refused.
configs=$GOLDEN/../fuzz/corpus/config
cp "$configs"/* "$EXAMPLES/tiny-llama.json" .
for config in *.json; do
    $STANDIN llm model "$config" -o m.gguf --weights none --json | sed '/disk_bytes/d' # as the file system likes
done
$STANDIN llm model tiny-llama.json -o tiny.gguf --quant f16 --seed 3 | head -n 2
for config in bert nested cut list empty huge wide nothing.json; do
    $STANDIN llm model "$config" -o bad.gguf --weights none
    echo "exit $?"
done
for words in "--quant q8_1" "--weights some" "--output -" "--output tiny-llama.json" "--output m.gguf.zst"; do
    $STANDIN llm model tiny-llama.json --output bad.gguf --weights none $words
    echo "exit $?"
done
STANDIN_LLAMA=/nowhere $STANDIN llm model tiny-llama.json -o bad.gguf --verify
echo "exit $?"
ls
