#!/bin/bash
# scripts/install.sh PREFIX: release build, then install. DESTDIR is honoured.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh build
cmake --preset release -DCMAKE_INSTALL_PREFIX="$1" >/dev/null
scripts/build.sh release
cmake --install build/release
if [ -z "${DESTDIR:-}" ] && [ "$(id -u)" = 0 ]; then
    ldconfig
fi
