# SPDX-License-Identifier: BSD-3-Clause
"""The page of metrics: fetched, and taken apart by the rules of its format."""

import re
import sys
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))

from replay_gdb import PATIENCE, expect, logged  # noqa: E402


def page(server, path="/metrics", **options):
    """What a server answers at the address that it has said. urllib.error.HTTPError: a refusal."""
    port = logged(server, r"^numbers at http://127\.0\.0\.1:(\d+)/metrics$")[1]
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", **options)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return answer.read().decode()


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
