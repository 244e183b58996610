#!/bin/sh
# scripts/check_floors.sh [ROOT]: does every #include in ROOT/src keep to src/FLOORS?
# A file includes its own room, lower floors, and rooms to its left in the same wing.
# A public header <standin/NAME.h> counts as the room NAME; <standin/standin.h> is for
# src/app alone. Public headers themselves keep to the same order.
set -u
cd "${1:-$(dirname "$0")/..}" || exit 1
[ -f src/FLOORS ] || {
    echo "src/FLOORS: not there" >&2
    exit 1
}
find src include/standin -name '*.[ch]' | LC_ALL=C sort | xargs grep -nH '^[ 	]*#[ 	]*include' |
    awk '
function room_of(path, part, n) { # "core/base/map.c" -> "core/base"; "app/cli.c" -> "app"
    n = split(path, part, "/")
    if (n >= 3 && ((part[1] "/" part[2]) in place)) return part[1] "/" part[2]
    if (n >= 2 && (part[1] in place)) return part[1]
    return ""
}
function public_room(name) { # "trace" -> "kernel/trace"
    if (name == "standin") return "app"
    return name in by_name ? by_name[name] : ""
}
function complain(text) { print where ": " text; bad++ }

FILENAME == "src/FLOORS" {
    if ($0 ~ /^#/ || NF == 0) next
    for (i = 3; i <= NF; i++) {
        room = $i == $2 ? $2 : $2 "/" $i
        place[room] = i; floor[room] = $1; wing[room] = $2; by_name[$i] = room
    }
    next
}
{
    split($0, at, ":")
    file = at[1]; where = at[1] ":" at[2]
    if (file ~ /^include\/standin\//) {
        name = file; sub(/.*\//, "", name); sub(/\.h$/, "", name)
        own = public_room(name)
    } else {
        path = file; sub(/^src\//, "", path)
        own = room_of(path)
    }
    if (own == "") { complain("lies in no room of src/FLOORS"); next }

    line = $0; sub(/^[^:]*:[0-9]+:/, "", line)
    target = line
    if (line ~ /<standin\//) {
        sub(/.*<standin\//, "", target); sub(/\.h>.*/, "", target)
        other = public_room(target); shown = "<standin/" target ".h>"
    } else if (line ~ /"/) {
        sub(/^[^"]*"/, "", target); sub(/".*/, "", target)
        shown = "\"" target "\""
        other = target ~ /\// ? room_of(target) : own
        if (target ~ /^\.\.?\//) { complain(shown ": name it from src/"); next }
    } else next
    if (other == "") { complain(shown " lies in no room of src/FLOORS"); next }
    checked++
    if (other == own || floor[other] < floor[own]) next
    if (wing[other] == wing[own] && place[other] < place[own]) next
    complain(own " may not include " shown " (" other "): " \
        (wing[other] == wing[own] ? "it lies to the right" : \
         floor[other] == floor[own] ? "another wing" : "a higher floor"))
}
END {
    if (bad) exit 1
    print "floors: " checked + 0 " includes hold"
}' src/FLOORS -
