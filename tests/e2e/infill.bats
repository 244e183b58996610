# Holes that a model fills before repair.

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    ln -s "$STN_SOURCE_DIR/examples" examples
    standin kernel train --quiet examples/backup.run1.txt.zst -o m.stn
    standin kernel convert --quiet --time ..0.5 examples/backup.run3.txt.zst in.csv
    # 600 events of both CPUs are gone, and a mark says so
    awk -F, 'NR == 5000 {b = $1} NR < 5000 || NR >= 5600 {
        if (NR == 5600) print $1 ",,,,lost_events,,count=600u;begin_ns=" b "u"
        print}' in.csv >lossy.csv
}

setup() {
    cd "$BATS_FILE_TMPDIR" || return 1
}

@test "infill: what was lost comes back in about the same number and joins on" {
    standin kernel repair --json --model m.stn lossy.csv -o whole.csv >out.json
    standin kernel check --quiet whole.csv
    ! grep -q lost_events whole.csv
    jq -e '.violations_after == 0 and (.holes | length) == 1 and .holes[0].lost == 600' out.json
    jq -e '.holes[0].made | . > 400 and . <= 600' out.json
    standin kernel repair --quiet --model m.stn lossy.csv -o again.csv
    cmp whole.csv again.csv
}

@test "infill: short holes of one CPU are not slept through" {
    standin kernel convert --quiet examples/backup.run3.txt.zst all.csv
    made=0
    for at in 12001 20001 28001; do # 453 events of CPU 0 in about 3 ms
        awk -F, -v at=$at 'NR == at {b = $1}
            NR >= at && $2 == 0 && lost < 453 {lost++; next}
            lost == 453 && $2 == 0 {print $1 ",0,,,lost_events,,count=453u;begin_ns=" b "u"; lost++}
            NR < at + 1500' all.csv >short.csv
        standin kernel repair --json --model m.stn short.csv -o whole.csv >out.json
        jq -e '.violations_after == 0 and .holes[0].lost == 453 and .events_deleted < 200' out.json
        made=$((made + $(jq '.holes[0].made' out.json)))
    done
    [ "$made" -gt 1250 ] || { echo "$made made of 1359"; return 1; }
}

@test "infill: a hole that is named is made anew, the rest stays" {
    standin kernel repair --json --model m.stn --hole 0.2..0.3 in.csv -o anew.csv >out.json
    standin kernel check --quiet anew.csv
    jq -e '.holes[0] | .made > 100 and .replaced > 100 and .cpu == null' out.json
    head -n 2000 in.csv | cmp - <(head -n 2000 anew.csv)
    standin kernel repair --model m.stn --hole 0.2..0.3 in.csv -o anew.csv >out.txt
    grep -q '^hole .*CPU all: .* made, .* taken out' out.txt
}

@test "infill: holes that make no sense are refused" {
    refuses() {
        run standin kernel repair "${@:3}" -o none.csv
        [ "$status" = "$1" ] || { echo "exit $status: $output"; return 1; }
        [[ $output == *"$2"* ]] || { echo "$output"; return 1; }
        [ ! -e none.csv ]
    }
    refuses 2 "needs a --model" in.csv --hole 0.1..0.2
    refuses 2 "needs an end" in.csv --model m.stn --hole 0.1..
    refuses 2 "--hole" in.csv --model m.stn --hole soon
    refuses 2 "does not lie within the trace" in.csv --model m.stn --hole 0.4..9
    refuses 2 "two of them overlap" in.csv --model m.stn --hole 0.1..0.2 --hole 0.15..0.3
    refuses 1 "nothing to fill" in.csv --model m.stn
    refuses 1 "nothing.stn" lossy.csv --model nothing.stn
}
