#!/bin/bash
# How like real runs generated ones are, workload by workload: learn from runs 1 and 2, generate
# $LIKENESS_EVENTS events with each of $LIKENESS_SEEDS seeds, judge by run 3, which nothing has
# seen. The recordings lie in ../shared/data/kernel; without them nothing is measured.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1
: "${LIKENESS_EVENTS:=100000}" "${LIKENESS_SEEDS:=3}" "${STANDIN:=build/release/standin}"
: "${SEED:=1}" "${DATA:=../shared/data/kernel}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
rows=$scratch/rows
touch "$rows"

for file in "$DATA"/*.run3.txt.zst; do
    [ -e "$file" ] || break
    workload=$(basename "$file" .run3.txt.zst)
    learn=("$DATA/$workload.run1.txt.zst" "$DATA/$workload.run2.txt.zst")
    "$STANDIN" kernel train --quiet "${learn[@]}" -o "$scratch/m.stn"
    for ((seed = SEED; seed < SEED + LIKENESS_SEEDS; seed++)); do
        "$STANDIN" kernel generate --quiet --json --seed $seed "$scratch/m.stn" \
            -n "$LIKENESS_EVENTS" -o "$scratch/synthetic.csv" >"$scratch/generated"
        "$STANDIN" kernel evaluate --quiet --json --train "${learn[@]}" --real "$file" \
            --synthetic "$scratch/synthetic.csv" >"$scratch/judged"
        jq -c --arg workload "$workload" --argjson seed $seed --slurpfile generated "$scratch/generated" \
            '{workload: $workload, seed: $seed, ratio: .judges.ngram.ratio, jsd: .jsd,
              jsd_real: .jsd_real, dt: .dt_wasserstein, dt_real: .dt_wasserstein_real,
              rate: (.rate_synthetic / .rate_real), threads: .thread_share_distance,
              violations_unguided_per_1000: ($generated[0] |
                  1000 * .violations_unguided / .unguided_sample_events),
              violations_per_1000, verbatim: .verbatim64}' "$scratch/judged" >>"$rows"
    done
    tail -n 1 "$rows" | jq -r '"  \(.workload): \(.ratio) of TRTR"' >&2
done

jq -s --arg date "$(date -u +%FT%TZ)" --argjson seed "$SEED" \
    '{benchmark: "kernel-likeness", date: $date, seed: $seed, rows: .}' "$rows" \
    >"$out/kernel-likeness.json"
{
    cat <<'M'
## Kernel traces: how like real runs generated ones are

@stamp@
M
    if [ ! -s "$rows" ]; then
        echo "Not measured: the recordings are not here."
        exit 0
    fi
    [ "$LIKENESS_SEEDS" = 1 ] && seeds="one seed" || seeds="mean of $LIKENESS_SEEDS seeds"
    cat <<M
Markov generator, learned from runs 1 and 2, $LIKENESS_EVENTS events guided by the built-in rules,
$seeds, judged by run 3. Ratio: macro-F1 of the n-gram judge trained on them over
that of one trained on as many real events. In brackets what two real sides differ by.

| workload | ratio | 1-gram divergence | 3-gram divergence | time between events | rate | violations per 1,000 unguided, guided | verbatim 64 |
|---|---:|---:|---:|---:|---:|---:|---:|
M
    jq -s -r 'def mean(f): (map(f) | add / length);
        def r(n): . * pow(10; n) | round / pow(10; n);
        group_by(.workload)[] | [.[0].workload, (mean(.ratio) | r(2)),
        "\(mean(.jsd["1"]) | r(3)) (\(.[0].jsd_real["1"] | r(3)))",
        "\(mean(.jsd["3"]) | r(3)) (\(.[0].jsd_real["3"] | r(3)))",
        "\(mean(.dt) | r(3)) (\(.[0].dt_real | r(3)))", (mean(.rate) | r(2)),
        "\(mean(.violations_unguided_per_1000) | r(1)), \(mean(.violations_per_1000) | r(1))",
        "\(mean(.verbatim.synthetic) * 100 | r(1)) % (\(.[0].verbatim.held_out * 100 | r(1)) %)"]
        | "| " + (map(tostring) | join(" | ")) + " |"' "$rows"
} >"$out/kernel-likeness.md"
