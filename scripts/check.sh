#!/bin/bash
# scripts/check.sh [STEP…]: everything about the tree that can be checked without running
# the program. CI runs exactly this. Each step is a function below; all run, each says what
# is wrong and how it is put right; exit 1 if any did not hold.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

mapfile -t sources < <(git ls-files --cached --others --exclude-standard 'src/*.c')
mapfile -t headers < <(git ls-files --cached --others --exclude-standard 'src/*.h' 'include/*.h')
mapfile -t public < <(git ls-files --cached --others --exclude-standard 'include/*.h')
mapfile -t c_files < <(git ls-files --cached --others --exclude-standard '*.c' '*.h')
mapfile -t scripts < <(git ls-files --cached --others --exclude-standard '*.sh' '.ci/run')

# Headers from outside are looked at as CMake does: as the system's, without warnings.
outside=$(pkg-config --cflags babeltrace2 libtracefs libtraceevent libtracecmd libzstd jansson sqlite3)
read -r -a cflags <<<"-D_GNU_SOURCE= -DSTN_VERSION=\"0\" -Iinclude -Isrc ${outside//-I/-isystem }"
warnings=(-Wall -Wextra -Wpedantic -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror)

# clang-format 14 with the .clang-format of the tree.
step_format() {
    clang-format --dry-run -Werror "${c_files[@]}" 2>&1 | grep -E 'error:' |
        sed 's/: error:.*/: format; run clang-format -i/' | awk -F: '!seen[$1]++'
    return "$((PIPESTATUS[0] != 0))"
}

# gcc without warnings is the dev build; this is clang.
step_clang() {
    printf '%s\0' "${sources[@]}" | xargs -0 -r -P2 -n8 clang -std=c17 -fsyntax-only \
        "${cflags[@]}" "${warnings[@]}"
}

# Every header compiles alone as C17; the public ones as C++17 too.
step_headers() {
    local bad=0 header
    for header in "${headers[@]}"; do
        printf '#include "%s"\ntypedef int not_empty;\n' "$header" | gcc -std=c17 -fsyntax-only -I. "${cflags[@]}" \
            "${warnings[@]}" -x c - || { echo "$header: does not compile alone"; bad=1; }
    done
    for header in "${public[@]}"; do
        echo "#include \"$header\"" | g++ -std=c++17 -fsyntax-only -I. -Iinclude \
            -Wall -Wextra -Wpedantic -Werror -x c++ - ||
            { echo "$header: does not compile as C++17"; bad=1; }
    done
    return $bad
}

# Doxygen tags of the contracts name what is there.
step_documentation() {
    printf '%s\0' "${headers[@]}" | xargs -0 -r -n1 clang -std=c17 -fsyntax-only \
        "${cflags[@]}" -Wdocumentation -Wno-pragma-once-outside-header -Werror -x c
}

step_floors() {
    scripts/check_floors.sh
}

# Every symbol that a user of the library can collide with begins with stn_.
step_symbols() {
    scripts/build.sh dev standin_static || return 1
    nm -g --defined-only build/dev/libstandin.a | awk 'NF == 3 && $3 !~ /^stn_/ {
        print $3 ": an external symbol without stn_"; bad = 1 } END {exit bad}'
}

# clang-tidy, with functions of at most 70 lines.
step_tidy() {
    [ -f build/dev/compile_commands.json ] || cmake --preset dev >/dev/null || return 1
    mkdir -p build/tidy
    printf '%s\0' "${sources[@]}" | xargs -0 -r -P2 -n1 scripts/tidy_one.sh
}

# Files of at most 800 lines.
step_sizes() {
    wc -l "${c_files[@]}" "${scripts[@]}" |
        awk '$2 != "total" && $1 > 800 {print $2 ": " $1 " lines; 800 are the limit"; bad = 1}
             END {exit bad}'
}

step_shell() {
    shellcheck -x "${scripts[@]}"
}

# Nothing of one machine, no registry address, no promise without a reason.
step_words() {
    local bad=0
    git grep -nIE '(^|[^a-z.])/(work|home|root|tmp/bash_jobs)/' -- . ':!scripts/check.sh' &&
        { echo 'a path of one machine'; bad=1; }
    git grep -nIE 'registry\.npm|deb\.debian\.org|"resolved":|npmjs' -- . ':!scripts/check.sh' &&
        { echo 'the address of a registry'; bad=1; }
    git grep -nIwE 'FIXME|XXX|TODO' -- src include tests scripts cmake bench ':!scripts/check.sh' |
        grep -vE 'TODO: .*because' && { echo 'a promise without "TODO: … because …"'; bad=1; }
    git grep -nIiE 'not (yet )?implemented|placeholder implementation' -- src include &&
        { echo 'an unfinished function'; bad=1; }
    return $bad
}

# Relative links of the pages lead somewhere, and docs/README.md leads to every page.
step_links() {
    local bad=0 page link
    while IFS=: read -r page link; do
        link=${link#*](}
        link=${link%)}
        link=${link%%#*}
        [ -z "$link" ] || [ -e "$(dirname "$page")/$link" ] ||
            { echo "$page: link to $link, which is not there"; bad=1; }
    done < <(git grep -oIE '\]\([^)# ]+(#[^) ]*)?\)' -- '*.md' | grep -vE '\]\((https?|mailto):')
    for page in docs/*.md docs/adr/*.md docs/formats/*.md; do
        [ "$page" = docs/README.md ] || grep -qF "](${page#docs/})" docs/README.md ||
            { echo "docs/README.md: does not lead to $page"; bad=1; }
    done
    return $bad
}

all=(format clang headers documentation floors symbols tidy sizes shell words links)
[ $# -gt 0 ] || { set -- "${all[@]}" && scripts/setup.sh test; } || exit 1
broken=()
for step in "$@"; do
    start=$SECONDS
    if output=$("step_$step" 2>&1); then
        printf 'check: %-14s holds (%d s)\n' "$step" $((SECONDS - start))
    else
        printf '%s\n' "$output" | head -n 60
        printf 'check: %-14s DOES NOT HOLD\n' "$step"
        broken+=("$step")
    fi
done
[ ${#broken[@]} = 0 ] || { echo "check: broken: ${broken[*]}"; exit 1; }
echo "check: all $# hold"
