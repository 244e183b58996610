# How the generated trace is asked for: prompts, rates, plans over time.

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

# per_second FILE: events in each second of a CSV trace that begins at 1 s.
per_second() {
    awk -F, 'NR > 1 {c[int($1 / 1e9)]++} END {for (i = 1; i in c; i++) print c[i]}' "$1"
}

@test "generate: a plan changes the rate along the trace" {
    printf 'seconds,rate\n0,20k\n1,60k\n2,10k\n' >rates.csv
    standin kernel generate --quiet m.stn --script rates.csv --duration 3s -o r.csv
    standin kernel check --quiet r.csv
    per_second r.csv | paste - <(printf '20000\n60000\n10000\n') |
        awk '{e = $1 / $2 - 1; n++; if (e > 0.1 || e < -0.1) exit 1} END {exit n != 3}'
}

@test "generate: a plan changes the workload of a network, also to mixtures" {
    printf 'seconds,workload,rate,guidance\n0,mail,,\n0.02,web:0.3+mail:0.7,50k,150\n0.04,web,,\n' >mix.csv
    standin kernel generate --quiet d.stn --script mix.csv -n 4k --seed 3 -o a.csv
    standin kernel generate --quiet d.stn --script mix.csv -n 4k --seed 3 -o b.csv
    cmp a.csv b.csv
    standin kernel check --quiet a.csv
    standin kernel generate --quiet d.stn --workload web+mail:2 -n 1k -o c.csv
    standin kernel check --quiet c.csv
}

@test "generate: plans that make no sense are refused with their line" {
    plan() { printf "seconds,workload,rate\n$1" >bad.csv; }
    plan '0,mail,1x\n0.5,ftp,1x\n'
    refuses 1 "bad.csv: line 3: the model knows no workload 'ftp'; it knows 'mail', 'web'" d.stn --script bad.csv
    refuses 1 "bad.csv: line 2: a markov model knows no workloads" m.stn --script bad.csv
    plan '0,mail:x,1x\n'
    refuses 1 'bad.csv: line 2: "mail:x" is no mixture' d.stn --script bad.csv
    printf 'seconds,rate\n-1,1x\n' >bad.csv
    refuses 1 'bad.csv: line 2: seconds is "-1"' m.stn --script bad.csv
    plan '1,,1x\n0,,2x\n'
    refuses 1 'bad.csv: line 3: the phase does not begin later' m.stn --script bad.csv
    plan '0,,2y\n'
    refuses 1 'bad.csv: line 2: "2y" is no rate' m.stn --script bad.csv
    plan '0,1x\n'
    refuses 1 'bad.csv: line 2: not as many cells' m.stn --script bad.csv
    printf 'time,rate\n0,1x\n' >bad.csv
    refuses 1 'bad.csv: line 1: the first line names the columns' m.stn --script bad.csv
    refuses 1 "nothing.csv" m.stn --script nothing.csv
    refuses 2 "a markov model knows no workloads" m.stn --workload mail
}

@test "generate: --prefer keeps mined rules rather than not, and the hard ones always" {
    standin kernel mine --quiet "$STN_SOURCE_DIR/examples/backup.run1.txt.zst" -o mined.rules
    for strength in 1 90; do
        standin kernel generate --json m.stn --prefer mined.rules --strength $strength -n 20k -o p.csv >$strength.json
        standin kernel check --quiet p.csv
    done
    jq -s -e '.[0].against_preferred > 50 and .[1].against_preferred * 2 < .[0].against_preferred' 1.json 90.json
    standin kernel generate m.stn --prefer mined.rules -n 1k >out.txt
    grep -q '^preferred .* events are against the rules that are preferred' out.txt
    refuses 2 "--strength: there is no --prefer" m.stn --strength 50
    refuses 2 "--strength: 96 is more than 95" m.stn --prefer mined.rules --strength 96
    refuses 1 "none.rules" m.stn --prefer none.rules
    printf 'standin-rules 1\nrule x\n  what\n' >bad.rules
    refuses 1 "bad.rules" m.stn --prefer bad.rules
}
