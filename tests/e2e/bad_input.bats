# What is not a trace, or not a whole one: one clear error, exit code 1, no output file.

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    golden=$STN_SOURCE_DIR/tests/golden
}

# refused INPUT WORDS…: every command that reads it fails with one sentence that names it.
refused() {
    local input=$1 command
    shift
    for command in "info $input" "check $input" "convert $input out.csv" "convert $input out.ctf"; do
        # shellcheck disable=SC2086 # words on purpose
        run standin kernel $command
        [ "$status" = 1 ] || { echo "$command: exit $status: $output"; return 1; }
        [ "${#lines[@]}" = 1 ] || { echo "$command: not one line: $output"; return 1; }
        [[ "$output" == "standin kernel ${command%% *}: "*"$input"* ]] ||
            { echo "$command: $output"; return 1; }
        for word in "$@"; do
            [[ "$output" == *"$word"* ]] || { echo "$command: no \"$word\" in: $output"; return 1; }
        done
        [ ! -e out.csv ] && [ ! -e out.ctf ] || { echo "$command: left an output"; return 1; }
        [ -z "$(find . -maxdepth 1 -name '.?*')" ] || { echo "$command: left a temporary"; return 1; }
    done
}

@test "bad input: a missing file" {
    refused nothing.txt "No such file"
}

@test "bad input: 0 bytes" {
    : >empty.dat
    refused empty.dat "0 bytes"
}

@test "bad input: a file that is no trace" {
    echo 'Dear Sir or Madam' >letter.txt
    refused letter.txt
    head -c 100000 /dev/urandom >noise.bin
    refused noise.bin
}

@test "bad input: the wrong magic" {
    printf '\x17\x08\x44traciNG6\0' >wrong.dat
    head -c 4096 /dev/zero >>wrong.dat
    refused wrong.dat
}

@test "bad input: a folder without metadata" {
    mkdir folder
    echo hello >folder/channel0_0
    refused folder metadata
}

@test "bad input: CTF metadata without its streams' layout" {
    mkdir cut
    echo '/* CTF 1.8 */ trace { major = 1;' >cut/metadata
    refused cut
}

@test "bad input: CSV with a missing column" {
    printf 'time_ns,cpu,tid\n1,0,1\n' >short.csv
    refused short.csv event
}

@test "bad input: CSV with a row cut short" {
    printf 'time_ns,cpu,tid,comm,event,original,fields\n1,0,1,a,x,,\n2,0\n' >row.csv
    refused row.csv "line 3"
}

@test "bad input: a cut trace.dat" {
    data=$STN_SOURCE_DIR/../shared/data/ftrace/trappy_trace.dat
    [ -e "$data" ] || skip "../shared not there"
    for size in 12 1000 100000; do
        head -c $size "$data" >cut.dat
        refused cut.dat
    done
}

@test "bad input: a cut CTF stream" {
    standin kernel convert --quiet "$STN_SOURCE_DIR/examples/backup.run3.txt.zst" whole.ctf
    truncate -s -100 whole.ctf/channel0_1
    refused whole.ctf
}

@test "bad input: CTF metadata in packets, cut anywhere" {
    # Two packets of 64 bytes, 27 of them text; their sizes are in bits.
    mkdir packets
    for i in 1 2; do
        printf 'u\xd1\x1dW%016d\0\0\0\0\0\0\2\0\0\0\2\0\0\0\0\1\10%-27s' 0 '/* CTF 1.8 */'
    done >whole
    for size in 5 36 37 63 80 127; do
        head -c $size whole >packets/metadata
        refused packets "packets/metadata: cut short"
    done
    # A packet of no size would be read for ever.
    { head -c 28 whole; printf '\0\0\0\0'; tail -c +33 whole; } >packets/metadata
    refused packets "packets/metadata: the packet at offset 0"
}

@test "bad input: cut compression" {
    head -c 50000 "$STN_SOURCE_DIR/examples/backup.run3.txt.zst" >cut.txt.zst
    refused cut.txt.zst
    gzip -c "$golden/tiny.txt" | head -c 200 >cut.txt.gz
    refused cut.txt.gz
}

@test "bad input: a line of 3 MB" {
    head -n 6 "$golden/tiny.txt" >long.txt
    head -c 3000000 /dev/zero | tr '\0' a >>long.txt
    refused long.txt "line 7" "longer than"
}

@test "bad input: a file that cannot be written, before anything is read for long" {
    run standin kernel convert "$golden/tiny.txt" nowhere/out.csv
    [ "$status" = 1 ]
    [ "${#lines[@]}" = 1 ]
    [[ "$output" == *nowhere/out.csv* ]]
    run standin kernel convert "$golden/tiny.txt" out.unknown
    [ "$status" != 0 ]
    [[ "$output" == *out.unknown*ending* ]]
    [ ! -e out.unknown ]
    for model in nowhere/m.stn /dev/full; do
        run standin kernel train "$STN_SOURCE_DIR/examples/backup.run3.txt.zst" -o "$model"
        [ "$status" = 1 ] || { echo "$model: $status: $output"; return 1; }
        [ "${#lines[@]}" = 1 ]
        [[ "$output" == "standin kernel train: $model: "* ]] || { echo "$output"; return 1; }
    done
}

@test "bad input: a part of the events in a format that is written whole" {
    run standin kernel convert --max-events 3 "$golden/tiny.txt" out.csv
    [ "$status" = 2 ]
    [ "${#lines[@]}" = 2 ]
    [[ "$output" == *"out.csv: only JSON"* ]]
    [ ! -e out.csv ]
}

@test "bad input: a pipe whose format is not given; with it, the pipe is read" {
    run bash -c "cat '$golden/tiny.txt' | standin kernel info /dev/stdin"
    [ "$status" = 2 ]
    [ "${#lines[@]}" = 2 ]
    [[ "$output" == *"/dev/stdin: a pipe can be read only once"* ]]
    standin kernel convert -q "$golden/tiny.txt" file.csv
    bash -c "cat '$golden/tiny.txt' | standin kernel convert -q --format ftrace /dev/stdin pipe.csv"
    cmp file.csv pipe.csv
}

@test "bad input: a time that goes backwards names the input" {
    printf 'time_ns,cpu,tid,comm,event,original,fields\n9,0,1,a,x,,\n5,0,1,a,x,,\n' >back.csv
    run standin kernel convert back.csv out.txt
    [ "$status" = 1 ]
    [[ "$output" == *" back.csv: "*"5 ns comes before"* ]]
    [ ! -e out.txt ]
}

@test "bad input: standard output without a format, or with one that is a folder" {
    run standin kernel convert "$golden/tiny.txt" -
    [ "$status" = 2 ]
    run standin kernel convert --to ctf "$golden/tiny.txt" -
    [ "$status" = 2 ]
    [ ! -e ./- ]
}

@test "bad input: an input is never written over" {
    cp "$golden/tiny.txt" a.txt
    ln -s a.txt link.txt
    for out in a.txt ./a.txt link.txt; do
        run standin kernel convert a.txt "$out"
        [ "$status" = 2 ]
    done
    cmp a.txt "$golden/tiny.txt"
}

@test "bad input: a file of ours is replaced whole, a foreign folder not at all" {
    echo old >out.csv
    standin kernel convert --quiet "$golden/tiny.txt" out.csv
    [ "$(wc -l <out.csv)" = 16 ]
    mkdir mine
    echo precious >mine/letter
    run standin kernel convert "$golden/tiny.txt" mine --to ctf
    [ "$status" = 1 ]
    [ "$(cat mine/letter)" = precious ]
    [ "$(ls mine)" = letter ]
}

@test "bad input: rules that are none" {
    echo 'no such thing' >bad.rules
    run standin kernel check --rules bad.rules "$golden/tiny.txt"
    [ "$status" = 1 ]
    [[ "$output" == *"bad.rules"*"line 1"* ]]
    run standin kernel check --rules nothing.rules "$golden/tiny.txt"
    [ "$status" = 1 ]
}

@test "bad input: an empty trace is told from one of which nothing was selected" {
    echo 'time_ns,cpu,tid,comm,event,original,fields' >head.csv
    run standin kernel train head.csv -o m.stn
    [ "$status" = 1 ]
    [ "$output" = "standin kernel train: head.csv: holds no event" ]
    run standin kernel train --cpu 0 head.csv -o m.stn
    [ "$output" = "standin kernel train: head.csv: holds no event that was selected" ]
    [ ! -e m.stn ]
}

@test "bad input: --verify of what cannot be read back" {
    echo 'time_ns,cpu,tid,comm,event,original,fields' >head.csv
    for out in a.json a.json.zst "--to=json b.txt"; do
        # shellcheck disable=SC2086 # words on purpose
        run standin kernel convert --verify head.csv $out
        [ "$status" = 2 ]
        [[ "$output" == *"--verify: "*"not read"* ]]
    done
    [ "$(ls)" = head.csv ]
    standin kernel convert --verify head.csv a.txt
}

# libbabeltrace2 asserts what these heads do not hold: sizes with their top bit set, a time
# beyond all times.
@test "damaged heads of CTF packets are told, not asserted" {
    standin kernel convert --quiet "$STN_SOURCE_DIR/examples/backup.run3.txt.zst" whole.ctf
    for at in 55 63; do
        rm -rf damaged.ctf
        cp -r whole.ctf damaged.ctf
        printf '\xff' | dd of=damaged.ctf/channel0_0 bs=1 seek=$at conv=notrunc status=none
        refused damaged.ctf
    done
    rm -rf damaged.ctf
    cp -r whole.ctf damaged.ctf
    printf '\xff\xff\xff\xff\xff\xff\xff\xff' |
        dd of=damaged.ctf/channel0_0 bs=1 seek=32 conv=notrunc status=none
    refused damaged.ctf
}
