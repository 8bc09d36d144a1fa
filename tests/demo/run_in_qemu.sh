#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs the demo program in QEMU up to where it stops and writes down what happened.
# usage: run_in_qemu.sh CRASH.ELF CRASH.C FOLDER
# Results in FOLDER: run.txt (see qemu_log.py), registers.txt (NAME=0xVALUE lines), code.bin,
# data.bin and memory.txt (their addresses).
set -eu

elf=$1 source=$2 out=$3
here=$(cd "$(dirname "$0")" && pwd)

symbol() {
    arm-none-eabi-nm "$elf" | awk -v name="$1" '$3 == name { print "0x" $1 }'
}

line=$(grep -n 'halted here' "$source" | cut -d: -f1)
code=$(symbol code_start)
data=$(symbol data_start)
rm -f "$out/qemu.log" "$out/gdb.sock"

case $(qemu-system-arm --version) in # the option's older name is gone from version 10
*"version 7."*) one="-singlestep" ;;
*) one="-accel tcg,one-insn-per-tb=on" ;;
esac
# shellcheck disable=SC2086 # two words
QEMU_AUDIO_DRV=none qemu-system-arm -M vexpress-a15 -display none -monitor none -serial none \
    -audiodev none,id=none -global pl041.audiodev=none $one -d exec,nochain,cpu,int -D "$out/qemu.log" -kernel "$elf" -S \
    -chardev "socket,path=$out/gdb.sock,server=on,wait=off,id=gdb" -gdb chardev:gdb \
    2>"$out/qemu.err" &
qemu=$!
trap 'kill $qemu 2>/dev/null || true' EXIT
tries=0
until [ -S "$out/gdb.sock" ]; do
    tries=$((tries + 1))
    if [ $tries -gt 100 ] || ! kill -0 $qemu 2>/dev/null; then
        cat "$out/qemu.err" >&2
        exit 1
    fi
    sleep 0.1
done

cat >"$out/qemu.gdb" <<END
set confirm off
set pagination off
target remote $out/gdb.sock
tbreak crash.c:$line
continue
python
names = ["r%d" % i for i in range(13)] + ["sp", "lr", "pc", "cpsr"]
with open("$out/registers.txt", "w") as file:
    for name in names:
        value = int(gdb.selected_frame().read_register(name)) & 0xffffffff
        file.write("%s=0x%08X\n" % (name.upper(), value))
end
dump binary memory $out/code.bin $code $(symbol code_end)
dump binary memory $out/data.bin $data $(symbol data_end)
python
try:
    gdb.execute("kill")
except gdb.error:
    pass # QEMU may be gone before it has answered
end
END
timeout 60 gdb-multiarch -q -nx -batch -x "$out/qemu.gdb" "$elf" >"$out/gdb.out" 2>&1 || {
    cat "$out/gdb.out" >&2
    exit 1
}
wait $qemu || true
trap - EXIT
printf 'code=%s\ndata=%s\n' "$code" "$data" >"$out/memory.txt"
python3 "$here/qemu_log.py" "$out/qemu.log" "$out/code.bin" "$code" >"$out/run.txt"
rm -f "$out/qemu.log" "$out/gdb.sock"
