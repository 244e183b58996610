#!/bin/bash
# scripts/setup.sh [build|test]: installs what is missing on Debian 12, as root or with
# sudo. "build" is what `make demo` needs, "test" adds what the tests and checks need.
# Asks no registry when everything is there.
set -euo pipefail
cd "$(dirname "$0")/.."

# One line: what it is for, then Debian's packages.
build_packages=(
    build-essential cmake ninja-build pkg-config                 # compiler and build
    libbabeltrace2-dev                                           # CTF
    libtracefs-dev libtraceevent-dev libtracecmd-dev             # live tracing, trace.dat
    libzstd-dev zlib1g-dev libjansson-dev                        # compressed text, JSON
    libsqlite3-dev libpq-dev                                     # the latency database
    libdnnl-dev                                                  # matrix products
)
test_packages=(
    git libcmocka-dev bats zstd gzip jq                          # tests
    babeltrace2 trace-cmd sqlite3                                # independent readers
    postgresql                                                   # a server for the latency database
    clang clang-format clang-tidy libclang-rt-14-dev shellcheck  # checks and fuzzing
    chromium                                                     # the pages that we write
    man-db time                                                  # manual pages, benchmarks
)

set_name=${1:-test}
case $set_name in
build) packages=("${build_packages[@]}") ;;
test) packages=("${build_packages[@]}" "${test_packages[@]}") ;;
*)
    echo "usage: scripts/setup.sh [build|test]" >&2
    exit 2
    ;;
esac

# Node comes in many ways (Debian's npm package is one): what counts is that it runs.
# llama.cpp comes through it, from packages that scripts/engine.sh pins.
if [ "$set_name" = test ] || scripts/engine.sh --needed; then
    command -v npm >/dev/null || packages+=(npm)
    command -v git >/dev/null || packages+=(git)
fi

log=build/setup.log
mkdir -p build

# Run a command quietly; on failure show its last words and stop.
quietly() {
    if ! "$@" >>"$log" 2>&1; then
        tail -n 20 "$log" >&2
        echo "setup: failed: $*" >&2
        exit 1
    fi
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "setup: needs root or sudo to install: ${missing[*]}" >&2
        exit 1
    fi
}

missing=()
for package in "${packages[@]}"; do
    state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
done

if [ ${#missing[@]} -gt 0 ]; then
    echo "setup: apt-get install ${missing[*]}"
    : >"$log"
    quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update
    quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
        -o Dpkg::Use-Pty=0 install --no-install-recommends "${missing[@]}"
else
    echo "setup: all packages for '$set_name' are there"
fi

# playwright-core drives Debian's chromium in the browser tests. It lies in build/, pinned
# by the lock file; the copy of the lock says which one is there.
if [ "$set_name" = test ]; then
    browser=build/browser
    if [ ! -d $browser/node_modules/playwright-core ] ||
        ! cmp -s tests/browser/package-lock.json $browser/package-lock.json; then
        echo "setup: npm ci (playwright-core, into $browser)"
        rm -rf $browser
        mkdir -p $browser
        cp tests/browser/package.json tests/browser/package-lock.json $browser/
        quietly npm --prefix $browser ci --ignore-scripts --no-audit --no-fund --loglevel=error
    fi
fi

# The LLM engine. Everything but what runs it works without.
if scripts/engine.sh --needed; then
    echo "setup: llama.cpp (libraries and headers, into build/engine)"
    if ! scripts/engine.sh >>"$log" 2>&1; then
        tail -n 3 "$log" >&2
        echo "setup: llama.cpp could not be fetched; what needs it will say so" >&2
    fi
fi
