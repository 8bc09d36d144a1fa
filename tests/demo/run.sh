#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The demo: a live board crashes, and a stock GDB asks btraced how it got there. The board is QEMU
# with a trace port. Needs no hardware, no network, no terminal.
# BOARD=FILE: another board file than configs/virtual-a9.conf.
set -eu

cd "$(dirname "$0")/../.."
# shellcheck source=tests/demo/lib.sh
. tests/demo/lib.sh
board=${BOARD:-configs/virtual-a9.conf}

# What the server says before it waits for GDB.
start_summary() {
    printf '%s\n' "" \
        "#  A greenhouse controller crashes: configs/virtual/crash.c, 290 lines. It runs on a board with" \
        "#  a Cortex-A9 and a trace port. The board is QEMU here, so no hardware is needed." \
        "#  In one terminal, btraced starts the board and waits for GDB:" \
        "\$ btraced serve -c $board"
    sed '/^board:/d; /^in GDB/q' "$work/server"
}

session() {
    echo 'directory configs/virtual'
    say "In another terminal, GDB: gdb-multiarch configs/virtual/crash-a9.elf" \
        "Connect, switch the history on, and let the program run into its crash. It halts at main()" \
        "once: from there on btraced knows all registers and RAM."
    gdb_command "target extended-remote 127.0.0.1:$port"
    gdb_command "record btrace"
    gdb_command "tbreak main"
    gdb_command "continue"
    gdb_command "break stopped_here"
    gdb_command "continue"
    say "The fault handler ends in stopped_here(). First what any debugger shows:"
    gdb_command "backtrace"
    gdb_command "frame 4"
    gdb_command "print *topic"
    gdb_command "x/s topic"
    say "The report walks a tree of topics. In one of them the pointer 'left' is 0x322d6573, which is" \
        "no address but the text \"se-2\". Who wrote it? Not the report. The backtrace cannot tell:" \
        "whoever did it has returned long ago. But the trace port has told btraced each branch."
    gdb_command "info record"
    say "The newest part, as much as GDB's buffer holds. Its last functions, oldest first:"
    gdb_command "set record function-call-history-size 14"
    gdb_command "record function-call-history /i"
    say "A message was filed, then the report ran into the fault. Backwards from the halt, by line," \
        "through the handler and the exception vector into the report:"
    for _ in 1 2 3 4 5 6 7 8; do
        gdb_command "reverse-step"
    done
    say "All of that only follows the pointer. Go back to where the last topic was made:"
    gdb_command "tbreak new_topic"
    gdb_command "reverse-continue"
    gdb_command "info record"
    say "Thousands of instructions before the fault. GDB replays the PC, and no other" \
        "register: so here the arguments are unavailable. What ran from there?"
    gdb_command "set record function-call-history-size 5"
    gdb_command "record function-call-history /i"
    gdb_command "list copy_name"
    say "copy_name() copies up to the colon, however far that is. How often did line 117 run this" \
        "time? A breakpoint that does not stop counts it, on the way back to the present:"
    gdb_command "break crash.c:117"
    gdb_command "ignore 4 1000"
    gdb_command "continue"
    gdb_command "info breakpoints 4"
    say "12 letters, \"greenhouse-2\". Back to the last of them, where it was stored:"
    gdb_command "ignore 4 0"
    gdb_command "reverse-continue"
    gdb_command "set record instruction-history-size 9"
    gdb_command "record instruction-history /s"
    say "How much room is there?"
    gdb_command "ptype /o struct topic"
    say "8 letters. The other 4 went over 'left'. That is the mistake: the name is too long for" \
        "copy_name(), and 3 messages later the report followed the pointer." \
        "Back to the present, and what btraced says of the trace:"
    gdb_command "record goto end"
    gdb_command "monitor trace status"
    say "With record btrace GDB replays the PC by itself. Without it btraced is asked, and has worked out" \
        "values: of the halt at main(), along the way that the trace tells. The same once more:"
    gdb_command "record stop"
    gdb_command "delete 4"
    gdb_command "tbreak new_topic"
    gdb_command "reverse-continue"
    gdb_command "tbreak copy_name"
    gdb_command "continue"
    gdb_command "print *(struct topic *)name"
    gdb_command "finish"
    gdb_command "print *(struct topic *)topics[10].name"
    printf '%s\n' 'echo \n' 'detach'
}

# A number after the last match of a pattern in GDB's output.
number_after() {
    sed -n "s/^.*$1 \\([0-9][0-9]*\\).*\$/\\1/p" "$work/gdb" | tail -1
}

check_session() {
    last="read_number file_message add_value keep_average add_value file_message main report_topics \
vectors data_abort_entry data_abort_handler data_fault_address data_abort_handler "
    made="new_topic copy_name new_topic file_message read_number "
    case "$(functions)" in
    *"$last$made") ;;
    *) give_up "the history is '$(functions)'" ;;
    esac
    expect '^#3  report_topics \(topic=0x322d6573\) at crash\.c'
    expect 'name = "greenhou", left = 0x322d6573'
    expect '"greenhouse-2"$'
    expect '^Recorded [0-9]+ instructions in [0-9]+ functions \(0 gaps\)'
    expect '^vectors \(\) at start-a9\.S'
    expect '^report_topics \(topic=<unavailable>\) at crash\.c'
    expect '^Temporary breakpoint 3, new_topic \(text=<unavailable>'
    made_at=$(number_after 'At instruction')
    recorded=$(number_after Recorded)
    [ "${made_at:-0}" -gt 0 ] && [ $((recorded - made_at)) -gt 5000 ] ||
        give_up "new_topic is at instruction ${made_at:-?} of ${recorded:-?}"
    expect 'breakpoint already hit 12 times$'
    expect '^Breakpoint 4, copy_name \('
    expect '=> 0x[0-9a-f]+ <copy_name\+6>:.strb\.w.r3, \[r0\], #1$'
    expect '<copy_name\+22>:.bx.lr$'
    expect '^/\*      8      \|       4 \*/    struct topic \*left;$'
    expect '^Temporary breakpoint 5, new_topic \(text=.*"greenhouse-2:a=[0-9]+"'
    expect '^Temporary breakpoint 6, copy_name \(name=.*<topics\+280> "", text=.*"greenhouse-2:a=[0-9]+"'
    expect 'name = "\\000+.*", left = 0x0'
    [ "$(grep -c 'name = "greenhou", left = 0x322d6573' "$work/gdb")" = 2 ] ||
        give_up "what copy_name() made of *topic is not shown"
    expect '^lost          nothing$'
    expect '^last run      complete up to the halt$'
    expect '^gaps          1 debug$' # the halt at main()
    expect_no_complaints
}

start_server serve -c "$board" --listen 127.0.0.1:0
children=$(cat "/proc/$server/task/$server/children" 2>/dev/null) || children=
start_summary
session | run_gdb configs/virtual/crash-a9.elf
check_session
stop_server
for child in $children; do # of one that has ended, at most an empty command line is left
    [ -z "$(tr -d '\0' 2>/dev/null <"/proc/$child/cmdline")" ] ||
        give_up "the board is still there: process $child"
done
echo "demo: done. To try it yourself: build/btraced serve -c virtual-a9"
