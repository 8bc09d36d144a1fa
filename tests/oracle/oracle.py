# SPDX-License-Identifier: BSD-3-Clause
"""What the comparisons with other decoders share: captures, `btraced decode`, verdict lines."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Report:
    """PASS, FAIL and SKIP lines; details of a failure follow it as comments."""

    def __init__(self):
        self.failed = False

    def check(self, name, problems, details=""):
        """PASS if `problems` (a list of texts) is empty."""
        if not problems:
            print(f"PASS {name}" + (f": {details}" if details else ""))
            return
        self.failed = True
        print(f"FAIL {name}: {problems[0]}")
        for text in problems[1:20]:
            print(f"#   {text}")
        if len(problems) > 20:
            print(f"#   and {len(problems) - 20} more")

    def skip(self, name, why):
        if os.environ.get("BTRACED_REQUIRE_DATA") == "1":
            self.check(name, [why])
        else:
            print(f"SKIP {name}: {why}")

    def exit(self):
        sys.stdout.flush()
        sys.exit(1 if self.failed else 0)


def capture(folder):
    """Path of a folder of captures, or None."""
    data = Path(os.environ.get("BTRACED_DATA", ROOT.parent / "shared" / "data"))
    return data / folder if (data / folder / "snapshot.ini").exists() else None


def tool(name):
    """Path of a program that the tests may lack, or None."""
    return shutil.which(name)


class Failed(Exception):
    pass


def decode(listing, source, folder, columns, extra=()):
    """Rows of `btraced decode --<listing>` as tuples of the named columns, all text. `extra`: more
    options, as a list."""
    program = os.environ.get("BTRACED", str(ROOT / "build" / "btraced"))
    command = [program, "decode", "--" + listing, "--format", "tsv", "--source", source,
               *extra, folder]
    try:
        run = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise Failed(f"cannot run {program}: {error.strerror}") from error
    if run.returncode != 0:
        raise Failed(f"btraced decode --{listing}: exit status {run.returncode}: "
                     f"{run.stderr.strip()[:200]}")
    lines = run.stdout.splitlines()
    if not lines:
        raise Failed(f"btraced decode --{listing}: no header line")
    header = lines[0].split("\t")
    if header != columns:
        raise Failed(f"btraced decode --{listing}: columns {header}, expected {columns}")
    rows = [tuple(line.split("\t")) for line in lines[1:]]
    for row in rows:
        if len(row) != len(columns):
            raise Failed(f"btraced decode --{listing}: {len(row)} fields in {row}")
    return rows


def packets(source, folder, extra=()):
    return decode("packets", source, folder, ["source", "offset", "bytes", "packet", "detail"],
                  extra)


def instructions(source, folder, extra=()):
    return decode("instructions", source, folder,
                  ["core", "index", "address", "opcode", "size", "isa", "cycles", "condition",
                   "text"], extra)


def blocks(source, folder, extra=()):
    return decode("blocks", source, folder,
                  ["core", "index", "first", "last", "count", "isa", "condition", "cycles"],
                  extra)


def events(source, folder, extra=()):
    return decode("events", source, folder, ["core", "index", "offset", "event", "detail"], extra)


def details(text):
    """'a=1 b=2' -> {'a': '1', 'b': '2'}"""
    return dict(item.split("=", 1) for item in text.split())
