#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which lines of the product the fuzzers come to: tests/fuzz/coverage.py [FUZZER...]

Runs each fuzzer on its seeds, on what it has found before (build/fuzz/corpus) and for FUZZ_SECONDS (0) more, and
prints for each source that a fuzzer enters how many lines it comes to, and the functions that none enters. The table
with every line goes to build/fuzzcov/lines.txt. Needs `make fuzz-coverage`, which builds the programs."""

import collections
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "build" / "fuzzcov"
TOOLS = {name: os.environ.get(name.upper().replace("-", "_"), name) for name in ("llvm-profdata", "llvm-cov")}


def run_fuzzer(name, seconds):
    """The program and its profile; None: it failed, which is said."""
    program, raw = OUT / "bin" / name, OUT / f"{name}.profraw"
    folders = [folder for folder in (ROOT / "build/fuzz/corpus" / name, ROOT / "tests/fuzz/seeds" / name)
               if folder.is_dir()]
    found = OUT / "corpus" / name
    found.mkdir(parents=True, exist_ok=True)
    limit = [f"-max_total_time={seconds}"] if seconds else ["-runs=0"]
    done = subprocess.run([program, *limit, "-timeout=60", found, *folders], cwd=ROOT, stdin=subprocess.DEVNULL,
                          env=dict(os.environ, LLVM_PROFILE_FILE=str(raw)), capture_output=True, text=True)
    if done.returncode != 0:
        print(f"FAIL {name}: {done.stderr[-1500:]}")
        return None
    return program, raw


def tool(name, *arguments):
    return subprocess.run([TOOLS[name], *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def is_product(path):
    return path.split("/")[0] in ("decoder", "drivers", "protocol", "server")


def main():
    names = sys.argv[1:] or sorted(path.stem for path in (ROOT / "tests/fuzz").glob("fuzz_*.c"))
    ran = [run_fuzzer(name, int(os.environ.get("FUZZ_SECONDS", "0"))) for name in names]
    good = [pair for pair in ran if pair]
    merged = str(OUT / "all.profdata")
    tool("llvm-profdata", "merge", "-sparse", "-o", merged, *(str(raw) for _, raw in good))
    objects = [word for program, _ in good for word in ("-object", str(program))][1:]
    data = json.loads(tool("llvm-cov", "export", "-instr-profile", merged, *objects))["data"][0]
    (OUT / "lines.txt").write_text(tool("llvm-cov", "show", "-instr-profile", merged, *objects))

    missed = collections.defaultdict(list)
    for function in data["functions"]:
        path = os.path.relpath(function["filenames"][0], ROOT)
        if is_product(path) and function["count"] == 0:
            missed[path].append(function["name"].split(":")[-1])
    files, reached, lines = 0, 0, 0
    for entry in sorted(data["files"], key=lambda entry: entry["filename"]):
        path, count = os.path.relpath(entry["filename"], ROOT), entry["summary"]["lines"]
        if not is_product(path) or count["covered"] == 0:
            continue
        files, reached, lines = files + 1, reached + count["covered"], lines + count["count"]
        print(f"{100 * count['covered'] / count['count']:5.1f} % of {count['count']:5} {path}")
        for name in sorted(set(missed[path])):
            print(f"        never entered: {name}")
    print(f"{100 * reached / lines:.1f} % of {lines} lines in {files} files; each line: {OUT / 'lines.txt'}")
    sys.exit(len(good) != len(ran))


main()
