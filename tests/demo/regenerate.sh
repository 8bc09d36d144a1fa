#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes crash.elf, run.txt.gz and recording/ again: compiles the program, runs it in QEMU and turns
# the run into trace. Needs arm-none-eabi-gcc, qemu-system-arm, gdb-multiarch, python3.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

make --no-print-directory -C "$root" build/release/libbtraced.a build/release/libsupport.a
${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O2 -I"$root" \
    -o "$work/make_recording" "$here/make_recording.c" "$root/build/release/libsupport.a" "$root/build/release/libbtraced.a"

cd "$here"
for part in start.S crash.c; do
    arm-none-eabi-gcc -mcpu=cortex-a15 -marm -g -O1 -fno-inline -ffreestanding -Wall -Wextra -Werror \
        -fdebug-prefix-map="$here"=. -c -o "$work/${part%.*}.o" "$part"
done
arm-none-eabi-gcc -mcpu=cortex-a15 -nostdlib -Wl,-T,link.ld -Wl,-n -Wl,--build-id=none \
    -o "$work/crash.elf" "$work/start.o" "$work/crash.o"
chmod 644 "$work/crash.elf"

mkdir "$work/run"
./run_in_qemu.sh "$work/crash.elf" crash.c "$work/run"
"$work/make_recording" "$work/run" "$work/recording"
gzip -9n <"$work/run/run.txt" >"$work/run.txt.gz"

rm -rf recording
mv "$work/recording" recording
mv "$work/crash.elf" "$work/run.txt.gz" .
./check_recording.sh
