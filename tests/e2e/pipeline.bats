# From recordings to new traces: mine, train, generate, repair, evaluate, check.

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    ln -s "$STN_SOURCE_DIR/examples" examples
    standin kernel train --quiet examples/backup.run1.txt.zst -o m.stn
    standin kernel generate --quiet m.stn -n 20k --seed 7 -o seven.csv
}

setup() {
    cd "$BATS_FILE_TMPDIR" || return 1
}

# keys FILTER WORDS…: the object of FILTER in out.json has exactly these keys at least.
keys() {
    local key
    for key in "${@:2}"; do
        jq -e "$1 | has(\"$key\")" out.json >/dev/null || { echo "no key $key"; return 1; }
    done
}

@test "pipeline: convert --max-events says how many events are told of, in how many items" {
    run standin kernel convert --max-events 5000 "$STN_SOURCE_DIR/examples/backup.run3.txt.zst" some.json
    [ "$status" = 0 ]
    [ "${lines[0]}" = "events in  36,000" ]
    [[ "${lines[1]}" =~ ^"events out "([0-9,]+)", in 5,000 of "([0-9,]+)" items"$ ]]
    standin kernel convert --json --max-events 5000 "$STN_SOURCE_DIR/examples/backup.run3.txt.zst" some.json >some
    jq -e '.events_in == 36000 and .events_out > 5000 and .events_out < 10000 and .items == 5000 and .items_of > 5000' some
    standin kernel convert --json "$STN_SOURCE_DIR/examples/backup.run3.txt.zst" all.json >all
    jq -s -e '.[0].items_of == .[1].items and .[1].items == .[1].items_of and .[1].events_out == 36000' some all
    # what is in the file is what was said
    [ "$(jq '[.traceEvents[] | select(.ph == "X" or (.ph == "i" and .cat != "lost"))] | length' some.json)" = 5000 ]
    standin kernel convert --json --time ..0.1 "$STN_SOURCE_DIR/examples/backup.run3.txt.zst" a.csv >csv
    jq -e '.items == null and .items_of == null' csv
}

@test "pipeline: train says what json.md promises, and the same seed the same model" {
    standin kernel train --json --seed 3 examples/backup.run1.txt.zst -o a.stn >out.json
    keys . events seconds peak_rss_bytes parameters train_loss valid_loss
    [ "$(jq .events out.json)" = 36000 ]
    jq -e '.valid_loss > 0 and .train_loss > 0 and .parameters > 1000' out.json
    standin kernel train --quiet --seed 3 examples/backup.run1.txt.zst -o b.stn
    cmp a.stn b.stn
}

@test "pipeline: a network is trained, repeats itself and knows its workload" {
    net() { standin kernel train --kind diffusion --steps 4 --context 32 "$@"; }
    net --json examples/backup.run1.txt.zst -o n.stn >out.json
    keys . events seconds peak_rss_bytes parameters train_loss valid_loss step_loss markov_loss
    jq -e '.kind == "diffusion" and .steps == 4 and .step_loss > 0 and .markov_loss > 0' out.json
    [ ! -e n.stn.checkpoint ]
    net --quiet examples/backup.run1.txt.zst -o same.stn
    cmp n.stn same.stn
    standin kernel generate --quiet n.stn -n 1k --workload backup --guidance 150 -o n.csv
    standin kernel check --quiet n.csv
    net --quiet --workload mail=examples/backup.run1.txt.zst examples/backup.run1.txt.zst -o w.stn
    standin kernel generate --quiet w.stn -n 100 --workload mail -o n.csv
    run standin kernel generate --quiet w.stn -n 100 --workload backup -o none.csv
    [ "$status" = 2 ]
    [[ $output == *"no workload 'backup'"*"'mail'"* ]]
    [ ! -e none.csv ]
}

@test "pipeline: a network is not trained on what makes no sense" {
    net() { run standin kernel train --kind diffusion --steps 4 examples/backup.run1.txt.zst -o x.stn "$@"; }
    net --workload mail=other.txt
    [ "$status" = 2 ]
    [[ $output == *"no trace given is called that"* ]]
    net --workload mail
    [ "$status" = 2 ]
    net --context 100k
    [ "$status" = 2 ]
    net --channels event,dt,colour
    [ "$status" = 2 ]
    [[ $output == *"'colour'"* ]]
    net --resume
    [ "$status" = 1 ]
    [[ $output == *"x.stn.checkpoint"* ]]
    [ ! -e x.stn ]
}

@test "pipeline: generate says what json.md promises" {
    standin kernel generate --json m.stn -n 5k --seed 7 -o five.csv >out.json
    keys . events seconds events_per_s violations_unguided violations_guided \
        violations_after_repair events_edited seed
    [ "$(jq .events out.json)" -ge 5000 ]
    [ "$(jq .violations_after_repair out.json)" = 0 ]
    [ "$(jq .seed out.json)" = 7 ]
    [ "$(standin kernel info --json five.csv | jq .events)" = "$(jq .events out.json)" ]
}

@test "pipeline: the same seed gives the same trace, another one another" {
    standin kernel generate --quiet m.stn -n 20k --seed 7 -o again.csv
    cmp seven.csv again.csv
    standin kernel generate --quiet m.stn -n 20k --seed 8 -o eight.csv
    ! cmp -s seven.csv eight.csv
}

@test "pipeline: a generated trace breaks no rule, in every format that is read" {
    standin kernel check --quiet seven.csv
    standin kernel generate --quiet m.stn -n 5k -o g.ctf
    standin kernel check --quiet g.ctf
    standin kernel generate --quiet m.stn -n 5k -o g.txt.zst
    standin kernel check --quiet g.txt.zst
    events=$(standin kernel info --json g.ctf | jq .events)
    [ "$(babeltrace2 g.ctf | wc -l)" = "$events" ]
}

@test "pipeline: --duration is how long the trace is" {
    standin kernel generate --json m.stn --duration 300ms -o d.csv >out.json
    [ "$(jq .events out.json)" -gt 100 ]
    standin kernel info --json d.csv >info.json
    jq -e '.end_ns - .begin_ns | . > 200e6 and . < 300e6' info.json
}

@test "pipeline: guidance is worth something" {
    standin kernel generate --json --unguided --no-repair m.stn -n 20k -o raw.csv >out.json
    unguided=$(jq .violations_unguided out.json)
    [ "$unguided" -gt 20 ]
    [ "$(jq .violations_guided out.json)" = null ]
    run standin kernel check --json raw.csv
    [ "$status" = 3 ]
    standin kernel generate --json m.stn -n 20k >guided.json
    jq -e ".violations_guided * 20 <= $unguided" guided.json
}

@test "pipeline: generate without -n and --duration, or with both, is wrong use" {
    run standin kernel generate m.stn
    [ "$status" = 2 ]
    run standin kernel generate m.stn -n 10 --duration 1s
    [ "$status" = 2 ]
    run standin kernel generate m.stn -n 10 -o m.stn
    [ "$status" = 2 ]
}

@test "pipeline: what is no model, or not a whole one" {
    head -c 1000 m.stn >cut.stn
    echo hello >no.stn
    : >empty.stn
    for model in cut.stn no.stn empty.stn nothing.stn examples/backup.run1.txt.zst; do
        run standin kernel generate "$model" -n 10 -o bad.csv
        [ "$status" = 1 ] || { echo "$model: $status"; return 1; }
        [ "${#lines[@]}" = 1 ]
        [[ "$output" == *"$model"* ]] || { echo "$model: $output"; return 1; }
        [ ! -e bad.csv ]
    done
    # Another version; a byte of the head that means nothing yet.
    for at in 8 12; do
        cp m.stn head.stn
        printf '\x07' | dd of=head.stn bs=1 seek=$at conv=notrunc status=none
        run standin kernel generate head.stn -n 10 -o bad.csv
        [ "$status" = 1 ] && [ ! -e bad.csv ] || { echo "byte $at: $status"; return 1; }
    done
    # One bit in the middle.
    cp m.stn flipped.stn
    printf '\x5a' | dd of=flipped.stn bs=1 seek=$(($(stat -c %s m.stn) / 2)) conv=notrunc status=none
    cmp -s m.stn flipped.stn || {
        run standin kernel generate flipped.stn -n 10
        [ "$status" = 1 ]
    }
}

@test "pipeline: mined rules hold where they were mined, and are rules that check reads" {
    standin kernel mine --json examples/backup.run1.txt.zst examples/backup.run2.txt.zst -o mined.rules >out.json
    [ "$(jq .rules out.json)" -gt 10 ]
    standin kernel check --quiet --rules mined.rules examples/backup.run1.txt.zst
    standin kernel check --quiet --mined mined.rules examples/backup.run2.txt.zst
    standin kernel check --json --mined mined.rules examples/backup.run3.txt.zst >out.json || [ $? = 3 ]
    [ "$(jq '.rules | length' out.json)" -gt "$(standin kernel check --json examples/backup.run3.txt.zst | jq '.rules | length')" ]
}

@test "pipeline: repair leaves nothing broken and says what it did" {
    # Every 40th event is gone, as if a tracer had lost it and not said so.
    { head -n 1 seven.csv; tail -n +2 seven.csv | awk 'NR % 40'; } >lossy.csv
    run standin kernel check --quiet lossy.csv
    [ "$status" = 3 ]
    standin kernel repair --json lossy.csv -o whole.csv >out.json
    keys . events_in events_out violations_before violations_after events_edited events_inserted
    jq -e '.violations_before > 0 and .violations_after == 0 and .events_edited > 0' out.json
    [ "$(jq .events_in out.json)" = "$(($(wc -l <lossy.csv) - 1))" ]
    standin kernel check --quiet whole.csv
    [ "$(standin kernel info --json whole.csv | jq .events)" = "$(jq .events_out out.json)" ]
}

@test "pipeline: repair says how many of the lost events came back" {
    # Every 40th event is gone and a mark stands in its place.
    awk -F, -v OFS=, 'NR > 1 && NR % 40 == 0 { $3 = $4 = $6 = ""; $5 = "lost_events"; $7 = "count=1;begin_ns=" $1 } 1' \
        seven.csv >lossy.csv
    lost=$(grep -c lost_events lossy.csv)
    [ "$(standin kernel info --json lossy.csv | jq .lost_events)" = "$lost" ]
    standin kernel repair --json --fill-lost lossy.csv -o whole.csv >out.json
    jq -e --argjson lost "$lost" '.lost_events == $lost and .lost_restored + .lost_missing == $lost and
        .lost_restored > 0 and .lost_missing > 0 and .events_inserted >= .lost_restored' out.json
    [ "$(standin kernel info --json whole.csv | jq .lost_events)" = 0 ]
    standin kernel check --quiet whole.csv
    standin kernel repair lossy.csv -o excused.csv | grep -q "^lost  *$lost said by the tracer, 0 restored, $lost not$"
    [ "$(standin kernel info --json excused.csv | jq .lost_events)" = "$lost" ]
}

@test "pipeline: a breadth or depth of repair that cannot be is wrong use" {
    for words in "--beam 0" "--beam 65" "--lookahead 0" "--lookahead 4097"; do
        run standin kernel repair $words seven.csv -o out.csv
        [ "$status" = 2 ]
        [[ "$output" == *"${words% *}: "*"at "* ]]
    done
    [ ! -e out.csv ]
}

@test "pipeline: repair says at once that its output cannot be written" {
    # The input is not there either: the output was looked at first.
    run standin kernel repair nothing.csv -o out.xyz
    [ "$status" = 2 ]
    [[ "$output" == *"out.xyz: the ending names no format"* ]]
    run standin kernel repair nothing.csv -o nowhere/out.csv
    [ "$status" = 1 ]
    [[ "$output" == *"nowhere/out.csv: "* ]]
    run standin kernel repair seven.csv --event nothing -o out.csv
    [ "$status" = 1 ]
    [ ! -e out.xyz ] && [ ! -e out.csv ]
}

@test "pipeline: repair has nothing to do where nothing is broken" {
    standin kernel repair --json seven.csv -o same.csv >out.json
    [ "$(jq .events_edited out.json)" = 0 ]
    cmp seven.csv same.csv
}

@test "pipeline: what happens in one nanosecond comes back from CTF in the order of the CPUs" {
    {
        echo time_ns,cpu,tid,comm,event,original,fields
        for cpu in 0 1 2 3 4 5 6 7 8 9 10 11; do echo "100$((cpu % 10)),0,1,a,one,,x=$cpu"; done | sort
        for cpu in 11 3 10 2 2 1; do echo "5000,$cpu,1,a,two,,x=$cpu"; done
        echo "5000,2,1,a,aaa,,x=last" # behind the others of its CPU, whatever it is called
    } >ties.csv
    standin kernel convert --quiet ties.csv ties.ctf
    standin kernel convert --quiet --to csv ties.ctf - | awk -F, '$1 == 5000 { printf "%s%s ", $2, $5 }' >order
    [ "$(cat order)" = "1two 2two 2two 2aaa 3two 10two 11two " ]
}
