# How the generated trace is asked for: prompts, rates.

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    ln -s "$STN_SOURCE_DIR/examples" examples
    standin kernel train --quiet examples/backup.run1.txt.zst -o m.stn
    standin kernel train --quiet --kind diffusion --steps 4 --context 32 \
        --workload mail=examples/backup.run1.txt.zst --workload web=examples/backup.run2.txt.zst \
        examples/backup.run1.txt.zst examples/backup.run2.txt.zst -o d.stn
    standin kernel convert --quiet --time ..0.2 examples/backup.run3.txt.zst head.txt
}

setup() {
    cd "$BATS_FILE_TMPDIR" || return 1
}

# refuses STATUS TEXT MODEL WORDS…: generate says TEXT and leaves no trace.
refuses() {
    run standin kernel generate "${@:3}" -n 100 -o none.csv
    [ "$status" = "$1" ] || { echo "exit $status: $output"; return 1; }
    [[ $output == *"$2"* ]] || { echo "$output"; return 1; }
    [ ! -e none.csv ]
}

@test "generate: a prompt is continued in its time and breaks no rule at the seam" {
    standin kernel info --json head.txt >head.json
    for model in m.stn d.stn; do
        standin kernel generate --json "$model" --prompt head.txt -n 3k -o next.csv >out.json
        [ "$(jq .events out.json)" = 3000 ]
        [ "$(jq .prompt_events out.json)" = "$(jq .events head.json)" ]
        standin kernel info --json next.csv >next.json
        [ "$(jq .events next.json)" = 3000 ]
        jq -e --slurpfile head head.json '.begin_ns - $head[0].end_ns | . > 0 and . < 1e8' next.json
        standin kernel generate --quiet "$model" --prompt head.txt --with-prompt -n 3k -o whole.csv
        standin kernel check --quiet whole.csv
        standin kernel convert --quiet head.txt head.csv
        head -n "$(wc -l <head.csv)" whole.csv | cmp - head.csv
        [ "$(wc -l <whole.csv)" = "$(($(wc -l <head.csv) + 3000))" ]
    done
}

@test "generate: --duration is counted from the end of the prompt" {
    standin kernel generate --quiet m.stn --prompt head.txt --duration 100ms -o next.csv
    jq -s -e '.[1].end_ns - .[0].end_ns | . > 50e6 and . < 100e6' \
        <(standin kernel info --json head.txt) <(standin kernel info --json next.csv)
}

@test "generate: a prompt of another tracer and another workload is continued" {
    standin kernel convert --quiet head.txt head.ctf
    standin kernel generate --quiet m.stn --prompt head.ctf --with-prompt -n 2k -o whole.txt
    standin kernel check --quiet whole.txt
    sed 's/openat/never_heard_of/; s/sqlite3-/stranger-/' head.txt >other.txt
    standin kernel generate --quiet m.stn --prompt other.txt -n 2k -o next.txt
    [ "$(standin kernel info --json next.txt | jq .events)" = 2000 ]
}

@test "generate: prompts that make no sense are refused" {
    refuses 1 "nothing.txt" m.stn --prompt nothing.txt
    refuses 2 "there is no --prompt" m.stn --with-prompt
    sed 's/\[001\]/[007]/' head.txt >cpu.txt
    refuses 1 "on CPU 7: the model learned from CPUs 0 to 1 only" m.stn --prompt cpu.txt
    printf '# tracer: nop\n  a-1 [000] ..... 1.000000001: never_heard_of: x=1\n' >alien.txt
    refuses 1 "no event of a type that the model knows" m.stn --prompt alien.txt
    run standin kernel generate m.stn --prompt head.txt -n 10 -o head.txt
    [ "$status" = 2 ]
}

@test "generate: --rate is the rate of the trace, as a multiple and as a number" {
    for rate in 0.5x 2x 100k; do
        standin kernel generate --json m.stn --rate "$rate" -n 60k -o r.csv >out.json
        standin kernel check --quiet r.csv
        want=$(jq ".learned_events_per_s * ${rate%x}" out.json 2>/dev/null || echo 100000)
        jq -e ".trace_events_per_s / $want - 1 | . > -0.06 and . < 0.06" out.json
        jq -e '.wait_speed > 0 and .work_speed > 0' out.json
        standin kernel info --json r.csv |
            jq -e "60000e9 / (.end_ns - 1e9) / $want - 1 | . > -0.06 and . < 0.06"
    done
    for rate in 0.5x 2x; do # a network of four steps cannot do better
        standin kernel generate --json d.stn --workload web --rate $rate -n 10k >$rate.json
    done
    jq -s -e '.[0].trace_events_per_s * 2 < .[1].trace_events_per_s' 0.5x.json 2x.json
    standin kernel generate m.stn --rate 1x --prompt head.txt -n 5k >out.txt
    grep -q '^rate .* learned .*; waiting .* times as fast, service' out.txt
}

@test "generate: rates that make no sense are refused" {
    for rate in 0x -1x x fast 2xx 0 ''; do
        refuses 2 "is no rate; expected a multiple" m.stn "--rate=$rate"
    done
}
