#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Builds the example programs of the virtual boards again: crash-a9.elf, crash-m3.elf, crash-m4.elf,
# crash-m7.elf, crash-m33.elf, crash-a53.elf, tasks-m4.elf, and the flash algorithm flash-m3.flm.
# Usage: build.sh [FOLDER FOR THE RESULTS]
#
# Those that come with the sources were made by arm-none-eabi-gcc 12.2.1 (Debian 15:12.2.rel1-1)
# with GNU binutils 2.40, that for AArch64 by clang and lld 14.0.6. The same compiler makes the same bytes, wherever the sources are.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=$(cd "${1:-$here}" && pwd)
cd "$here"

# build NAME OPTIONS... : the options tell the core, the board, its linker script and sources.
build() {
    name=$1
    shift
    arm-none-eabi-gcc -std=gnu11 -O1 -gdwarf-4 -fno-inline -ffreestanding \
        -fno-tree-loop-distribute-patterns -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes \
        -Wmissing-prototypes -ffile-prefix-map="$here"=. -fdebug-prefix-map="$here"=. \
        -gno-record-gcc-switches -nostdlib -L. -Wl,-n -Wl,--build-id=none -Wl,--fatal-warnings \
        "$@" -o "$out/$name.elf"
    chmod 644 "$out/$name.elf"
}

# Debian has no small compiler for AArch64 but clang.
build_a64() {
    name=$1
    shift
    objects=
    work=$(mktemp -d)
    for source in "$@" crash.c; do
        object=$work/$(basename "$source").o
        clang --target=aarch64-none-elf -mcpu=cortex-a53 -mgeneral-regs-only -std=gnu11 -O1 \
            -gdwarf-4 -fno-inline -ffreestanding -fno-builtin -fno-unwind-tables \
            -fno-asynchronous-unwind-tables -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes \
            -Wmissing-prototypes -ffile-prefix-map="$here"=. -fdebug-prefix-map="$here"=. \
            -c "$source" -o "$object"
        objects="$objects $object"
    done
    # shellcheck disable=SC2086
    ld.lld -n --build-id=none --fatal-warnings -T a53.ld $objects -o "$out/$name.elf"
    chmod 644 "$out/$name.elf"
    rm -r "$work"
}

build_a64 crash-a53 start-a53.S board-a53.c worker.c
build crash-a9 -mcpu=cortex-a9 -marm -mthumb-interwork -mfloat-abi=soft -DBOARD_A9 \
    -Wl,-T,a9.ld start-a9.S board-a9.c worker.c crash.c
build crash-m3 -mcpu=cortex-m3 -mthumb -DBOARD_M3 -Wl,-T,m3.ld board-m.c crash.c
build crash-m7 -mcpu=cortex-m7 -mthumb -mfloat-abi=soft -DBOARD_M7 -Wl,-T,m3.ld board-m.c crash.c
build crash-m33 -mcpu=cortex-m33 -mthumb -mfloat-abi=soft -DBOARD_M33 -Wl,-T,m33.ld board-m.c crash.c
build crash-m4 -mcpu=cortex-m4 -mthumb -mfloat-abi=soft -DBOARD_M4 -Wl,-T,m4.ld board-m.c crash.c
build tasks-m4 -mcpu=cortex-m4 -mthumb -mfloat-abi=soft -Wl,-T,m4.ld tasks.c

# The algorithm runs wherever it is put, on any Cortex-M.
arm-none-eabi-gcc -std=gnu11 -Os -mcpu=cortex-m0 -mthumb -ffreestanding -ffixed-r9 \
    -fno-tree-loop-distribute-patterns -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes \
    -Wmissing-prototypes -gno-record-gcc-switches -nostdlib -L. -Wl,-n -Wl,--build-id=none \
    -Wl,--fatal-warnings -Wl,-e,0 -Wl,-T,flash.ld flash-m3.c -o "$out/flash-m3.flm"
chmod 644 "$out/flash-m3.flm"
