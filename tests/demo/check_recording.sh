#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Is the demo's recording what the program really did? Prints PASS, FAIL or SKIP lines.
set -u

here=$(cd "$(dirname "$0")" && pwd)
recording=$here/recording
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

result() { # name, status, reason
    if [ "$2" -eq 0 ]; then
        echo "PASS demo recording: $1"
    else
        echo "FAIL demo recording: $1: $(printf '%s' "$3" | tail -1)"
        failed=1
    fi
}

core=$recording/device_0.ini

# Value of register NAME.
register() {
    awk -F= -v name="$1" '$1 == name { print $2 }' "$core"
}

# Address of the dump in FILE.
address() {
    awk -F= -v file="$1" '/^\[/ { at = 0 } $1 == "file" { at = $2 == file }
        at && $1 == "address" { print $2 }' "$core"
}

same_run() {
    mkdir "$work/run" || return 1
    "$here/run_in_qemu.sh" "$here/crash.elf" "$here/crash.c" "$work/run" || return 1
    gunzip -c "$here/run.txt.gz" | cmp - "$work/run/run.txt"
}

same_registers() {
    [ "$(wc -l <"$work/run/registers.txt")" -eq 17 ] || {
        echo "not 17 registers"
        return 1
    }
    while IFS='=' read -r name number; do
        [ $(($(register "$name") + 0)) -eq $((number)) ] || {
            echo "$name is $(register "$name"), was $number"
            return 1
        }
    done <"$work/run/registers.txt"
}

same_memory() {
    # shellcheck source=/dev/null
    . "$work/run/memory.txt"
    # shellcheck disable=SC2154 # code, data: from memory.txt
    [ $(($(address dump_0.bin) + 0)) -eq $((code)) ] &&
        [ $(($(address dump_1.bin) + 0)) -eq $((data)) ] &&
        cmp "$recording/dump_0.bin" "$work/run/code.bin" &&
        cmp "$recording/dump_1.bin" "$work/run/data.bin"
}

decode_is_run() {
    trc_pkt_lister -ss_dir "$recording" -decode -logfilename "$work/listing" || return 1
    python3 "$here/compare_run.py" "$work/listing" "$here/run.txt.gz" \
        "$recording/dump_0.bin" "$(address dump_0.bin)"
}

relative_names() {
    arm-none-eabi-readelf --debug-dump=info,line "$here/crash.elf" >"$work/dwarf" || return 1
    grep -q 'crash\.c' "$work/dwarf" || {
        echo "no debug information"
        return 1
    }
    ! grep -E '(^|[^0-9A-Za-z_./])/[A-Za-z]+/' "$work/dwarf"
}

small() {
    size=$(cat "$here/crash.elf" "$here/run.txt.gz" "$recording"/* | wc -c)
    [ "$size" -lt 65536 ] || {
        echo "$size bytes"
        return 1
    }
}

if command -v qemu-system-arm >/dev/null && command -v gdb-multiarch >/dev/null; then
    out=$(same_run 2>&1)
    result "the program runs as it was written down" $? "$out"
    out=$(same_registers 2>&1)
    result "registers are those of the run" $? "$out"
    out=$(same_memory 2>&1)
    result "memory is that of the run" $? "$out"
else
    echo "SKIP demo recording: qemu-system-arm or gdb-multiarch is not installed"
fi
if command -v trc_pkt_lister >/dev/null; then
    out=$(decode_is_run 2>&1)
    result "OpenCSD decodes it to the run" $? "$out"
else
    echo "SKIP demo recording: trc_pkt_lister is not installed"
fi
out=$(relative_names 2>&1)
result "no machine paths in crash.elf" $? "$out"
out=$(small 2>&1)
result "smaller than 64 KiB" $? "$out"
exit $failed
