#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the tests that are built: tests/run.sh quick|full. Every step prints lines that begin with
# PASS, FAIL or SKIP; a step that fails without such a line counts as one failure. The last line
# is the sum.
set -u
cd "$(dirname "$0")/.." || exit 1
mode=${1:-quick}
mkdir -p build
log=build/check-$mode.log
: >"$log"

# step NAME COMMAND...: runs, shows and counts.
step() {
    local name=$1
    shift
    local before after code
    before=$(grep -c '^FAIL' "$log")
    "$@" </dev/null 2>&1 | sed "s/^\(PASS\|FAIL\|SKIP\) /&[$name] /" | tee -a "$log"
    code=${PIPESTATUS[0]}
    after=$(grep -c '^FAIL' "$log")
    if [ "$code" -ne 0 ] && [ "$before" -eq "$after" ]; then
        echo "FAIL [$name] exit code $code" | tee -a "$log"
    fi
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

units() {
    local variant=$1 t
    for t in build/"$variant"/unit/test_*; do
        case $t in *.d) continue ;; esac
        [ -f "tests/unit/$(basename "$t").c" ] && step "$variant" "$t"
    done
}

usb() {
    local t
    for t in build/asan/usb/test_*; do
        [ -x "$t" ] && step usb "$t"
    done
    for t in tests/usb/test_*.py; do
        [ -x "$t" ] && step usb "$t"
    done
}

reverse() {
    local t
    for t in tests/reverse/test_*.py; do
        [ -x "$t" ] && step reverse "$t"
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

export BTRACED=build/btraced
if [ "$mode" = quick ]; then
    step static quiet "clang-format" make -s format-check
    step static quiet "cppcheck" make -s lint
    step static tests/layers.sh
    step static tests/docs.sh
    units asan
    usb
    step recover tests/recover/run.sh quick
    reverse
    oracles
    step cases tests/cases/selftest.py
    step cases tests/cases/run.py
    for t in tests/gdb/test_*.py; do
        [ -x "$t" ] && step gdb "$t"
    done
    step demo tests/demo/check_recording.sh
    step demo quiet "demo" tests/demo/run.sh
    step demo quiet "demo of a recording" tests/demo/recorded.sh
    step demo tests/demo/selftest.sh
    step fuzz tests/fuzz/run.sh 4
else
    units release
    step tsan build/tsan/unit/test_pipeline
    BTRACED=build/tsan/btraced step tsan tests/gdb/test_live.py
    BTRACED=build/tsan/btraced step tsan tests/usb/test_native_gdb.py
    BTRACED=build/tsan/btraced step tsan tests/usb/test_native_board.py
    export BTRACED=build/asan/btraced BTRACED_FULL=1
    export BTRACED_PROPERTY_COUNT=300
    units asan
    step cases tests/cases/run.py
    for t in tests/gdb/test_*.py; do
        [ -x "$t" ] && step gdb "$t"
    done
    step recover tests/recover/run.sh full
    reverse
    for t in tests/full/*; do
        [ -x "$t" ] && step full "$t"
    done
    step fuzz tests/fuzz/run.sh 20
fi

passed=$(grep -c '^PASS' "$log")
failed=$(grep -c '^FAIL' "$log")
skipped=$(grep -c '^SKIP' "$log")
grep '^FAIL' "$log"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
