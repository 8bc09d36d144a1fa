#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs every fuzzer for a bounded time on its seeds: tests/fuzz/run.sh SECONDS [FUZZER...]
# FUZZ_SEED=N takes the same way through the inputs each time; without it chance does.
# The corpus that grows is kept in build/; a crash is left in build/fuzz/crashes/.
set -u
cd "$(dirname "$0")/../.." || exit 1
seconds=${1:-60}
shift || true
failed=0
fuzzers=("$@")
if [ ${#fuzzers[@]} -eq 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do
        fuzzers+=("$(basename "$source" .c)")
    done
fi
mkdir -p build/fuzz/crashes
for name in "${fuzzers[@]}"; do
    corpus=build/fuzz/corpus/$name
    log=build/fuzz/$name.log
    mkdir -p "$corpus"
    options=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1
             -artifact_prefix=build/fuzz/crashes/"$name"-)
    [ -n "${FUZZ_SEED:-}" ] && options+=(-seed="$FUZZ_SEED")
    if build/fuzz/bin/"$name" "${options[@]}" "$corpus" tests/fuzz/seeds/"$name" >"$log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        echo "PASS fuzz: $name: ${runs:-0} inputs in $seconds s"
    else
        echo "FAIL fuzz: $name: see $log"
        tail -n 20 "$log" >&2
        failed=1
    fi
done
exit $failed
