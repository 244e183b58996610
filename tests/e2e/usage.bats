# Wrong use: exit code 2, whoever finds out, one sentence, nothing done and nothing left.

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    cp "$STN_SOURCE_DIR/tests/golden/tiny.txt" t.txt
    standin kernel convert --quiet t.txt t.csv
    standin kernel convert --quiet t.txt t.ctf
    standin kernel convert --quiet --time ..0.2 "$STN_SOURCE_DIR/examples/backup.run3.txt.zst" in.csv
    standin kernel train --quiet "$STN_SOURCE_DIR/examples/backup.run3.txt.zst" -o m.stn
    standin kernel train --quiet --kind diffusion --steps 2 --context 64 --workload mail=in.csv in.csv -o d.stn
    ls >before
}

setup() {
    cd "$BATS_FILE_TMPDIR" || return 1
    ls >before
}

# wrong TEXT WORDS…: refused as wrong use, in a sentence that holds TEXT.
wrong() {
    run standin kernel "${@:2}"
    [ "$status" = 2 ] || { echo "${*:2}: exit $status: $output"; return 1; }
    [ "${#lines[@]}" = 2 ] || { echo "${*:2}: $output"; return 1; }
    [[ "${lines[0]}" == *"$1"* ]] || { echo "${*:2}: $output"; return 1; }
    [ "${lines[1]}" = "try: standin kernel $2 --help" ]
    [ "$(ls)" = "$(cat before)" ] || { echo "${*:2}: left something behind"; return 1; }
}

# failed TEXT WORDS…: the use is right, what was found is not: exit code 1.
failed() {
    run standin kernel "${@:2}"
    [ "$status" = 1 ] || { echo "${*:2}: exit $status: $output"; return 1; }
    [[ "${lines[0]}" == *"$1"* ]] || { echo "${*:2}: $output"; return 1; }
    [ "$(ls)" = "$(cat before)" ] || { echo "${*:2}: left something behind"; return 1; }
}

@test "usage: a name that is none" {
    wrong 'no generator is called "foo"; there are: markov, diffusion' train --kind foo t.txt -o x.stn
    wrong "no channel is called 'foo'" train --kind diffusion --channels event,dt,foo in.csv -o x.stn
    wrong "the ending names no format" generate m.stn -n 10 -o x.foo
    wrong "the ending names no format" convert t.txt x.foo
    wrong "the ending names no format" repair t.txt -o x.foo
    wrong "the model knows no workload 'web'" generate d.stn -n 10 -w web -o x.csv
    wrong '"mail:x" is no mixture' generate d.stn -n 10 -w mail:x -o x.csv
    wrong "knows no workload 'web'" repair in.csv --model d.stn -w web --hole 0.1..0.11 -o x.csv
}

@test "usage: record, of what this machine has not got" {
    [ "$(id -u)" = 0 ] && [ -d /sys/kernel/tracing/instances ] || skip "recording needs root and tracefs"
    wrong 'no set of events is called "bogus"' record -e bogus -o x.dat -- true
    wrong "no tracepoint bogus:x" record -e bogus:x -o x.dat -- true
    wrong "no CPU 8000" record --cpus 8000 -o x.dat -- true
    failed "nothing-of-the-kind: cannot be run" record -o x.dat -- nothing-of-the-kind
}

@test "usage: an output of another kind" {
    wrong "only JSON can keep a part" convert t.csv --max-events 5 x.txt
    wrong "standard output has no ending" convert t.csv -
    wrong "is a folder, which standard output" convert --to ctf t.csv -
    wrong '"trace.dat" is no format that is written' convert --to trace.dat t.csv x
    for name in x.ctf.zst x.ctf.gz x.zst; do
        wrong "$name: format 'ctf' is not compressed" convert t.csv $name
    done
    wrong "format 'ctf' is not compressed" convert --to ctf t.csv x.zst
    wrong "format 'parquet' is not compressed" convert t.csv x.parquet.gz
    wrong "a model needs a file" train t.txt -o -
    wrong "-o x.stn.zst: a model is not compressed" train t.txt -o x.stn.zst
    wrong "a recording is not compressed" record -o x.dat.gz -- true
    wrong "--to: there is no -o" generate m.stn -n 10 --to csv
    wrong "--with-prompt: there is no -o" generate m.stn -n 10 --prompt in.csv --with-prompt
}

@test "usage: options that would be without effect" {
    for words in "--budget 1m" "--steps 5" "--context 64" "--channels event,dt" "--workload a=t.txt" --resume; do
        # shellcheck disable=SC2086 # words on purpose
        wrong "${words%% *}: a markov model has no network; add --kind diffusion" train t.txt -o x.stn $words
    done
    wrong "--steps and --budget" train --kind diffusion --steps 5 --budget 1m in.csv -o x.stn
    wrong "a markov model knows no workloads" generate m.stn -n 10 -w mail -o x.csv
    wrong "a markov model knows no workloads" generate m.stn -n 10 --guidance 150 -o x.csv
    wrong "a markov model knows no workloads" repair in.csv --model m.stn -w mail --hole 0.1..0.11 -o x.csv
    wrong "--workload: needs a --model" repair in.csv -w mail -o x.csv
}

@test "usage: a pipe without its format, a hole outside the trace" {
    run bash -c "cat t.txt | standin kernel info /dev/stdin"
    [ "$status" = 2 ]
    wrong "does not lie within the trace" repair in.csv --model m.stn --hole 0.1..9 -o x.csv
}

@test "usage: what a file holds is no wrong use" {
    echo 'time_ns,cpu,tid,comm,event,original,fields' >head.csv
    printf 'seconds,workload\n0,mail\n' >plan.csv
    printf 'time_ns,cpu,tid,comm,event,original,fields\n9,0,1,a,x,,\n5,0,1,a,x,,\n' >back.csv
    head -n 20 in.csv >short.csv
    head -n 5 in.csv >few.csv
    ls >before
    failed "holds no event" train head.csv -o x.stn
    failed "expected at least" train --kind diffusion --steps 2 few.csv -o x.stn
    failed "plan.csv: line 2: a markov model knows no workloads" generate m.stn -n 10 --script plan.csv -o x.csv
    failed "back.csv: x.csv: event 1 at 5 ns comes before" convert back.csv x.csv
    failed "too short to judge" evaluate --train short.csv --real in.csv --synthetic in.csv
    failed "nothing to fill" repair in.csv --model m.stn -o x.csv
    rm head.csv plan.csv back.csv short.csv few.csv
}

@test "usage: a file is not read as a folder" {
    failed "t.txt: this is a file; a CTF trace is the folder" info --format ctf t.txt
    failed "t.ctf/metadata: this is a file; a CTF trace is the folder" info t.ctf/metadata
}

@test "usage: an output that cannot be is said before the work" {
    for words in "mine t.txt -o nowhere/x" "evaluate --train t.txt --real t.txt --synthetic t.txt --html nowhere/x"; do
        # shellcheck disable=SC2086 # words on purpose
        failed "nowhere/x: " $words
        [ "${#lines[@]}" = 1 ]
    done
}

@test "usage: a report on standard output is alone there" {
    standin kernel evaluate --train in.csv --real in.csv --synthetic in.csv --html - >page.html 2>said
    [[ "$(head -c 15 page.html)" == "<!DOCTYPE html>" ]]
    ! grep -q '^  macro-F1' page.html
    grep -q '^  macro-F1' said
    rm page.html said
}
