#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What an ordinary user, or a container, may not do is skipped with the reason, and no failure: the
tests that want rights, without any."""

import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))

from replay_gdb import PATIENCE, Suite, environment, equal, expect, tool  # noqa: E402

HERE = Path(__file__).resolve().parent
WANT_RIGHTS = [path.name for path in sorted(HERE.glob("test_*.py"))
               if re.search(r"^from namespaces import", path.read_text(), re.MULTILINE)]
suite = Suite()


def without_rights():
    """A command in front of a program; none for a user who has none."""
    words = [tool("setpriv"), "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"]
    return words if os.geteuid() == 0 else []


def check(name):
    settings = dict(environment(), BTRACED_REQUIRE_DATA="0", PATH="/usr/local/bin:/usr/bin:/bin")
    done = subprocess.run([*without_rights(), sys.executable, str(HERE / name)], env=settings,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          timeout=PATIENCE)
    verdicts = re.findall(r"^(PASS|FAIL|SKIP) (.*)$", done.stdout, re.MULTILINE)
    skipped = [text for word, text in verdicts if word == "SKIP"]
    equal([text for word, text in verdicts if word == "FAIL"], [], "failures")
    equal(done.returncode, 0, f"exit code ({done.stderr[-400:]})")
    expect(skipped, "nothing was skipped")
    for text in skipped:
        expect("no network namespaces (root's right, or a container's): ip " in text or
               ": no program " in text, f"the reason is missing: {text}")


for file in WANT_RIGHTS:
    suite.test(f"without rights: {file}")(lambda file=file: check(file))
suite.test("without rights: there are such tests")(
    lambda: equal(WANT_RIGHTS, ["test_chapter.py", "test_namespaces.py"], "files"))
suite.run()
