#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Reconstructed values against an emulator: run.sh quick|full. Builds with sanitizers when quick.
set -u
cd "$(dirname "$0")/../../.." || exit 1
mode=${1:-quick}
out=build/values
mkdir -p $out
if ! pkg-config --exists unicorn || ! command -v arm-none-eabi-gcc >/dev/null; then
    text="libunicorn-dev or arm-none-eabi-gcc is not installed"
    [ "${BTRACED_REQUIRE_DATA:-}" = 1 ] && echo "FAIL values: $text" && exit 1
    echo "SKIP values: $text"
    exit 0
fi
checks=1000000
flags="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
[ "$mode" = full ] && checks=10000000 && flags="-O2 -g"

gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror $flags -I. -Idecoder/include $(pkg-config --cflags unicorn) \
    -o $out/differential tests/bench/values/*.c decoder/values/*.c decoder/effect/*.c decoder/program/insn.c \
    $(pkg-config --libs unicorn) || { echo "FAIL values: does not build"; exit 1; }

programs=()
for isa in arm thumb; do
    for level in O0 O1 O2 O3 Os; do
        name=$out/$isa-$level
        arm-none-eabi-gcc -mcpu=cortex-a15 -m$isa -$level -ffreestanding -fno-builtin -nostdlib -w \
            -Wl,-T,tests/bench/values/link.ld -o $name.elf tests/bench/values/target/programs.c \
            -lgcc || exit 1
        arm-none-eabi-objcopy -O binary -j .text -j .handler $name.elf $name.bin
        programs+=("$name.bin")
    done
done
log=$out/$mode.log
ASAN_OPTIONS=detect_leaks=1 $out/differential $checks "${programs[@]}" | tee $log
[ "${PIPESTATUS[0]}" -eq 0 ] && ! grep -q '^FAIL' $log
