# standin kernel evaluate: table, JSON, page. The bundled recordings are the three sides: two
# real runs are as good as each other.

setup_file() {
    export RUNS="$STN_SOURCE_DIR/examples"
    export PAGE="$BATS_FILE_TMPDIR/page.html"
    export JSON="$BATS_FILE_TMPDIR/figures.json"
    "$STANDIN" kernel evaluate --json --train "$RUNS/backup.run1.txt.zst" \
        --real "$RUNS/backup.run3.txt.zst" --synthetic "$RUNS/backup.run2.txt.zst" \
        --html "$PAGE" >"$JSON"
}

evaluate() {
    "$STANDIN" kernel evaluate --train "$RUNS/backup.run1.txt.zst" \
        --real "$RUNS/backup.run3.txt.zst" "$@"
}

# Number (or "null") under a path of keys, without a JSON tool: node comes with the browser test.
figure() {
    node -e '
        const value = process.argv[2].split("/").reduce((o, k) => o[k],
            JSON.parse(require("fs").readFileSync(process.argv[1])));
        if (value === undefined) process.exit(1);
        console.log(value);' "$JSON" "$1"
}

@test "evaluate --json has every key that scripts rely on" {
    for key in judges/ngram/trtr_macro_f1 judges/ngram/tstr_macro_f1 \
        judges/ngram/combined_macro_f1 judges/ngram/ratio jsd/1 jsd/2 jsd/3 dt_wasserstein \
        latency_ks/syscall latency_ks/runqueue latency_ks/block verbatim64/synthetic \
        verbatim64/held_out violations_per_1000; do
        run figure "$key"
        [ "$status" = 0 ] || { echo "no $key"; return 1; }
        [[ "$output" =~ ^-?[0-9.e-]+$ ]] || { echo "$key is $output"; return 1; }
    done
    # keys of the contract whose judges are not there yet
    jq -e 'has("discriminator_auc") and has("membership_auc")' "$JSON"
}

@test "evaluate: a real run stands in for a real run" {
    run figure judges/ngram/ratio
    awk -v ratio="$output" 'BEGIN {exit !(ratio > 0.9 && ratio < 1.1)}'
    run figure violations_per_1000
    [ "$output" = 0 ]
    run figure events/synthetic
    [ "$output" = 36000 ]
}

@test "evaluate: the same seed gives the same figures" {
    evaluate --json --synthetic "$RUNS/backup.run2.txt.zst" >"$BATS_TEST_TMPDIR/again.json"
    cmp "$JSON" "$BATS_TEST_TMPDIR/again.json"
}

@test "evaluate prints a table with the verdict" {
    run evaluate --synthetic "$RUNS/backup.run2.txt.zst"
    [ "$status" = 0 ]
    [[ "$output" = *"macro-F1"* ]]
    [[ "$output" = *"3-gram divergence"* ]]
    [[ "$output" = *"Is it original?"* ]]
}

@test "evaluate: the page holds what it needs and fetches nothing" {
    [ -s "$PAGE" ]
    [ "$(grep -c '</html>' "$PAGE")" = 1 ]
    run grep -oE '(src|href|url)[=(]"?[^" )>]+' "$PAGE"
    [ "$output" = 'href="data:,' ]
}

@test "evaluate: no page is left when it cannot be written" {
    run evaluate --synthetic "$RUNS/backup.run2.txt.zst" --html "$BATS_TEST_TMPDIR/no/page.html"
    [ "$status" = 1 ]
    [ ! -e "$BATS_TEST_TMPDIR/no" ]
}

@test "evaluate: a side that is too short is one clear sentence" {
    zstd -dcq "$RUNS/backup.run2.txt.zst" | head -n 40 >"$BATS_TEST_TMPDIR/short.txt"
    run evaluate --quiet --synthetic "$BATS_TEST_TMPDIR/short.txt" \
        --html "$BATS_TEST_TMPDIR/page.html"
    [ "$status" = 1 ]
    [[ "$output" = *"too short to judge"* ]]
    [ ! -e "$BATS_TEST_TMPDIR/page.html" ]
}

@test "evaluate: every plot draws in a browser, hostile names stay text" {
    [ -d "$STN_NODE_PATH/playwright-core" ] || skip "playwright-core is not there"
    [ -x /usr/bin/chromium ] || skip "chromium is not there"
    local hostile="$BATS_TEST_TMPDIR/hostile.txt"
    zstd -dcq "$RUNS/backup.run2.txt.zst" | head -n 20000 |
        sed 's/sqlite3-/<\/script><img src=x onerror=alert(1)>-/' >"$hostile"
    grep -q onerror "$hostile"
    evaluate --quiet --synthetic "$hostile" --html "$BATS_TEST_TMPDIR/hostile.html"
    run node "$STN_SOURCE_DIR/tests/browser/report.mjs" "$PAGE" "$BATS_TEST_TMPDIR/hostile.html"
    echo "$output"
    [ "$status" = 0 ]
}

@test "evaluate says when the held-out run is one of the training runs" {
    ln -sf "$RUNS/backup.run1.txt.zst" "$BATS_TEST_TMPDIR/other_name.txt.zst"
    run "$STANDIN" kernel evaluate --quiet --train "$RUNS/backup.run1.txt.zst" \
        --real "$BATS_TEST_TMPDIR/other_name.txt.zst" --synthetic "$RUNS/backup.run2.txt.zst"
    [ "$status" = 0 ]
    [[ "$output" == *"other_name.txt.zst is with --train and with --real"* ]]
    run "$STANDIN" kernel evaluate --quiet --train "$RUNS/backup.run1.txt.zst" \
        --real "$RUNS/backup.run3.txt.zst" --synthetic "$RUNS/backup.run2.txt.zst"
    [ "$output" = "" ]
}
