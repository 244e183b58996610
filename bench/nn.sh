#!/bin/bash
# Training and sampling with the denoiser: share of the machine's matrix peak that a training step
# reaches, its time by kernel and by layer, time and memory by length, and events per second of the
# running form. Two threads; the peak is measured in the same runs. bench/nn.c does the work.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=bench/lib.sh
. bench/lib.sh
out=$1
: "${NN:=build/release/bench/nn}"
load=$(cut -d' ' -f1 /proc/loadavg)
threads=$(nproc)
[ "$threads" -le 2 ] || threads=2
trap 'rm -f "$rows"' EXIT

# Lengths are interleaved, so that a busy minute does not meet one of them alone. Threads that wait
# sleep: the processor time of a step is then its work alone.
export OMP_WAIT_POLICY=passive
for ((i = 0; i < RUNS; i++)); do
    for case in 256:80 1024:40 4096:12 16384:4; do
        OMP_NUM_THREADS=$threads "$NN" train "${case%:*}" "${case#*:}" | tee -a "$rows" |
            jq -r '"  train \(.length): \(.step_s) s (\(.step_cpu_s) of CPU), \(.gflops) of \(.peak_gflops) GFLOP/s"' >&2
    done
done
# Sampling: d, layers, looks, streams, threads. Each thread runs its streams by itself.
for ((i = 0; i < RUNS; i++)); do
    for case in "64 3 8 1 1" "64 3 4 1 1" "96 3 8 1 1" "96 3 4 1 1" "96 3 2 1 1" "96 3 8 2 1" \
        "96 3 8 1 $threads" "96 3 4 1 $threads" "96 3 8 8 $threads" "96 3 4 8 $threads" "128 4 8 1 1" "128 4 4 1 1" \
        "128 4 8 1 $threads" "128 4 4 1 $threads" "128 4 4 8 $threads"; do
        # shellcheck disable=SC2086 # the words are arguments
        OMP_NUM_THREADS=1 "$NN" stream $case | tee -a "$rows" |
            jq -r '"  stream d \(.d), \(.looks) looks, \(.streams) x \(.threads): \(.events_per_s) events/s"' >&2
    done
done

# The cheapest step of each length over the highest peak of all runs: what neighbours take away
# cannot make the share look better.
jq -s --arg date "$(date -u +%FT%TZ)" --argjson threads "$threads" '
    map(select(.length)) as $train
    | ($train | map(.peak_gflops) | max) as $peak | ($train | map(.peak_gflops_cpu) | max) as $cpu
    | {benchmark: "nn", date: $date, threads: $threads, peak_gflops: $peak, peak_gflops_cpu: $cpu,
       train: ($train | group_by(.length)
               | map((map(.step_cpu_s) | min) as $least | (map(.peak_rss_bytes) | max) as $rss
                     | min_by(.step_s) | .step_cpu_s = $least | .peak_rss_bytes = $rss
                     | .share_of_peak = .gflops / $peak
                     | .share_of_peak_cpu = .gflop / $least / $cpu)),
       stream: (map(select(.looks)) | group_by([.d, -.looks, .streams, .threads])
                | map((map(.events_per_cpu_s) | max) as $cpu
                      | max_by(.events_per_s) | .events_per_cpu_s = $cpu))}' "$rows" >"$out/nn.json"

{
    printf '## Training and sampling: the network alone\n\n@stamp@\n'
    printf 'Training: %s threads, one window of made-up events; d 128, 4 fine layers and a coarse one, block 8,\n' "$threads"
    printf 'window 128, two channels of 160 and 64 classes. The fastest step of all runs, and the least CPU time of a\n'
    printf 'step, which other work on the machine disturbs least (load when this began: %s).\n' "$load"
    jq -r '"Peak: the best product 1024³ of all runs, taken between the steps with the same library: \(.peak_gflops) GFLOP/s,\n\(.peak_gflops_cpu) GFLOP a CPU second. Operations are those of the matrix products and of attention over the keys\nthat are seen; nothing is counted for padding, for scores computed again on the way back, or for what is no product.\nCPUs that others left to the \(.threads) threads while the best product ran: \(.peak_gflops / .peak_gflops_cpu * 10 | round / 10).\n"' "$out/nn.json"
    printf '| events | step ms | CPU ms | events/s | GFLOP | of the peak | of the peak, CPU | peak MiB | CPU, to the quarter |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n'
    jq -r '.train as $t | range($t | length) | $t[.] as $r | (if . > 0 then $t[. - 1] else null end) as $before
        | "| \($r.length) | \($r.step_s * 10000 | round / 10) | \($r.step_cpu_s * 10000 | round / 10) | \($r.length / $r.step_s | round) | \($r.gflop) | \($r.share_of_peak * 1000 | round / 10) % | \($r.share_of_peak_cpu * 1000 | round / 10) % | \($r.peak_rss_bytes / 1048576 | round) | \(if $before then "\($r.step_cpu_s / $before.step_cpu_s * 100 | round / 100) ×" else "" end) |"' "$out/nn.json"
    jq -r '.train as $t | [range(1; $t | length) | (($t[.].peak_rss_bytes - $t[. - 1].peak_rss_bytes) / ($t[.].length - $t[. - 1].length) / 1024 * 10 | round / 10 | tostring)]
        | "\nMemory of one more event between these lengths: \(join(", ")) KiB.\n"' "$out/nn.json"
    printf 'The fastest step of 4096 events by kernel and by layer (its norms, gates and attention with it):\n\n'
    printf '| kernel | ms | share | GFLOP/s |\n|---|---:|---:|---:|\n'
    # shellcheck disable=SC2016 # a piece of jq
    parts='| .name as $n | "| \($n) | \(.s * 10000 | round / 10) | \(.s / $total * 1000 | round / 10) % | \(if .gflop > 0 then (.gflop / .s | round | tostring) else "" end) |"'
    jq -r ".train[] | select(.length == 4096) | .step_s as \$total | .kernels | sort_by(-.s)[] $parts" "$out/nn.json"
    printf '\n| layer | ms | share | GFLOP/s |\n|---|---:|---:|---:|\n'
    jq -r ".train[] | select(.length == 4096) | .step_s as \$total | .layers[] $parts" "$out/nn.json"
    printf '\nSampling: blocks of 8 events, each looked at so many times, every event asked for both channels, then\n'
    printf 'committed; context 4096. An evaluation is one pass of the network over the eight rows of a stream.\n\n'
    printf '| d | layers | parameters | looks | streams a thread | threads | events/s | evaluations/s | events/CPU s |\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n'
    jq -r '.stream[] | "| \(.d) | \(.layers) | \(.parameters) | \(.looks) | \(.streams) | \(.threads) | \(.events_per_s) | \(.evaluations_per_s) | \(.events_per_cpu_s) |"' "$out/nn.json"
} >"$out/nn.md"
