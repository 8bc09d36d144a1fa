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


def copy_of(path, copy):
    """A copy that may be written, by whoever may read the capture."""
    shutil.copytree(path, copy)
    for each in [copy, *copy.rglob("*")]:
        each.chmod(each.stat().st_mode | 0o200)


def tool(name):
    """Path of a program that the tests may lack, or None."""
    return shutil.which(name)


class Failed(Exception):
    pass


INSTRUCTIONS = ["core", "index", "address", "opcode", "size", "isa", "cycles", "condition", "text"]


def command_of(listing, source, folder, extra):
    program = os.environ.get("BTRACED", str(ROOT / "build" / "btraced"))
    return [program, "decode", "--" + listing, "--format", "tsv", "--source", source, *extra, folder]


def decode(listing, source, folder, columns, extra=()):
    """Rows of `btraced decode --<listing>` as tuples of the named columns, all text. `extra`: more
    options, as a list."""
    command = command_of(listing, source, folder, extra)
    try:
        run = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise Failed(f"cannot run {command[0]}: {error.strerror}") from error
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
    return decode("instructions", source, folder, INSTRUCTIONS, extra)


def path(source, folder, extra=()):
    """Addresses of the instructions, with the Thumb bit. As instructions(), without their rows: those of
    millions take most of a test's time and memory."""
    command = command_of("instructions", source, folder, extra)
    ran, known, tabs = [], {}, None
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as run:
        for line in run.stdout:
            words = line.split("\t", 6)
            if tabs is None:
                if line.rstrip("\n").split("\t") != INSTRUCTIONS:
                    raise Failed(f"btraced decode --instructions: columns {words}")
                tabs = len(INSTRUCTIONS) - 1
                continue
            if line.count("\t") != tabs:
                raise Failed(f"btraced decode --instructions: other columns in {line!r}")
            place = words[2], words[5]
            address = known.get(place)
            if address is None:
                address = known[place] = int(words[2], 16) | (words[5] == "T32")
            ran.append(address)
    if run.returncode != 0 or tabs is None:
        raise Failed(f"btraced decode --instructions: exit status {run.returncode}, "
                     f"{len(ran)} instructions")
    return ran


def blocks(source, folder, extra=()):
    return decode("blocks", source, folder,
                  ["core", "index", "first", "last", "count", "isa", "condition", "cycles"],
                  extra)


def events(source, folder, extra=()):
    return decode("events", source, folder, ["core", "index", "offset", "event", "detail"], extra)


def details(text):
    """'a=1 b=2' -> {'a': '1', 'b': '2'}"""
    return dict(item.split("=", 1) for item in text.split())
