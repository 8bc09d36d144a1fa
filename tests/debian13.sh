#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The demo and the tests that depend on the machine's versions, in a bare root of Debian 13: as root and as
# an ordinary user. Wants root, debootstrap and a Debian mirror; SKIP where they are not there. The root
# is kept in build/debian13 (DEBIAN13_ROOT: another place; DEBIAN_MIRROR: another mirror). The last
# lines are rows of the table in docs/testing.md. `short`, as check-full has it: the README's two commands and
# its session, no longer than the limits below.
set -u
cd "$(dirname "$0")/.." || exit 1
root=$(realpath -m "${DEBIAN13_ROOT:-build/debian13}")
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
PATH=$PATH:/usr/sbin:/sbin

skip() {
    echo "SKIP Debian 13: $1"
    exit 0
}

[ "$(id -u)" = 0 ] || skip "debootstrap wants root"
command -v debootstrap >/dev/null || skip "no program debootstrap"
# Mounts of a namespace of its own end with it.
if [ "${1:-}" != inside ]; then
    unshare -m true 2>/dev/null || skip "no mount namespaces here"
    exec unshare -m "$0" inside "$@"
fi
short=${2:-}
root_seconds=300 # for a root, and for what the demo needs in it; else the mirror is too slow for check-full
deps_seconds=400
[ "$short" ] || root_seconds=3600

if [ ! -e "$root/ready" ]; then
    rm -rf "$root"
    mkdir -p "$root"
    timeout "$root_seconds" debootstrap --variant=minbase --include=make,git,sudo trixie "$root" "$mirror" >"$root.log" 2>&1 ||
        skip "debootstrap failed: $(tail -n 1 "$root.log")"
    chroot "$root" useradd --create-home tester
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/root-can-be-made-anew"
    touch "$root/ready"
fi
cp /etc/resolv.conf "$root/etc/resolv.conf"
mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && mount -t sysfs sys "$root/sys" ||
    skip "nothing can be mounted here"

# The sources as they are; what was built there stays.
mkdir -p "$root/src"
git ls-files -z | tar --null --files-from=- --create | tar --extract --directory "$root/src"
touch "$root"/src/configs/virtual/*.elf "$root"/src/tests/demo/*.elf # they are not to be made anew

# inside USER COMMAND
inside() {
    chroot "$root" su - "$1" -c "export LC_ALL=C.UTF-8; cd /src && $2"
}

rows=()
code=0
# part USER NAME COMMAND: its verdicts, and a row.
part() {
    local begun=$SECONDS log=$root.part.log status
    inside "$1" "$3" >"$log" 2>&1
    status=$?
    grep -E '^(FAIL|SKIP)' "$log"
    local failed passed skipped
    failed=$(grep -c '^FAIL' "$log")
    passed=$(grep -c '^PASS' "$log")
    skipped=$(grep -c '^SKIP' "$log")
    [ "$passed" -gt 0 ] || [ "$status" -ne 0 ] || passed=1 # a command without lines of its own
    if [ "$status" -ne 0 ] || [ "$failed" -ne 0 ]; then
        code=1
        tail -n 15 "$log"
        echo "FAIL Debian 13: $2, as $1"
    else
        echo "PASS Debian 13: $2, as $1"
    fi
    rows+=("| 13 | $1 | $2 | $((SECONDS - begun)) s | $passed | $failed | $skipped |")
}

if [ "$short" ]; then
    inside root "timeout $deps_seconds make deps-demo" >"$root.log" 2>&1 ||
        skip "its packages cannot be installed: $(tail -n 1 "$root.log")"
fi
part root "make demo" "make demo && chown -R tester: /src"
part tester "make demo" "make demo"
if [ "$short" ]; then
    inside root "apt-get install -qy python3" >"$root.log" 2>&1 || skip "python3 cannot be installed"
    part tester "the README's session" "tests/demo/readme.py"
    exit $code
fi
tests="tests/oracle/board_opencsd.py tests/oracle/board_etmv3.py tests/oracle/board_etmv4.py
    tests/oracle/board_control.py tests/demo/readme.py tests/demo/check_recording.sh
    tests/bench/gdb/test_a15.py tests/bench/gdb/test_reverse.py tests/bench/reverse/test_forward.py"
loop="for t in $(echo $tests); do \$t || code=1; done; exit \${code:-0}"
part root "make deps" "make deps && chown -R tester: /src"
for user in tester root; do
    part $user "tests of what differs" "make -j2 all virtual-board oracles reverse && ($loop)"
    part $user "make unit" "make unit"
done
echo "| Debian | user | what | time | passed | failed | skipped |"
echo "|---|---|---|---|---|---|---|"
printf '%s\n' "${rows[@]}"
exit $code
