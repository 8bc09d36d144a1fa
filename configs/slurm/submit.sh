#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Counts a recording in parts, or a list of recordings, on a cluster, and merges:
#
#   submit.sh PROGRAM OUT PARTS RECORDING...
set -eu
[ $# -ge 4 ] || { echo "usage: submit.sh PROGRAM OUT PARTS RECORDING..." >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
ELF=$1 OUT=$2 PARTS=$3
shift 3
mkdir -p "$OUT"
RUNS=$OUT/recordings
printf '%s\n' "$@" >"$RUNS"
export ELF OUT PARTS RUNS
job=$(sbatch --parsable --array="0-$(($# * PARTS - 1))" --output="$OUT/%a.log" --open-mode=append \
    "$here/count.sh")
echo "$job $(sbatch --parsable --dependency="afterok:$job" --output="$OUT/merge.log" "$here/merge.sh")"
