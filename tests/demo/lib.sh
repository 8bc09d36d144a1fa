# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# What the two demos share: a server, a stock GDB in batch mode, and checks of what GDB printed.
# To be sourced in the root of the source tree. BTRACED=PROGRAM: another btraced than build/btraced.

btraced=${BTRACED:-build/btraced}
work=$(mktemp -d)
server=

cleanup() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

give_up() {
    echo "demo failed: $1" >&2
    [ ! -s "$work/server" ] || sed 's/^/btraced: /' "$work/server" >&2
    exit 1
}

# start_server ARGUMENT...: sets $server and $port. The server says when it is ready, and where.
start_server() {
    [ -x "$btraced" ] || give_up "no program '$btraced': run make first"
    : >"$work/server"
    "$btraced" "$@" >"$work/server" 2>&1 </dev/null &
    server=$!
    waited=0
    until port=$(sed -n 's/^Listening on port //p' "$work/server") && [ -n "$port" ]; do
        if ! kill -0 "$server" 2>/dev/null; then
            server=
            give_up "the server does not start"
        fi
        waited=$((waited + 1))
        [ "$waited" -lt 300 ] || give_up "the server is not ready after 30 seconds"
        sleep 0.1
    done
}

# The server ends at a signal, with exit code 0.
stop_server() {
    status=0
    kill "$server" 2>/dev/null || true
    wait "$server" || status=$?
    server=
    [ "$status" -eq 0 ] || give_up "the server ended with status $status"
}

# say LINE...: a remark between the commands of a session.
say() {
    printf '%s\n' "" "$@" | sed 's/^/echo #  /; s/^echo #  $/echo /; s/$/\\n/'
}

# gdb_command COMMAND: shown as if it were typed, then carried out.
gdb_command() {
    printf 'echo (gdb) %s\\n\n%s\n' "$(printf '%s' "$1" | sed 's/\\/&&/g')" "$1"
}

# run_gdb ELF: the commands of standard input in GDB; what it prints goes to $work/gdb as well.
run_gdb() {
    {
        printf 'set %s\n' 'confirm off' 'pagination off' 'width 0' 'style enabled off'
        cat
    } >"$work/session"
    HOME=$work LC_ALL=C DEBUGINFOD_URLS='' timeout 100 gdb-multiarch -q -nx -batch \
        -x "$work/session" "$1" >"$work/gdb" 2>&1 </dev/null || {
        cat "$work/gdb"
        give_up "GDB ended with an error"
    }
    cat "$work/gdb"
}

# Function names of all the history listings, in one line.
functions() {
    awk '/^[0-9]+\t/ && $3 == "inst" { printf "%s ", $2 }' "$work/gdb"
}

expect() {
    grep -Eq "$1" "$work/gdb" || give_up "GDB did not print '$1'"
}

expect_no_complaints() {
    ! grep -Eq 'decode error|<UNDEFINED>|^warning:|^Error|internal-error' "$work/gdb" ||
        give_up "GDB complains"
}
