#!/bin/bash
# scripts/build.sh PRESET [TARGET…]: configure once, then build. Quiet unless it fails.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
mkdir -p build
log=build/$preset.log
# Again when llama.cpp has come since: configuring is what looks for it.
if [ ! -f "build/$preset/build.ninja" ] || [ build/engine/VERSION -nt "build/$preset/build.ninja" ]; then
    cmake --preset "$preset" >"$log" 2>&1 || {
        cat "$log" >&2
        exit 1
    }
fi
targets=()
for target in "$@"; do
    targets+=(--target "$target")
done
start=$SECONDS
cmake --build --preset "$preset" "${targets[@]}" >"$log" 2>&1 || {
    grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking)' "$log" >&2 || true
    echo "build: preset $preset failed, see $log" >&2
    exit 1
}
echo "build: preset $preset in $((SECONDS - start)) s"
