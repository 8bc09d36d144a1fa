#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The demo: btraced serves the recording of a board that stopped in its fault handler, and a stock
# GDB asks it how the board got there. Needs no board, no network, no terminal.
# BTRACED=PROGRAM: another btraced than build/btraced.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
btraced=${BTRACED:-build/btraced}
# From main's last call of read_value() to fault().
last_calls=32

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

# The server says when it is ready. It ends when the port is taken: then the next one.
start_server() {
    port=$((20000 + $$ % 20000))
    for attempt in 1 2 3 4 5; do
        port=$((port + attempt))
        : >"$work/server"
        "$btraced" replay --listen "127.0.0.1:$port" tests/demo/recording \
            >"$work/server" 2>&1 </dev/null &
        server=$!
        waited=0
        while kill -0 "$server" 2>/dev/null; do
            ! grep -q "^Listening on port $port\$" "$work/server" || return 0
            waited=$((waited + 1))
            [ "$waited" -lt 100 ] || give_up "the server is not ready after 10 seconds"
            sleep 0.1
        done
        wait "$server" || true
        server=
    done
    give_up "the server does not start"
}

say() {
    printf '%s\n' "" "$@" | sed 's/^/echo #  /; s/^echo #  $/echo /; s/$/\\n/'
}

gdb_command() {
    printf 'echo (gdb) %s\\n\n%s\n' "$(printf '%s' "$1" | sed 's/\\/&&/g')" "$1"
}

session() {
    cat <<END
set confirm off
set pagination off
set width 0
directory tests/demo
END
    say "A board has stopped. We have its ELF file, and a recording: registers, memory, and" \
        "what its trace unit wrote. First what any debugger shows."
    gdb_command "target remote 127.0.0.1:$port"
    gdb_command "backtrace"
    gdb_command 'printf "%s\n", console'
    say "It is in fault(), and the backtrace does not say who came here: 0x2c is no code." \
        "The console shows that the last message never got its value." \
        "Now the trace: btraced has decoded it, and GDB found a recording when it connected."
    gdb_command "info record"
    say "Which functions ran last? Oldest first, from the point where main() takes up the message."
    gdb_command "set record function-call-history-size $last_calls"
    gdb_command "record function-call-history /i"
    say "read_call() looked up \"sum\", then read_arguments() got five numbers, one after the" \
        "other. Back in read_call() the next thing is the exception vector, and fault()." \
        "These are the very last instructions, with their source:"
    gdb_command "set record instruction-history-size 10"
    gdb_command "record instruction-history /s"
    say "So the jump through call.apply went wrong. Step backwards from the fault, line by line:"
    for _ in 1 2 3 4 5 6 7 8; do
        gdb_command "reverse-step"
    done
    say "This line stored the fifth number, 40. How much room is there?"
    gdb_command "ptype /o struct call"
    say "Room for four. The fifth went over call.apply, and read_call() jumped to 40 = 0x28." \
        "(0x2c, which ended the backtrace, is the return address of that abort: 0x28 + 4.)" \
        "The history goes all the way back to the first instruction after reset:"
    gdb_command "record goto begin"
    gdb_command "record instruction-history"
    say "And back to the present."
    gdb_command "record goto end"
    printf '%s\n' 'echo \n' 'record stop' 'detach'
}

# Function names of the history listing, in one line.
functions() {
    awk '/^[0-9]+\t/ && $3 == "inst" { printf "%s ", $2 }' "$work/gdb"
}

expect() {
    grep -Eq "$1" "$work/gdb" || give_up "GDB did not print '$1'"
}

check_session() {
    round="read_value read_number read_value read_arguments "
    expected="main read_value read_call read_operation accept_word read_operation read_call \
read_arguments $round$round$round$round${round}read_call vectors prefetch_abort_entry fault "
    [ "$(functions)" = "$expected" ] || give_up "the history is '$(functions)'"
    expect '^#0  fault \(address=40\) at (\./)?crash\.c'
    expect '^sum\(8,16,24,32,40\)=$'
    expect '^Recorded [0-9]+ instructions in [0-9]+ functions \(0 gaps\)'
    expect '<read_call\+30>:.blx.r3$'
    expect '<prefetch_abort_entry\+0>:'
    expect '^prefetch_abort_entry \(\) at '
    expect '^read_call \(\) at '
    expect '^[0-9]+.        call->args\[call->count\] = value;$'
    expect '^1.=> 0x80010020 <start\+0>:'
    ! grep -Eq 'decode error|<UNDEFINED>|Cannot access memory|^warning:' "$work/gdb" ||
        give_up "GDB complains"
}

[ -x "$btraced" ] || give_up "no program '$btraced': run make first"
start_server
session >"$work/session"
HOME=$work LC_ALL=C DEBUGINFOD_URLS='' timeout 60 gdb-multiarch -q -nx -batch \
    -x "$work/session" tests/demo/crash.elf >"$work/gdb" 2>&1 </dev/null || {
    cat "$work/gdb"
    give_up "GDB ended with an error"
}
cat "$work/gdb"
check_session
kill "$server" 2>/dev/null || true
status=0
wait "$server" || status=$?
server=
case $status in
0 | 143) ;;
*) give_up "the server ended with status $status" ;;
esac
echo "demo: all of this came out of $(cat tests/demo/recording/buffer_*.bin | wc -c) bytes of trace"
