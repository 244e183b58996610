#!/bin/bash
# The neural kind beside the Markov one: learn from runs 1 and 2 of each of $DIFFUSION_WORKLOADS,
# the network with a budget of $DIFFUSION_BUDGET, generate as many events as run 3 holds with each of
# $DIFFUSION_SEEDS seeds, judge by run 3, which nothing has seen. Then what it costs: events a
# second on one core and on two, memory of training at context 4096, what the rules and
# repair had to do. The recordings lie in ../shared/data/kernel; without them nothing is measured.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1
: "${DIFFUSION_WORKLOADS:=redis scimark fio_randrw build}" "${DIFFUSION_BUDGET:=4m}"
: "${DIFFUSION_SEEDS:=2}" "${STANDIN:=build/release/standin}"
: "${SEED:=1}" "${DATA:=../shared/data/kernel}"
export OMP_NUM_THREADS=1 # a network for one trace is too small to share
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
rows=$scratch/rows
touch "$rows"

# judge KIND SEED: a trace of that model, and what the judges say of it.
judge() {
    "$STANDIN" kernel generate --quiet --json --seed "$2" "$scratch/$1.stn" -n "$events" \
        -o "$scratch/synthetic.csv" >"$scratch/generated"
    "$STANDIN" kernel evaluate --quiet --json --train "${learn[@]}" --real "$real" \
        --synthetic "$scratch/synthetic.csv" >"$scratch/judged"
    jq -c --arg workload "$workload" --arg kind "$1" --argjson seed "$2" \
        --slurpfile generated "$scratch/generated" --slurpfile trained "$scratch/$1.json" '
        $generated[0] as $g | {workload: $workload, kind: $kind, seed: $seed,
            ratio: .judges.ngram.ratio, jsd, jsd_real, dt: .dt_wasserstein,
            dt_real: .dt_wasserstein_real, rate: (.rate_synthetic / .rate_real),
            verbatim: .verbatim64, events: $g.events, events_per_s: $g.events_per_s,
            unguided_per_1000: (1000 * $g.violations_unguided / $g.unguided_sample_events),
            guided_per_1000: (1000 * $g.violations_guided / $g.events),
            repaired: $g.violations_after_repair, edited: ($g.events_edited / $g.events),
            train_s: $trained[0].seconds, train_peak_bytes: $trained[0].peak_rss_bytes,
            valid_loss: $trained[0].valid_loss}' "$scratch/judged" >>"$rows"
}

# Events a second of two traces at once, each on its core.
two_cores() {
    local seed
    for seed in 1 2; do
        "$STANDIN" kernel generate --quiet --json --seed $seed "$scratch/diffusion.stn" -n "$events" \
            >"$scratch/two.$seed" &
    done
    wait
    jq -s 'map(.events_per_s) | add' "$scratch"/two.[12]
}

for workload in $DIFFUSION_WORKLOADS; do
    real=$DATA/$workload.run3.txt.zst
    [ -e "$real" ] || continue
    learn=("$DATA/$workload.run1.txt.zst" "$DATA/$workload.run2.txt.zst")
    events=$("$STANDIN" kernel info --quiet --json "$real" | jq .events)
    "$STANDIN" kernel train --quiet --json "${learn[@]}" -o "$scratch/markov.stn" >"$scratch/markov.json"
    "$STANDIN" kernel train --quiet --json --kind diffusion --budget "$DIFFUSION_BUDGET" "${learn[@]}" \
        -o "$scratch/diffusion.stn" >"$scratch/diffusion.json"
    for ((seed = SEED; seed < SEED + DIFFUSION_SEEDS; seed++)); do
        judge markov $seed
        judge diffusion $seed
    done
    # memory does not hang on how long it goes on
    long=$("$STANDIN" kernel train --quiet --json --kind diffusion --context 4096 --steps 3 \
        "${learn[@]}" -o "$scratch/long.stn" | jq .peak_rss_bytes)
    jq -nc --arg workload "$workload" --argjson two "$(two_cores)" --argjson long "$long" \
        '{workload: $workload, kind: "cost", events_per_s_two: $two, peak_bytes_4096: $long}' >>"$rows"
    jq -s -r --arg workload "$workload" 'map(select(.workload == $workload and .jsd)) | group_by(.kind)[]
        | "  \($workload), \(.[0].kind): 3-gram divergence \(map(.jsd["3"]) | add / length)"' "$rows" >&2
done

jq -s --arg date "$(date -u +%FT%TZ)" --argjson seed "$SEED" --arg budget "$DIFFUSION_BUDGET" \
    '{benchmark: "kernel-diffusion", date: $date, seed: $seed, budget: $budget, rows: .}' "$rows" \
    >"$out/kernel-diffusion.json"
{
    cat <<'M'
## Kernel traces: the neural generator beside the Markov one

@stamp@
M
    if [ ! -s "$rows" ]; then
        echo "Not measured: the recordings are not here."
        exit 0
    fi
    cat <<M
Learned from runs 1 and 2, the network in $DIFFUSION_BUDGET on one core; as many events as run 3 holds, guided
by the built-in rules, mean of $DIFFUSION_SEEDS seeds, judged by run 3. Ratio: macro-F1 of the n-gram judge
trained on them over that of one trained on as many real events. In brackets the bar: 1.5 times
what two real sides differ by. Load when this ended: $(cut -d' ' -f1 /proc/loadavg).

| workload | kind | ratio | 1-gram divergence | 2-gram | 3-gram | time between events | rate | verbatim 64 (held-out run) |
|---|---|---:|---:|---:|---:|---:|---:|---:|
M
    jq -s -r 'def mean(f): (map(f) | add / length);
        def r(n): . * pow(10; n) | round / pow(10; n);
        def jsd(n): "\(mean(.jsd[n]) | r(3)) (\(.[0].jsd_real[n] * 1.5 | r(4)))";
        map(select(.jsd)) | group_by([.workload, .kind])[] | [.[0].workload, .[0].kind,
        (mean(.ratio) | r(2)), jsd("1"), jsd("2"), jsd("3"),
        "\(mean(.dt) | r(3)) (\(.[0].dt_real * 1.5 | r(3)))", (mean(.rate) | r(2)),
        "\(mean(.verbatim.synthetic) * 100 | r(1)) % (\(.[0].verbatim.held_out * 100 | r(1)) %)"]
        | "| " + (map(tostring) | join(" | ")) + " |"' "$rows"
    cat <<'M'

What the neural one costs. Violations per 1,000 events; events a second of one trace on one core, and of
two traces at once. Bars: 10,000 events/s, no violation after repair, 1 % of the events edited, 95 % of
the violations prevented by guidance, 20 minutes and 4,096 MiB of training at context 4096.

| workload | train s | loss on the held-back end, nats per type | unguided | guided | after repair | edited | events/s, one core | two cores | MiB, context 4096 |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
M
    jq -s -r 'def mean(f): (map(f) | add / length);
        def r(n): . * pow(10; n) | round / pow(10; n);
        group_by(.workload)[] | (map(select(.kind == "cost"))[0]) as $cost
        | map(select(.kind == "diffusion")) | [.[0].workload, (.[0].train_s | r(0)),
        (.[0].valid_loss | r(3)), (mean(.unguided_per_1000) | r(1)), (mean(.guided_per_1000) | r(2)),
        (map(.repaired) | add), "\(mean(.edited) * 100 | r(2)) %", (mean(.events_per_s) | r(0)),
        ($cost.events_per_s_two | r(0)), ($cost.peak_bytes_4096 / 1048576 | r(0))]
        | "| " + (map(tostring) | join(" | ")) + " |"' "$rows"
} >"$out/kernel-diffusion.md"
