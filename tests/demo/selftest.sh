#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The live demo must fail when the history is not that of the board: it is given board files with
# mistakes. Prints PASS and FAIL lines.
set -u

cd "$(dirname "$0")/../.." || exit 1
good=configs/virtual-a9.conf
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# wrong NAME SED-SCRIPT MESSAGE: the demo on the changed board file fails and says so.
wrong() {
    sed "s|\$DIR|$PWD/configs|g; $2" "$good" >"$work/board.conf"
    if cmp -s "$good" "$work/board.conf"; then
        echo "FAIL demo notices $1: the board file is unchanged"
    elif BOARD=$work/board.conf tests/demo/run.sh >"$work/out" 2>&1 </dev/null; then
        echo "FAIL demo notices $1: it ended well"
    elif ! grep -Eq "^demo failed: .*($3)" "$work/out"; then
        echo "FAIL demo notices $1: $(grep '^demo failed' "$work/out" || tail -1 "$work/out")"
    else
        echo "PASS demo notices $1"
        return
    fi
    failed=1
}

wrong "no trace of the core" 's/^ETMTRACEIDR = 0x10/ETMTRACEIDR = 0x11/' 'GDB ended'
wrong "a trace unit with other settings" 's/^ETMCR = 0x20000000/ETMCR = 0x20001000/' 'GDB ended|history'
# The loop of copy_name() does not branch back in this program file.
LC_ALL=C sed 's/\x3a\x2b\xf9\xd1/\x3a\x2b\x00\xbf/' configs/virtual/crash-a9.elf >"$work/wrong.elf"
wrong "code that is not what runs" "s|^program = .*|program = $work/wrong.elf|" 'GDB ended|history|gaps'
wrong "a board that does not start" 's/-M vexpress-a9/-M no-such-machine/' 'does not start'
exit $failed
