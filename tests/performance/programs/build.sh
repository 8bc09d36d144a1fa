#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Builds the programs whose trace is measured, BOARD-NAME.elf, on the start-up code of the virtual
# boards' example programs.
# Usage: build.sh FOLDER FOR THE RESULTS
set -eu
root=$(cd "$(dirname "$0")/../../.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$root"

boards=configs/virtual
here=tests/performance/programs
common="-std=gnu11 -O2 -gdwarf-4 -ffreestanding -I. -I$boards -Wall -Wextra -Werror -Wshadow
    -Wstrict-prototypes -Wmissing-prototypes"

# arm NAME SCRIPT OPTIONS AND SOURCES...
arm() {
    name=$1
    script=$2
    shift 2
    # shellcheck disable=SC2086
    arm-none-eabi-gcc $common -fno-tree-loop-distribute-patterns -mfloat-abi=soft -nostdlib \
        -L$boards -Wl,-n -Wl,--build-id=none -Wl,--fatal-warnings -Wl,-T,"$script" "$@" \
        $here/main.c -lgcc -o "$out/$name.elf"
}

# The boards: NAME SOURCE OPTIONS...
a9() {
    name=$1
    source=$2
    shift 2
    arm "a9-$name" a9.ld -mcpu=cortex-a9 -mthumb-interwork -DBOARD_A9 "$@" $boards/start-a9.S \
        $boards/board-a9.c "$here/$source"
}

m4() {
    name=$1
    source=$2
    shift 2
    arm "m4-$name" m4.ld -mcpu=cortex-m4 -mthumb -DBOARD_M4 "$@" $boards/board-m.c "$here/$source"
}

m33() {
    name=$1
    source=$2
    shift 2
    arm "m33-$name" m33.ld -mcpu=cortex-m33 -mthumb -DBOARD_M33 "$@" $boards/board-m.c \
        "$here/$source"
}

# Debian has no small compiler for AArch64 but clang.
a53() {
    name=$1
    sources="$boards/start-a53.S $boards/board-a53.c $here/main.c $here/$2"
    objects=
    shift 2
    work=$(mktemp -d)
    for source in $sources; do
        object=$work/$(basename "$source").o
        # shellcheck disable=SC2086
        clang --target=aarch64-none-elf -mcpu=cortex-a53 -mgeneral-regs-only $common -fno-builtin \
            -fno-unwind-tables -fno-asynchronous-unwind-tables "$@" -c "$source" -o "$object"
        objects="$objects $object"
    done
    # shellcheck disable=SC2086
    ld.lld -n --build-id=none --fatal-warnings -T $boards/a53.ld $objects -o "$out/a53-$name.elf"
    rm -r "$work"
}

# numbers NAME OPTIONS...: without a board
numbers() {
    name=$1
    shift
    # shellcheck disable=SC2086
    arm-none-eabi-gcc $common -mfloat-abi=hard -nostdlib -Wl,-Ttext=0x10000 -Wl,-Tdata=0x20000000 \
        -Wl,-e,numbers -Wl,--build-id=none "$@" $here/numbers.c -lgcc -o "$out/numbers-$name.elf"
}

often=-DTICKS_PER_SECOND=100000
a9 parser parser.c -mthumb
a9 packer packer.c -marm
a9 machine machine.c -mthumb
a9 interrupts parser.c -marm $often
for board in m4 m33 a53; do
    $board parser parser.c
    $board packer packer.c
    $board machine machine.c
    $board interrupts parser.c $often
done
a53 calm parser.c -DCALM
numbers m4 -mcpu=cortex-m4 -mfpu=fpv4-sp-d16
numbers m33 -mcpu=cortex-m33 -mfpu=fpv5-sp-d16
numbers a9-t32 -mcpu=cortex-a9 -mfpu=vfpv3-d16 -mthumb
numbers a9-a32 -mcpu=cortex-a9 -mfpu=vfpv3-d16 -marm
