#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the benchmarks that `make bench` has built; prints one report, also in build/bench.txt.
# Ends with an error when a benchmark fails or a bar is missed.
#
#   BENCH_NO_BARS=1   bars are reported, but do not count (a noisy machine)
#   BENCH_SHORT=1     histories and -j 2 with 100 MB instead of 1 GB
#   BENCH_RUNS=N      runs of which the median is taken, 5
#   BENCH_MB=N        megabytes a stream, 20
#   BENCH_AGAIN=N     how often rows that miss a bar are measured again at most, 2
#   BENCH_RUN_MB=N    megabytes recorded of each program's run, 2, repeated to BENCH_MB
#   BENCH_ONLY=TEXT   only streams with this in their name, and no histories, GDB or live boards
#   BENCH_SECONDS=N   length of each load of the live server, 60
#   BTRACED_DATA=DIR  real captures, otherwise ../shared/data; without them those rows are left out
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
data=${BTRACED_DATA:-../shared/data}
export BTRACED_DATA=$data BTRACED=build/btraced
programs=build/release/bench
rows=build/bench.tsv
code=0

machine() {
    local model
    model=$(LC_ALL=C lscpu | sed -n 's/^Model name: *//p' | head -n 1)
    printf 'about\tmachine=%s, %s cores, %s, %s, load %s\n' "$model" "$(nproc)" "$(uname -sr)" \
        "$(${CC:-gcc} --version | head -n 1)" "$(cut -d ' ' -f 1 /proc/loadavg)"
    printf 'about\tcommit=%s\n' "$(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
}

# bench COMMAND...: its rows go to the file, its complaints to standard error.
bench() {
    "$@" >>"$rows" || {
        echo "FAIL $1: exit code $?" >&2
        code=1
    }
}

# Streams whose names have BENCH_ONLY in them.
streams() {
    bench "$programs"/bench_decode ${data:+"$data"}
    bench tests/performance/bench_programs.py "$programs"/bench_decode build/bench-programs
}

histories() {
    bench "$programs"/bench_history "$@"
}

formatter() {
    bench "$programs"/bench_formatter ${data:+"$data"}
}

# halts [BENCH_BARE]: without it no requests.
halts() {
    bench tests/performance/bench_gdb.py "$programs"/bench_history "$@"
}

# What misses its bar, once more: report.py has the rule. Decoded streams one by one.
again() {
    local kind name
    local -A kinds=()
    while IFS=$'\t' read -r kind name; do
        kinds[$kind]=1
        [[ $kind == decode || $kind == counts ]] && BENCH_ONLY=$name streams
    done < <(tests/performance/report.py --missed "$rows")
    [ "${kinds[history]:-}" ] && histories 10 "${lengths[-1]}"
    [ "${kinds[formatter]:-}" ] && formatter
    [ "${kinds[gdb]:-}" ] && halts
}

mkdir -p build
machine >"$rows"
[ -d "$data" ] || {
    echo "SKIP captures: no folder $data" >&2
    data=
}
lengths=(1 10 100)
[ -n "${BENCH_SHORT:-}" ] || lengths+=(1000)
streams
formatter
if [ -z "${BENCH_ONLY:-}" ]; then
    long=$(mktemp -d) && trap 'rm -rf "$long"' EXIT
    "$programs"/bench_history --write "$long"/recording 2 &&
        bench "$programs"/bench_reverse "33 million, generated" "$long"/recording
    bench "$programs"/bench_reverse "recorded demo" tests/demo/recording tests/demo/crash.elf
    histories "${lengths[@]}"
    for protocol in ptm etmv4; do
        bench tests/performance/bench_parallel.py "$programs"/bench_history "${lengths[-1]}" "$protocol"
    done
    halts "$programs"/bench_bare
    bench tests/performance/bench_live.py
    bench tests/performance/bench_port.py build/bench-programs
    bench tests/performance/bench_capture.py
    bench tests/performance/bench_reverse.py
    for core in m4 m33 a9-t32 a9-a32; do
        bench "$programs"/bench_execute "$core" "build/bench-programs/numbers-$core.elf" "${core:0:1}"
    done
    bench tests/performance/bench_snapshot.py
    bench tests/performance/bench_questions.py "$programs"/bench_history
fi
for ((turn = 0; turn < ${BENCH_AGAIN:-2}; turn++)); do
    again
done
tests/performance/report.py "$rows" | tee build/bench.txt || code=1
exit "$code"
