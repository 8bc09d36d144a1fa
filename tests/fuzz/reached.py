#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What each seed of each fuzzer comes to: a function of the product that few other seeds of it reach, in reached.txt
as lines `fuzzer/seed function`; where the product is inline, a function of the fuzzer that it calls. A seed that ends
before it, since a format or a fuzzer has changed, is a fuzzer that tries less than it seems to.
usage: reached.py [FUZZER...], or reached.py --write, which makes the table for seeds that are new and functions that
have other names now: read it before you commit it, `nothing` is a seed that does nothing. Needs `make fuzzers`, and
llvm-symbolizer."""

import collections
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("reached.txt")
SEEDS = Path(__file__).with_name("seeds")
COVERED = re.compile(r"^COVERED_FUNC: hits: \d+ edges: (\d+)/(\d+) (\S+) (\S+):\d+$", re.MULTILINE)
PRODUCT = re.compile(r"(?:^|/)(?:decoder|drivers|protocol|server)/[\w/.-]+$")
LEAST = 6  # edges of a function that no compiler puts into its caller


def reached(fuzzer, seed):
    """{function of the product: edges of it that the seed comes to}"""
    with tempfile.TemporaryDirectory() as alone:  # of a folder libFuzzer says what it came to, of a file not
        shutil.copy(seed, alone)
        done = subprocess.run([ROOT / "build/fuzz/bin" / fuzzer, "-runs=0", "-print_coverage=1", "-timeout=60", alone],
                              cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                              check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{fuzzer}/{seed.name}: {done.stderr[-1500:]}")
    found = [(name, int(edges), int(of), "/tests/" not in path and PRODUCT.search(path))
             for edges, of, name, path in COVERED.findall(done.stderr) if name != "LLVMFuzzerTestOneInput"]
    return {name: edges for name, edges, of, product in found
            if of >= LEAST and (product or not any(other[3] for other in found))}


def all_reached(fuzzers):
    """{fuzzer: {seed: reached()}}"""
    found = {fuzzer: {} for fuzzer in fuzzers}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {pool.submit(reached, fuzzer, seed): (fuzzer, seed.name)
                for fuzzer in fuzzers for seed in sorted((SEEDS / fuzzer).iterdir())}
        for run in concurrent.futures.as_completed(runs):
            fuzzer, seed = runs[run]
            found[fuzzer][seed] = run.result()
    return found


def read_table():
    return dict(line.split() for line in TABLE.read_text().splitlines())


def told(found):
    """A function for each seed: that of the table, or of those that the fewest seeds reach the one of which it sees
    most."""
    table = read_table()
    for fuzzer, seeds in sorted(found.items()):
        counts = collections.Counter(name for functions in seeds.values() for name in functions)
        for seed, functions in sorted(seeds.items()):
            best = table.get(f"{fuzzer}/{seed}")
            if best not in functions:
                best = min(functions, key=lambda name: (counts[name], -functions[name], name), default="nothing")
            yield f"{fuzzer}/{seed} {best}\n"


def check(found):
    table, failed = read_table(), False
    for fuzzer, seeds in sorted(found.items()):
        bad = [f"{seed} does not come to {table[f'{fuzzer}/{seed}']}" for seed, functions in sorted(seeds.items())
               if table.get(f"{fuzzer}/{seed}", "nothing") not in functions and f"{fuzzer}/{seed}" in table]
        bad += [f"{seed} is not in reached.txt" for seed in sorted(seeds) if f"{fuzzer}/{seed}" not in table]
        bad += [f"{key} is no seed" for key in sorted(table)
                if key.split("/")[0] == fuzzer and key.split("/")[1] not in seeds]
        print(f"{'FAIL' if bad or not seeds else 'PASS'} seeds: {fuzzer}: "
              f"{'; '.join(bad) or f'{len(seeds)} come to what they are for'}", flush=True)
        failed |= bool(bad) or not seeds
    return failed


def main():
    if not shutil.which("llvm-symbolizer"):
        print("SKIP seeds: llvm-symbolizer is not there")
        return False
    write = "--write" in sys.argv
    fuzzers = [] if write else sys.argv[1:]
    fuzzers = fuzzers or sorted(path.stem for path in Path(__file__).parent.glob("fuzz_*.c"))
    found = all_reached(fuzzers)
    if write:
        lines = list(told(found))
        TABLE.write_text("".join(lines))
        return False
    return check(found)


sys.exit(main())
