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
for command in serve record run replay connect decode coverage profile timeline report feedback merge probes arm; do
    for option in $(build/btraced $command --help | grep -oE -- '--[a-z-]+' | sort -u); do
        [ "$option" = --help ] && continue
        grep -q -- "Fl -${option#--}\b\|-${option#--}\b" docs/btraced.1 ||
            missing="$missing $command:$option"
    done
done
[ -z "$missing" ]
report "man page names every option" $? "missing:$missing"

missing=""
for board in configs/virtual-*.conf; do
    name=$(basename "$board" .conf)
    build/btraced serve --help | grep -qw -- "$name[,.]" || missing="$missing help:$name"
    grep -q "^\.Cm $name\( ,\)\?\$" docs/btraced.1 || missing="$missing man:$name"
done
[ -z "$missing" ]
report "help and man page name every virtual board" $? "missing:$missing"

missing=""
count=0
while read -r name; do
    count=$((count + 1))
    grep -Eq "^\.It.* Ic (.* , )?$name( |\$)" docs/btraced.1 || missing="$missing '$name'"
done < <(sed -n 's/^    {"\([a-z ]*\)", [a-z_]*cmd_[a-z_]*, .*/\1/p' server/live/*.c server/reverse/*.c)
[ -z "$missing" ] && [ "$count" -gt 4 ]
report "man page names every monitor command" $? "missing of $count:$missing"

missing=""
while IFS='=' read -r name number; do
    awk -v n="$number" '/^\.Sh EXIT STATUS/ {on = 1} on && $1 == ".It" && $2 == n {found = 1}
        END {exit !found}' docs/btraced.1 || missing="$missing $name"
done < <(sed -n 's/^ *\(EXIT_[A-Z]*\) = \([0-9]*\),.*/\1=\2/p' server/base/exit_codes.h)
[ -z "$missing" ]
report "man page names every exit code" $? "missing:$missing"

# The order of the folders is a table in layers.sh; the page on the architecture has a line for each.
missing=""
for folder in $(sed -n '/TABLE/,/^TABLE/p' tests/layers.sh | grep -E '^[a-z]+/'); do
    grep -q "^|[^|]*\`$folder\`[^|]*|" docs/architecture.md || missing="$missing $folder"
done
[ -z "$missing" ]
report "architecture.md has a line for every folder" $? "missing:$missing"

missing=""
for test in $(grep -v '^#' tests/attempts.txt | awk '{print $1}'); do
    [ -x "$test" ] || missing="$missing $test"
done
[ -z "$missing" ]
report "each debt of attempts.txt is a test" $? "missing:$missing"

# Files that the pages point to are there.
missing=""
for page in README.md CONTRIBUTING.md docs/*.md; do
    for target in $(grep -oE '\]\([^)#]+' "$page" | sed 's/^](//' | grep -v '^http'); do
        [ -e "$(dirname "$page")/$target" ] || missing="$missing $page:$target"
    done
done
[ -z "$missing" ]
report "links lead to files" $? "missing:$missing"

tests/demo/readme.py || code=1

out=$(make -s install DESTDIR="$PWD/build/install" PREFIX=/usr 2>&1 &&
    build/install/usr/bin/btraced --version && test -f build/install/usr/share/man/man1/btraced.1 &&
    build/install/usr/bin/btraced serve -c virtual-a9 --check-config)
report "make install" $? "$out"

# Sources may have come without their repository, or belong to somebody else.
files=$(git ls-files 2>/dev/null || find * -path build -prune -o -type f -print)
hits=$(echo "$files" | grep -vE '^(tests/fuzz/seeds|tests/demo/(recording|crash.elf|run.txt.gz))' |
    grep -E '\.(c|h|cpp|sh|py|ini|mk|conf)$|Makefile$' |
    xargs grep -L 'SPDX-License-Identifier' | grep -v '^tests/demo/recording/')
[ -z "$hits" ]
report "SPDX lines" $? "without one: $hits"
exit $code
