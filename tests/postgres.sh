#!/bin/bash
# tests/postgres.sh start FOLDER: a PostgreSQL cluster of one's own in FOLDER (made fresh), on a
#                                 socket there; prints its postgresql:// address
# tests/postgres.sh stop FOLDER:  end it; the folder stays
# Exit code 77: PostgreSQL's server is not installed. It refuses to run as root, so root becomes
# the user postgres, or nobody.
set -euo pipefail

server=$(find /usr/lib/postgresql/*/bin -name initdb 2>/dev/null | sort -V | tail -n 1) || true
[ -n "$server" ] || server=$(command -v initdb) || {
    echo "PostgreSQL's server is not installed"
    exit 77
}
server=$(dirname "$server")
folder=$(realpath -m "$2")

as_user() {
    if [ "$(id -u)" != 0 ]; then
        "$@"
    else
        (cd / && runuser -u "$(id -un postgres 2>/dev/null || echo nobody)" -- "$@")
    fi
}

case $1 in
start)
    rm -rf "$folder"
    mkdir -p "$folder/data"
    [ "$(id -u)" != 0 ] || chown -R "$(id -un postgres 2>/dev/null || echo nobody)" "$folder"
    chmod 755 "$folder"
    chmod 700 "$folder/data"
    as_user "$server/initdb" -D "$folder/data" -U standin -A trust -E UTF8 --no-locale --no-sync \
        >"$folder/log.init" 2>&1 || { cat "$folder/log.init" >&2; exit 1; }
    # Nothing of this lives longer than the test: no need to wait for the disk.
    as_user "$server/pg_ctl" -D "$folder/data" -l "$folder/data/log" -w -t 60 \
        -o "-c listen_addresses='' -k $folder -c fsync=off -c full_page_writes=off" start \
        >/dev/null 2>&1 </dev/null || { as_user cat "$folder/data/log" >&2; exit 1; }
    echo "postgresql://standin@/postgres?host=${folder//\//%2F}"
    ;;
stop)
    as_user "$server/pg_ctl" -D "$folder/data" -m immediate -w stop >/dev/null 2>&1
    ;;
*)
    echo "usage: tests/postgres.sh start|stop FOLDER" >&2
    exit 2
    ;;
esac
