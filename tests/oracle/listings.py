#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What one listing shows does not depend on what else is listed or counted, nor on the number of
threads; and the disassembler is asked once for each instruction address of a source.
"""

import os
import re
import subprocess

import oracle

CAPTURES = ["a15-ptm-return-stack", "tc2-etmv3-ptm"]
DEMO = oracle.ROOT / "tests/demo/recording"
BLOCK = re.compile(r"\S+ +\d+  (?:0x[0-9a-f]+  ){2} *\d+ ")
EVENT = re.compile(r"\S+ +\d+ +\d+  [a-z]")
LISTINGS = {"--blocks": BLOCK, "--events": EVENT}
BESIDE = [["--stats"], ["--summary"], ["--packets"], ["--instructions"], ["-j", "2"],
          ["-j", "2", "--stats", "--instructions"]]


def decode(folder, *options):
    program = os.environ.get("BTRACED", str(oracle.ROOT / "build" / "btraced"))
    run = subprocess.run([program, "decode", *options, folder], capture_output=True, text=True)
    if run.returncode != 0:
        raise oracle.Failed(f"decode {' '.join(options)}: exit status {run.returncode}: "
                            f"{run.stderr.strip()[:200]}")
    return run.stdout.splitlines()


def check_listings(folder):
    """Blocks, and events, alone and beside all else."""
    problems, found = [], []
    for option, line_of in LISTINGS.items():
        alone = [line for line in decode(folder, option) if not line.startswith("source ")]
        odd = [line for line in alone if not line_of.match(line)]
        if odd or not alone:
            return [f"{option}: {len(alone)} lines, {len(odd)} in another form: {odd[:1]}"], ""
        found.append(f"{len(alone)} {option[2:]}")
        other = [name for name in LISTINGS if name != option]
        for beside in [*BESIDE, other, [*other, "--stats"]]:
            lines = [line for line in decode(folder, option, *beside) if line_of.match(line)]
            if lines != alone:
                problems.append(f"{option} {' '.join(beside)}: {len(lines)} lines, not those "
                                f"of {option} alone, {len(alone)}")
    return problems, ", ".join(found)


def check_disassembler(folder):
    """`--stats` against the listing: asked once an address, and not at all without a listing."""
    problems, total = [], 0
    for options, asked in ((["--instructions"], True), (["--blocks"], False), ([], False)):
        for line in decode(folder, *options, "--stats"):
            match = re.match(r"(\S+) +disassembler-calls +(\d+)$", line)
            if not match:
                continue
            source, calls = match.group(1), int(match.group(2))
            rows = oracle.instructions(source, folder) if asked and calls else []
            addresses = len({row[2] for row in rows})
            if calls != addresses:
                problems.append(f"{source} {options}: {calls} calls, {addresses} addresses")
            total += calls
    if not total:
        problems.append("nothing was disassembled")
    return problems, f"{total} instructions"


def main():
    report = oracle.Report()
    for name in [DEMO.parent.name, *CAPTURES]:
        folder = DEMO if name == DEMO.parent.name else oracle.capture(name)
        if folder is None:
            report.skip(f"listings of {name}", "capture not found")
            continue
        try:
            report.check(f"listings of {name} do not depend on each other", *check_listings(folder))
            report.check(f"disassembler of {name} is asked once an address",
                         *check_disassembler(folder))
        except oracle.Failed as failed:
            report.check(name, [str(failed)])
    report.exit()


if __name__ == "__main__":
    main()
