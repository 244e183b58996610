#!/bin/bash
# scripts/engine.sh [--needed]: llama.cpp for build/engine (include/, lib/, VERSION), from two npm
# packages: the shared libraries of one, the headers that lie in the git bundle of the other.
# Their versions and contents are pinned by scripts/engine.sha512; nothing else is installed,
# nothing of them is run. --needed only says, by exit code 0, that it would have to fetch.
# An installed llama.cpp (pkg-config or CMake) is left to CMake. Exit code 1: could not.
set -euo pipefail
cd "$(dirname "$0")/.."
engine=build/engine
pins=$PWD/scripts/engine.sha512

installed() {
    pkg-config --exists llama 2>/dev/null ||
        compgen -G '/usr/lib*/cmake/llama/llama-config.cmake' >/dev/null ||
        compgen -G '/usr/lib/*/cmake/llama/llama-config.cmake' >/dev/null ||
        compgen -G '/usr/local/lib*/cmake/llama/llama-config.cmake' >/dev/null
}
fetched() {
    [ -f $engine/VERSION ] && cmp -s "$pins" $engine/engine.sha512
}
if installed || fetched || [ "$(uname -m)" != x86_64 ]; then
    [ "${1:-}" != --needed ] || exit 1
    exit 0
fi
[ "${1:-}" != --needed ] || exit 0

mkdir -p build
work=$(mktemp -d "$PWD/build/engine.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
# "@scope/name" is packed as scope-name; each line of the pins is "hash  file".
npm pack --silent --ignore-scripts node-llama-cpp@3.22.1 @node-llama-cpp/linux-x64@3.22.1 >/dev/null
sha512sum --quiet --check "$pins"
mkdir libraries headers new
tar -xzf node-llama-cpp-linux-x64-3.22.1.tgz -C libraries
tar -xzf node-llama-cpp-3.22.1.tgz -C headers package/llama/gitRelease.bundle package/llama/llama.cpp.info.json
git -c advice.detachedHead=false clone -q --bare headers/package/llama/gitRelease.bundle source
mkdir new/lib new/tree new/include
cp libraries/package/bins/linux-x64/*.so new/lib/
git -C source archive HEAD include ggml/include LICENSE | tar -x -C new/tree
cp new/tree/include/*.h new/tree/ggml/include/*.h new/include/
cp new/tree/LICENSE new/
rm -rf new/tree
sed -n 's/.*"tag": *"v\([^"]*\)".*/\1/p' headers/package/llama/llama.cpp.info.json >new/VERSION
[ -s new/VERSION ]
cp "$pins" new/engine.sha512
cd - >/dev/null
rm -rf $engine
mv "$work/new" $engine
