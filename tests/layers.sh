#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The layers hold: who includes whom, and no I/O, threads, clocks or globals in decoder/.
set -u
cd "$(dirname "$0")/.." || exit 1
code=0

# forbid LAYER PATTERN: no include of these folders in the layer.
forbid() {
    local hits
    hits=$(grep -nE "#include \"($2)/" -r "$1" --include='*.[ch]' | grep -v '"btrace/types.h"')
    if [ -n "$hits" ]; then
        echo "$hits"
        echo "FAIL layers: $1 includes $2"
        code=1
    else
        echo "PASS layers: $1 does not include $2"
    fi
}

forbid decoder 'drivers|protocol|server'
forbid drivers 'decoder|protocol|server'
forbid protocol 'decoder|drivers|server'

hits=$(grep -nE '#include <(sys/|fcntl|unistd|pthread|time|signal|uv|libusb|poll|errno)' -r decoder)
if [ -n "$hits" ]; then
    echo "$hits"
    echo "FAIL layers: decoder does I/O, threads or clocks"
    code=1
else
    echo "PASS layers: decoder has no I/O, threads or clocks"
fi

# Writable data in objects of the decoder or of the protocol would be a global.
for layer in decoder protocol; do
    globals=$(nm -A build/release/$layer/*.o | grep -E ' [bBdDC] ' | grep -v '\.data\.rel\.ro')
    # Tables of constant pointers live in .data.rel.ro and print as 'd': ask for the section.
    real=""
    while read -r line; do
        [ -z "$line" ] && continue
        object=${line%%:*}
        symbol=${line##* }
        objdump -t "$object" | grep -w -- "$symbol" | grep -qE '\.(data|bss)(\.[^r]|\s)' &&
            real="$real$line"$'\n'
    done <<<"$globals"
    if [ -n "$real" ]; then
        echo "$real"
        echo "FAIL layers: $layer has writable globals"
        code=1
    else
        echo "PASS layers: $layer has no writable globals"
    fi
done
exit $code
