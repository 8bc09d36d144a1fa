#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# One task of a job array: counts one part of one recording. RUNS is a recording, or a file with the
# path of a recording in each line; task number t counts part t % PARTS of recording t / PARTS.
#
#   sbatch --array=0-63 --export=ALL,RUNS=run,PARTS=64,ELF=program,OUT=counts count.sh
#
# A recording has to have the same name on all nodes: --run gives it one that no other of RUNS has.
# Memory is the same whatever the length; a task is one thread. A task that was killed is done again
# by itself (--requeue): its file is there whole or not at all.
#SBATCH --job-name=btraced-count
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=512M
#SBATCH --requeue
set -eu
: "${RUNS:?a recording, or a file of paths}" "${ELF:?the program}" "${OUT:?a folder for the counts}"
parts=${PARTS:-1}
task=${TASK:-${SLURM_ARRAY_TASK_ID:-${JOB_COMPLETION_INDEX:?the number of this task}}}
run=$((task / parts)) part=$((task % parts + 1))
if [ -d "$RUNS" ]; then
    recording=$RUNS
else
    recording=$(sed -n "$((run + 1))p" "$RUNS")
fi
[ -n "$recording" ] || { echo "count.sh: '$RUNS' has no line $((run + 1))" >&2; exit 2; }
mkdir -p "$OUT"
exec "${BTRACED:-btraced}" "${WHAT:-feedback}" --part "$part/$parts" --elf "$ELF" \
    --run "$run-$(basename "$recording")" -o "$OUT/$run-$part.counts" "$recording"
