#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The demo of a recording: btraced serves what was recorded of a board that stopped in its fault
# handler, and a stock GDB asks it how the board got there. Needs no board, no network, no terminal.
set -eu

cd "$(dirname "$0")/../.."
# shellcheck source=tests/demo/lib.sh
. tests/demo/lib.sh
# From main's last call of read_value() to fault().
last_calls=32

session() {
    echo 'directory tests/demo'
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
    expect_no_complaints
    ! grep -q 'Cannot access memory' "$work/gdb" || give_up "GDB could not read memory"
}

start_server replay --listen 127.0.0.1:0 tests/demo/recording
session | run_gdb tests/demo/crash.elf
check_session
stop_server
echo "demo: all of this came out of $(cat tests/demo/recording/buffer_*.bin | wc -c) bytes of trace"
