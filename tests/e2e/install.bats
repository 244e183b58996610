# What `make install` puts in place works from there, and `make uninstall` takes it away.

setup_file() {
    export PREFIX="$BATS_FILE_TMPDIR/prefix"
    run cmake --install "$STN_BUILD_DIR" --prefix "$PREFIX"
    [ "$status" = 0 ] || { echo "$output"; return 1; }
    export PKG_CONFIG_PATH="$PREFIX/lib/pkgconfig"
}

# Another prefix than the one that was configured: the .pc file must find out by itself.
pc() {
    pkg-config "$@" standin
}

program() {
    cat >"$BATS_TEST_TMPDIR/use.c" <<'C'
#include <standin/standin.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    puts(stn_version());
    return stn_format_count() == 0;
}
C
}

@test "install: a C program links the shared library through pkg-config" {
    program
    gcc -std=c17 -Wall -Wextra -Wpedantic -Werror "$BATS_TEST_TMPDIR/use.c" $(pc --cflags --libs) \
        -o "$BATS_TEST_TMPDIR/use"
    run env LD_LIBRARY_PATH="$PREFIX/lib" "$BATS_TEST_TMPDIR/use"
    [ "$status" = 0 ]
    [ "$output" = "$(pc --modversion)" ]
}

@test "install: the example of the C interface compiles as its head says" {
    gcc -o "$BATS_TEST_TMPDIR/read" "$STN_SOURCE_DIR/examples/api/read.c" $(pc --cflags --libs)
    run env LD_LIBRARY_PATH="$PREFIX/lib" "$BATS_TEST_TMPDIR/read" \
        "$STN_SOURCE_DIR/examples/backup.run3.txt.zst"
    [ "$status" = 0 ]
    [[ "$output" == "ftrace, 36000 events, 0 lost"* ]]
}

@test "install: a C program links the static library" {
    program
    gcc -std=c17 "$BATS_TEST_TMPDIR/use.c" $(pc --cflags) "$PREFIX/lib/libstandin.a" \
        $(pc --static --libs | sed 's/-lstandin//') -o "$BATS_TEST_TMPDIR/use"
    run "$BATS_TEST_TMPDIR/use"
    [ "$status" = 0 ]
    [ "$output" = "$(pc --modversion)" ]
}

@test "install: the program says the version that pkg-config says" {
    run "$PREFIX/bin/standin" --version
    [ "$status" = 0 ]
    [[ "$output" == *"$(pc --modversion)"* ]]
}

@test "install: every man page renders without a warning" {
    ls "$PREFIX"/share/man/man1/standin*.1
    for page in "$PREFIX"/share/man/man1/*.1; do
        run env LC_ALL=C.UTF-8 MANROFFSEQ= MANWIDTH=80 man --warnings -l "$page"
        [ "$status" = 0 ]
        [[ "$output" == *standin* ]]
        [[ "$output" != *warning* ]]
    done
}

@test "install: the completion is a script that bash accepts and completes commands" {
    run bash -c ". '$PREFIX/share/bash-completion/completions/standin' && complete -p standin"
    [ "$status" = 0 ]
}

@test "install: uninstall leaves no file" {
    cmake -P "$STN_SOURCE_DIR/cmake/uninstall.cmake" "$STN_BUILD_DIR/install_manifest.txt"
    run find "$PREFIX" -type f -o -type l
    [ "$output" = "" ]
}

@test "install: under DESTDIR all three shells find a completion, and uninstall takes them away" {
    dest=$BATS_TEST_TMPDIR/dest
    run env DESTDIR="$dest" cmake --install "$STN_BUILD_DIR" --prefix /usr/local
    [ "$status" = 0 ] || { echo "$output"; return 1; }
    share=$dest/usr/local/share
    bash -n "$share/bash-completion/completions/standin"
    [ "$(head -n 1 "$share/zsh/site-functions/_standin")" = "#compdef standin" ]
    grep -q '^complete -c standin' "$share/fish/vendor_completions.d/standin.fish"
    if command -v zsh >/dev/null; then zsh -n "$share/zsh/site-functions/_standin"; fi
    if command -v fish >/dev/null; then fish -n "$share/fish/vendor_completions.d/standin.fish"; fi
    DESTDIR="$dest" cmake -P "$STN_SOURCE_DIR/cmake/uninstall.cmake" "$STN_BUILD_DIR/install_manifest.txt"
    [ -z "$(find "$dest" -type f -o -type l)" ]
}
