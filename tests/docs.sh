#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The documents: the man page is well formed and names every option, and what the README tells
# people to type works.
set -u
cd "$(dirname "$0")/.." || exit 1
code=0

# report NAME STATUS TEXT
report() {
    if [ "$2" -eq 0 ]; then
        echo "PASS docs: $1"
    else
        [ -n "$3" ] && echo "$3"
        echo "FAIL docs: $1"
        code=1
    fi
}

out=$(mandoc -Tlint -Wwarning docs/btraced.1 2>&1)
report "man page is well formed" $? "$out"

missing=""
for command in decode replay; do
    for option in $(build/btraced $command --help | grep -oE -- '--[a-z-]+' | sort -u); do
        [ "$option" = --help ] && continue
        grep -q -- "Fl -${option#--}\b\|-${option#--}\b" docs/btraced.1 ||
            missing="$missing $command:$option"
    done
done
[ -z "$missing" ]
report "man page names every option" $? "missing:$missing"

# Each line of a block marked `sh` in the README, in a folder of its own; those that need root, a
# network or a running server are tested by the demo and the GDB tests instead.
block=$(awk '/^```sh/ {on = 1; next} /^```/ {on = 0} on' README.md)
count=0
while read -r line; do
    case $line in
    '' | \#* | git\ clone* | cd\ * | make\ demo* | make\ check* | make\ bench* | make\ fuzz*) continue ;;
    sudo\ * | make\ deps* | *replay* | gdb-multiarch*) continue ;;
    esac
    count=$((count + 1))
    out=$(bash -c "$line" 2>&1)
    report "README: $line" $? "$out"
done <<<"$block"
[ "$count" -gt 0 ]
report "README has commands to try" $? ""

out=$(make -s install DESTDIR="$PWD/build/install" PREFIX=/usr 2>&1 &&
    build/install/usr/bin/btraced --version && test -f build/install/usr/share/man/man1/btraced.1)
report "make install" $? "$out"

hits=$(git ls-files | grep -vE '^(tests/fuzz/seeds|tests/demo/(recording|crash.elf|run.txt.gz))' |
    grep -E '\.(c|h|cpp|sh|py|ini|mk|conf)$|Makefile$' |
    xargs grep -L 'SPDX-License-Identifier' | grep -v '^tests/demo/recording/')
[ -z "$hits" ]
report "SPDX lines" $? "without one: $hits"
exit $code
