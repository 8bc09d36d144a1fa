#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the tests that are built: tests/run.sh unit|quick|full. Every step prints lines that begin with
# PASS, FAIL or SKIP; a step that fails without such a line counts as one failure. The last line
# is the sum. TEST_JOBS: how many steps run at once.
set -u
cd "$(dirname "$0")/.." || exit 1
mode=${1:-quick}
mkdir -p build
log=build/check-$mode.log
: >"$log"

# Steps run side by side, one more than there are cores, since many wait for what they talk to; the
# output of each stays in one piece.
parallel=${TEST_JOBS:-$(($(nproc) + 1))}
pieces=build/check-$mode.d
rm -rf "$pieces"
mkdir -p "$pieces"
count=0

# A step that hangs is a failure that has a name, and the others go on.
limit=${STEP_SECONDS:-1500}

# run_piece PIECE NAME COMMAND...: runs and says how each test of it ended.
run_piece() {
    local piece=$1 name=$2 code
    shift 2
    timeout --kill-after=10 "$limit" bash -c '"$@"' step "$@" </dev/null 2>&1 |
        sed "s/^\(PASS\|FAIL\|SKIP\) /&[$name] /" >"$piece"
    code=${PIPESTATUS[0]}
    case $code in
        124 | 137) echo "FAIL [$name] did not end within $limit s: $*" >>"$piece" ;;
        0) ;;
        *) grep -q '^FAIL' "$piece" || echo "FAIL [$name] exit code $code: $*" >>"$piece" ;;
    esac
}

# owed PIECE FILE: whether a test of it may be tried again: attempts.txt has the file,
# nothing crashed, and no sanitizer complained.
crashed='Sanitizer|runtime error|SERVER CRASHED|Segmentation fault|exit code 13[0-9]'
owed() {
    grep -q '^FAIL' "$1" && ! grep -qE "$crashed" "$1" || return 1
    case " $(grep -v '^#' tests/attempts.txt | awk '{ print $1 }' | tr '\n' ' ')" in
        *" $2 "*) return 0 ;;
    esac
    return 1
}

# run_step PIECE NAME COMMAND...: runs, shows and counts. What may be tried again is left for the end.
run_step() {
    local piece=$1 name=$2 started=$SECONDS
    run_piece "$@"
    shift 2
    if owed "$piece" "$1"; then
        printf '%s\n' "$name" "$1" "$BTRACED" "${BTRACED_FULL:-}" >"$piece.owed"
        sed -i 's/^FAIL/AGAIN/' "$piece"
    fi
    flock "$log" tee -a "$log" <"$piece"
    echo "$((SECONDS - started)) s: $*" >>"$pieces/times"
}

# second_attempts: the tests that failed, each by itself, with the machine to itself.
second_attempts() {
    local owed name file program long test
    for owed in "$pieces"/*.owed; do
        [ -f "$owed" ] || continue
        { read -r name && read -r file && read -r program && read -r long; } <"$owed"
        sed -n 's/^AGAIN \[[^]]*\] \([^:]*\).*/\1/p' "${owed%.owed}" | sort -u >"$owed.tests"
        while read -r test; do
            set -- "$file" "$test"
            [ "${test#did not end within}" = "$test" ] && [ "${test#exit code}" = "$test" ] || set -- "$file"
            BTRACED=$program BTRACED_FULL=$long run_piece "$owed.log" "$name" "$@"
            tee -a "$log" <"$owed.log"
        done <"$owed.tests"
    done
}

# step NAME COMMAND...: as soon as a core is free.
step() {
    while [ "$(jobs -rp | wc -l)" -ge "$parallel" ]; do
        wait -n
    done
    count=$((count + 1))
    run_step "$pieces/$count" "$@" &
}

# quiet COMMAND...: one line for a command that has none of its own.
quiet() {
    local name=$1 out
    shift
    if out=$("$@" 2>&1); then
        echo "PASS $name"
    else
        echo "$out"
        echo "FAIL $name"
    fi
}
export -f quiet

# pinned NAME VERSION COMMAND...: a check whose verdict depends on the tool's version; it is held with
# Debian 12's.
pinned() {
    local name=$1 version=$2 found
    shift 2
    found=$("$name" --version 2>&1 | head -n 1)
    if [[ $found =~ $version ]]; then
        quiet "$name" "$@"
    else
        echo "SKIP $name: this is '$found', the check is held with Debian 12's"
    fi
}
export -f pinned

# What the tests ran with.
versions() {
    local line= program
    for program in gcc clang gdb-multiarch qemu-system-arm openocd; do
        line+="$program $("$program" --version 2>&1 | head -n 1 |
            grep -oE '[0-9]+\.[0-9]+(\.[0-9]+)?' | tail -n 1), "
    done
    line+="capstone $(pkg-config --modversion capstone 2>/dev/null)"
    echo "with $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release), user $(id -un): $line"
}

units() {
    local variant=$1 t
    for t in build/"$variant"/unit/test_*; do
        case $t in *.d) continue ;; esac
        [ -x "$t" ] && step "$variant" "$t"
    done
}

# What a clock paces, whose bytes do not wait for other tests, is left for the end.
paced_name='_(swo|endpoint|uart|orbtrace)\.py$'
late=()

# either NAME PROGRAM FILE [1]: a step, or one for the end. PROGRAM: the btraced that the test uses; 1:
# in its long form.
either() {
    [ -x "$3" ] || return 0
    if [[ $3 =~ $paced_name ]]; then
        late+=("$1" "$2" "$3" "${4:-}")
    else
        BTRACED=$2 BTRACED_FULL=${4:-} step "$1" "$3"
    fi
}

paced() {
    wait
    set -- "${late[@]}"
    while [ $# -gt 0 ]; do
        count=$((count + 1))
        BTRACED=$2 BTRACED_FULL=$4 run_step "$pieces/$count" "$1" "$3"
        shift 4
    done
}

# What has a long form meets the sanitizers in that, the others here: what the server talks to takes
# most of the time, and it is hardly slower.
long_form='BTRACED_FULL|import .*\bFULL\b'
peers() {
    local t
    for t in $(grep -LE "$long_form" tests/bench/"$1"/test_*.py); do
        either "$1" build/asan/btraced "$t"
    done
    for t in $(grep -lE "$long_form" tests/bench/"$1"/test_*.py); do
        either "$1" build/btraced "$t"
    done
}

peers_long() {
    local t
    for t in $(grep -lE "$long_form" tests/bench/"$1"/test_*.py); do
        either "$1" build/asan/btraced "$t" 1
    done
}

reverse() {
    local t
    for t in tests/bench/reverse/test_*.py; do
        [ -x "$t" ] && step reverse "$t"
    done
}

# Tests of a daemon that has threads: it serves a live target. A recording is served by one thread.
# What others do with the same threads is left out: ETMv4, reconstructed values, registers, wiring, tasks.
# Of the sandbox, too: ThreadSanitizer has a thread of its own, which is there before it. An ORBTrace is read by
# the threads that read any other capture unit.
variants='_v4\.py$|_probe_reverse\.py$|_vfp\.py$|usb/test_board_files\.py$|_guide\.py$|_probe_gdb\.py$'
variants="$variants|_remote_openocd\.py\$|gdb/test_tasks\.py\$|usb/test_probe_mtb\.py\$|usb/test_probe_sandbox\.py\$"
variants="$variants|usb/test_orbtrace\.py\$"
threaded() {
    grep -lE 'live_gdb|probe_gdb|probe_a |"serve"' tests/bench/gdb/test_*.py tests/bench/network/test_*.py \
        tests/bench/usb/test_*.py | grep -vE "$variants"
}

# fuzzers SECONDS [COUNT]: so many of them, by chance; the same walk each time, while `make fuzz` goes where chance leads.
fuzzers() {
    local t
    for t in $(shuf -e tests/fuzz/fuzz_*.c | head -n "${2:-1000}"); do
        FUZZ_SEED=1 step fuzz tests/fuzz/run.sh "$1" "$(basename "$t" .c)"
    done
}

oracles() {
    local t
    for t in tests/oracle/*.c tests/oracle/*.cpp; do
        [ -f "$t" ] || continue
        step oracle build/release/oracle/"$(basename "${t%.*}")"
    done
    for t in tests/oracle/*.py tests/oracle/*.sh; do
        [ -x "$t" ] && step oracle "$t"
    done
}

# Nothing is measured against them: a unit test that hangs ends, one on a busy machine does not.
export CK_TIMEOUT_MULTIPLIER=30
export BTRACED=build/btraced
again_max=6 # tests
export ASAN_OPTIONS=verify_asan_link_order=0 # the library of a test bench comes in front
if [ "$mode" = unit ]; then
    units release
elif [ "$mode" = quick ]; then
    step static pinned clang-format "version 14\." make -s format-check
    step static pinned cppcheck " 2\.10" make -s lint
    step static tests/layers.sh
    step static tests/docs.sh
    step static tests/layout.sh
    step static tests/layout_selftest.py
    step static tests/run_selftest.py
    step library tests/decoder/library/test_install.py
    units asan
    peers usb
    step values tests/bench/values/run.sh quick
    reverse
    oracles
    step cases tests/cases/selftest.py
    step cases tests/cases/run.py
    peers gdb
    peers network
    step demo tests/demo/check_recording.sh
    step demo quiet "demo" tests/demo/run.sh
    step demo quiet "demo of a recording" tests/demo/recorded.sh
    step demo tests/demo/selftest.sh
    fuzzers 4
    paced
else
    # The longest ones begin: what they leave idle at the end is time lost.
    longest="tests/full/test_usb_guest.py tests/full/test_live_runs.py"
    for t in $longest; do
        BTRACED=build/asan/btraced BTRACED_FULL=1 step full "$t"
    done
    units release
    step tsan build/tsan/unit/test_pipeline
    step tsan build/tsan/unit/test_trace_pool
    step tsan build/tsan/unit/test_parallel
    BTRACED_PROPERTY_COUNT=10 step tsan build/tsan/unit/test_decode_pool
    for t in $(threaded); do
        either tsan build/tsan/btraced "$t"
    done
    export BTRACED=build/asan/btraced BTRACED_FULL=1
    export BTRACED_PROPERTY_COUNT=100
    units asan
    step oracle build/release/oracle/classify_a64
    step oracle tests/oracle/etmv4_opencsd.py
    step oracle tests/oracle/board_etmv4.py
    step cases tests/cases/run.py
    peers_long gdb
    peers_long network
    peers_long usb
    step values tests/bench/values/run.sh full
    step debian13 tests/debian13.sh short
    reverse
    for t in tests/full/*; do
        [ -x "$t" ] && [[ " $longest " != *" $t "* ]] && step full "$t"
    done
    fuzzers 5 20
    step fuzz tests/fuzz/reached.py
    # Its bars are milliseconds: it runs by itself, without sanitizers. `make soak` is the long one.
    late+=(soak build/btraced tests/soak/soak.py 1)
    SOAK_SECONDS=30 paced
fi

wait
second_attempts
echo "slowest:"
sort -rn "$pieces/times" | head -n 12
again=$(grep -c '^AGAIN' "$log")
[ "$again" -le "$again_max" ] ||
    echo "FAIL [run] $again tests were tried again, at most $again_max may" >>"$log"
passed=$(grep -c '^PASS' "$log")
failed=$(grep -c '^FAIL' "$log")
skipped=$(grep -c '^SKIP' "$log")
grep '^FAIL' "$log"
grep '^AGAIN' "$log" | sed 's/^AGAIN/second attempt (tests\/attempts.txt):/'
versions
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
