#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The demo and the tests that depend on the machine's versions, in a bare root of Debian 13: as root and as
# an ordinary user. Wants root, debootstrap and a Debian mirror; SKIP where they are not there. The root
# is kept in build/debian13 (DEBIAN13_ROOT: another place; DEBIAN_MIRROR: another mirror; DEBIAN=12 or unstable:
# another Debian, build/debian12). Real captures in BTRACED_DATA are there to be read. The last lines are rows of the table in
# docs/testing.md. `short`, as check-full has it: the README's two commands and its session, no longer than the
# limits below. `check [USER...]`: the whole `make check` as those users, else as tester and as root.
# `debuggers`: this machine's tests with that Debian's GDB and LLDB, alone. `packages`: Debian's packages, built by an ordinary
# user, installed by root, used, purged, held by lintian; in a root that has built before nothing but these.
set -u
cd "$(dirname "$0")/.." || exit 1
debian=${DEBIAN:-13}
case " $* " in *" packages "*) kind=-packages ;; *) kind= ;; esac
root=$(realpath -m "${DEBIAN13_ROOT:-build/debian$debian$kind}")
case $debian in 12) suite=bookworm ;; 13) suite=trixie ;; *) suite=$debian ;; esac
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
PATH=$PATH:/usr/sbin:/sbin

skip() {
    echo "SKIP Debian $debian: $1"
    exit 0
}

[ "$(id -u)" = 0 ] || skip "debootstrap wants root"
command -v debootstrap >/dev/null || skip "no program debootstrap"
# Mounts of a namespace of its own end with it.
if [ "${1:-}" != inside ]; then
    unshare -m true 2>/dev/null || skip "no mount namespaces here"
    exec unshare -m "$0" inside "$@"
fi
mode=${2:-}
shift $(($# < 2 ? $# : 2))
root_seconds=300 # for a root, and for what the demo needs in it; else the mirror is too slow for check-full
deps_seconds=400
[ "$mode" = short ] || root_seconds=3600

if [ ! -e "$root/ready" ]; then
    rm -rf "$root"
    mkdir -p "$root"
    timeout "$root_seconds" debootstrap --variant=minbase --include=make,git,sudo "$suite" "$root" "$mirror" >"$root.log" 2>&1 ||
        skip "debootstrap failed: $(tail -n 1 "$root.log")"
    chroot "$root" useradd --create-home tester
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/root-can-be-made-anew"
    echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/mirror-may-be-a-snapshot"
    touch "$root/ready"
fi
cp /etc/resolv.conf "$root/etc/resolv.conf"
# A root that is a mount has network namespaces of its own.
mount --bind "$root" "$root" && mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && mount -t sysfs sys "$root/sys" ||
    skip "nothing can be mounted here"
data=
if [ "${BTRACED_DATA:-}" ]; then
    mkdir -p "$root/data"
    mount --bind "$BTRACED_DATA" "$root/data" && mount -o remount,ro,bind "$root/data" ||
        skip "$BTRACED_DATA cannot be mounted"
    data="BTRACED_DATA=/data"
fi
# What a limit of time has ended.
chroot "$root" dpkg --configure -a >"$root.log" 2>&1 || skip "its packages cannot be configured"

# The sources as they are; what was built there stays.
mkdir -p "$root/src"
git ls-files -z | tar --null --files-from=- --create | tar --extract --directory "$root/src"
touch "$root"/src/configs/virtual/*.elf "$root"/src/tests/demo/*.elf # they are not to be made anew

# inside USER COMMAND; USER here: outside.
inside() {
    [ "$1" = here ] && { bash -c "$2"; return; }
    chroot "$root" su - "$1" -c "export LC_ALL=C.UTF-8 $data; cd /src && $2"
}

rows=()
code=0
table() {
    echo "| Debian | user | what | time | passed | failed | skipped |"
    echo "|---|---|---|---|---|---|---|"
    printf '%s\n' "${rows[@]}"
    exit $code
}

# part USER NAME COMMAND: its verdicts, and a row.
part() {
    local begun=$SECONDS log=$root.part.log status tests=
    rm -rf "$root/src/build/check-quick.d" # it is made when the tests begin
    inside "$1" "$3" >"$log" 2>&1
    status=$?
    grep -E '^(FAIL|SKIP)' "$log"
    local failed passed skipped
    if ! read -r passed failed skipped < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$log"); then
        failed=$(grep -c '^FAIL' "$log")
        passed=$(grep -c '^PASS' "$log")
        skipped=$(grep -c '^SKIP' "$log")
    fi
    [ "$passed" -gt 0 ] || [ "$status" -ne 0 ] || passed=1 # a command without lines of its own
    if [ "$status" -ne 0 ] || [ "$failed" -ne 0 ]; then
        code=1
        tail -n 15 "$log"
        echo "FAIL Debian $debian: $2, as $1"
    else
        echo "PASS Debian $debian: $2, as $1"
    fi
    [ -e "$root/src/build/check-quick.d" ] &&
        tests=", the tests alone $(($(date +%s) - $(stat -c %W "$root/src/build/check-quick.d"))) s"
    rows+=("| $debian | $1 | $2 | $((SECONDS - begun)) s$tests | $passed | $failed | $skipped |")
}

# Every file, who owns it, and the list of users; not what apt and dpkg keep of packages that were here.
all_files() {
    (cd "$root" && find . -xdev \( -path ./src -o -path ./tmp -o -path ./home -o -path ./proc -o -path ./sys -o -path ./dev \
        -o -path ./data -o -path ./var/log -o -path ./var/cache -o -path ./var/lib/apt -o -path ./var/lib/dpkg \) -prune \
        -o -printf '%p %u %m\n' && cat etc/passwd etc/group) | sort
}

# purged: nothing that was not there before.
purged() {
    local what="nothing is left of the packages"
    all_files >"$root.after"
    if diff "$root.before" "$root.after"; then
        echo "PASS Debian $debian: $what"
        rows+=("| $debian | root | $what | | 1 | 0 | 0 |")
    else
        echo "FAIL Debian $debian: $what"
        rows+=("| $debian | root | $what | | 0 | 1 | 0 |")
        code=1
    fi
}

if [ "$mode" = packages ]; then
    parts="btraced libbtrace0 libbtrace-dev btraced-doc"
    part root "apt build-dep" "apt-get update -q && apt-get install -qy build-essential debhelper fakeroot gdb-multiarch qemu-system-arm &&
        apt-get build-dep -qy ./ && rm -rf build ../btraced* ../libbtrace* && mkdir -p /home/tester/packages &&
        rm -rf /home/tester/packages/* && cp -R /src /home/tester/packages/src && chown -R tester: /home/tester"
    part tester "dpkg-buildpackage" "cd ~/packages/src && dpkg-buildpackage -b -us -uc"
    all_files >"$root.before"
    part root "packages installed" "cd /home/tester/packages && apt-get install -qy ./*.deb && dpkg -s $parts >/dev/null"
    part tester "demo of the package" "[ ! -e build ] && BTRACED=/usr/bin/btraced BOARD=virtual-a9 tests/demo/run.sh"
    part root "packages purged" "apt-get purge -qy $parts && ! ls /usr/bin/btraced"
    purged
    part root "lintian" "apt-get install -qy lintian && lintian --allow-root --fail-on error,warning /home/tester/packages/*.changes"
    table
fi

# This machine's tests and program, that Debian's GDB and LLDB: the programs of the root see the sources and /tmp in their
# own places.
if [ "$mode" = debuggers ]; then
    part root "GDB and LLDB installed" "apt-get update -q && apt-get install -qy gdb-multiarch lldb python3"
    for place in "$PWD" /tmp; do
        mkdir -p "$root$place" && mount --bind "$place" "$root$place" || skip "$place cannot be mounted"
    done
    for name in gdb-multiarch lldb; do
        printf '#!/bin/sh\nexec chroot %s env HOME=/root sh -c '"'cd \"\$0\" && exec \"\$@\"'"' "$PWD" %s "$@"\n' \
            "$root" "$name" >"$root.$name"
        chmod +x "$root.$name"
        chroot "$root" "$name" --version | head -n 1
    done
    make -s all virtual-board
    export GDB=$root.gdb-multiarch BTRACED_LLDB=$root.lldb BTRACED=build/btraced
    for test in test_dap test_ide test_lldb test_reverse test_demo test_checklist test_m_profile test_a64; do
        part here "$test" "tests/bench/gdb/$test.py"
    done
    table
fi

if [ "$mode" = short ]; then
    inside root "timeout $deps_seconds make deps-demo" >"$root.log" 2>&1 ||
        skip "its packages cannot be installed: $(tail -n 1 "$root.log")"
fi
part root "make demo" "make demo && chown -R tester: /src"
part tester "make demo" "make demo"
if [ "$mode" = short ]; then
    inside root "apt-get install -qy python3" >"$root.log" 2>&1 || skip "python3 cannot be installed"
    part tester "the README's session" "tests/demo/readme.py"
    part tester "GDB's own DAP server" "tests/bench/gdb/test_dap.py" # Debian 12's GDB has none
    exit $code
fi
if [ "$mode" = check ]; then
    users=("$@")
    [ $# -gt 0 ] || users=(tester root)
    part root "make deps" "make deps"
    for user in "${users[@]}"; do
        chroot "$root" chown -R tester: /src # what was built stays the same
        part "$user" "make check" "make check"
    done
    table
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
part tester "2 million instructions of each board" "BTRACED_COUNT=2000000 tests/bench/gdb/test_live_runs.py"
table
