# SPDX-License-Identifier: BSD-3-Clause
"""The page on a first remote lab, taken apart into its commands."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "lab-quick-start.md"


def section():
    return PAGE.read_text()


def commands(comments=False):
    """The lines that people type, in order; "(gdb) " stands in front of GDB's."""
    way = section().partition("\n### ")[2]
    lines = []
    for block in re.findall(r"^```(?:sh|text)\n(.*?)^```", way, re.MULTILINE | re.DOTALL):
        lines += [line for line in block.splitlines() if line.strip()]
    return lines if comments else [line.partition("  #")[0].strip() for line in lines]


def bench_lines():
    """Those of the bench PC that want systemd."""
    return [line for line in commands() if line.startswith(("systemctl", "systemd-", "editor",
                                                            "btraced serve"))]


def option_lines():
    """What GDB is given, by the ways in of the table."""
    return dict(re.findall(r"^\| (\w+): `(target .*?)` \|", section().replace("\\|", "|"), re.MULTILINE))
