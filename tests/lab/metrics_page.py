# SPDX-License-Identifier: BSD-3-Clause
"""The page of metrics, taken apart by the rules of its format."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))

from replay_gdb import expect  # noqa: E402


def numbers(text):
    """The samples of a page, each behind its type."""
    found, types = {}, {}
    for line in text.splitlines():
        if match := re.fullmatch(r"# TYPE (\S+) (gauge|counter)", line):
            types[match[1]] = match[2]
        elif not line.startswith("# HELP "):
            match = re.fullmatch(r'([a-z_]+)(\{[^}]*\})? (\d+)', line)
            expect(match, f"not a sample: {line!r}")
            expect(match[1] in types, f"{match[1]} has no type")
            found[match[1] + (match[2] or "")] = int(match[3])
    return found
