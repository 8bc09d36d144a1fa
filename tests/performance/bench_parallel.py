#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How much sooner `decode -j 2` is done with a long recording than one thread, which takes turns with
it. Prints a line for report.py, fields are NAME=VALUE.

usage: bench_parallel.py BENCH_HISTORY MEGABYTES PROTOCOL   the program that makes the recording

Wall time says something only where two cores were free: `others` is how many cores other processes
had meanwhile, and the bar counts where that is little."""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BTRACED = os.environ.get("BTRACED", "build/btraced")
TURNS = 3
JOBS = 2


def spent():
    """Seconds of CPU time of all finished children."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def busy():
    """Seconds that the cores were not idle, all together; what a hypervisor took counts."""
    fields = [int(f) for f in Path("/proc/stat").read_text("ascii").split("\n")[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


class Run:
    def __init__(self, recording, jobs):
        cpu, used, begin = spent(), busy(), time.perf_counter()
        done = subprocess.run([BTRACED, "decode", "-j", str(jobs), str(recording)], check=True,
                              stdout=subprocess.PIPE)
        self.wall = time.perf_counter() - begin
        self.cpu = spent() - cpu
        self.others = max(0.0, busy() - used - self.cpu) / self.wall
        self.output = done.stdout


def main():
    place = Path(tempfile.mkdtemp(prefix="btraced-bench."))
    try:
        recording = place / "recording"
        subprocess.run([sys.argv[1], "--write", str(recording), *sys.argv[2:]], check=True)
        turns = [(Run(recording, 1), Run(recording, JOBS)) for _ in range(TURNS)]
    finally:
        shutil.rmtree(place)
    for one, many in turns:
        if one.output != many.output:
            sys.exit(f"bench_parallel: {JOBS} threads print something else than one")
    one = min((t[0] for t in turns), key=lambda r: r.wall)
    many = min((t[1] for t in turns), key=lambda r: r.wall)
    print("parallel", f"protocol={sys.argv[3]}", f"megabytes={sys.argv[2]}", f"jobs={JOBS}", f"cores={os.cpu_count()}",
          f"one_wall={one.wall:.3f}", f"one_cpu={one.cpu:.3f}", f"wall={many.wall:.3f}",
          f"cpu={many.cpu:.3f}", f"others={max(one.others, many.others):.2f}", sep="\t")


if __name__ == "__main__":
    main()
