#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# After all tasks of count.sh: every report of FORMATS, from all files of counts below OUT.
#
#   sbatch --dependency=afterok:JOB --export=ALL,ELF=program,OUT=counts merge.sh
#SBATCH --job-name=btraced-merge
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=1G
set -eu
: "${ELF:?the program}" "${OUT:?the folder of the counts}"
for format in ${FORMATS:-lcov autofdo summary}; do
    "${BTRACED:-btraced}" merge --elf "$ELF" --format "$format" -o "$OUT/merged.$format" \
        "$OUT"/*.counts
done
