#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the README, and the page on recordings, tell people to type works, and prints what it shows.
Blocks marked `sh` are run line by line in a folder of their own; a server runs on until the next one,
and gdb-multiarch connects to it. Blocks marked `gdb` are one session of the machine's own GDB, typed as
it stands there, in which GDB starts the server: compared line by line, `...` stands for any lines."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench" / "gdb"))
# pylint: disable=wrong-import-position
from replay_gdb import (PATIENCE, ROOT, SETTINGS, Server, Suite, environment, equal, expect, folder,
                        gdb, has, lacks)

PAGES = ("README.md", "docs/recordings.md")
SESSION_ELF = "configs/virtual/crash-m3.elf"
# What these do is run elsewhere: the demo and all tests by the tests, the others by CI.
TARGETS = {"demo", "check", "deps-build", "install"}
# What a server that GDB has started says comes between GDB's lines at any time, and is left out.
PROGRAM = f"""#!/bin/sh
case "$*" in *--stdio*) exec 2>/dev/null ;; esac
exec {ROOT}/build/btraced "$@"
"""
suite = Suite()


class Shell:
    """A folder like the source tree's root, and the server that was started last."""

    def __init__(self):
        place = folder()
        for name in ("configs", "docs", "tests", "Makefile", "drivers"):
            (place / name).symlink_to(ROOT / name)
        (place / "build").mkdir()
        program = place / "build" / "btraced"
        program.write_text(PROGRAM)
        program.chmod(0o755)
        os.chdir(place)
        self.server = self.line = None

    def start(self, line):
        self.stop()
        words = shlex.split(line, comments=True)[1:]
        if "--listen" in words:
            at = words.index("--listen")
            del words[at:at + 2]
        self.line = line
        self.server = Server(words[-1], *words[1:-1], command=(words[0],))
        self.server.__enter__()

    def stop(self):
        if self.server:
            server, self.server = self.server, None
            server.__exit__(None, None, None)

    def attach(self, line):
        """A line with gdb-multiarch: the port is the server's; nobody types."""
        words = shlex.split(line.replace(":3333", f":{self.server.port}"), comments=True)
        settings = [word for setting in SETTINGS for word in ("-iex", setting)]
        out = run(words[:1] + ["-q", "-nx", "-batch"] + settings + words[1:])
        if "history" in line:
            has(out, r"^\d+\t", "a history")

    def execute(self, line):
        command = line.split("#")[0].split()
        if command[0] == "make":
            expect(command[1:] and command[1] in TARGETS, f"nobody tests '{line}'")
            has((ROOT / "Makefile").read_text(), rf"^{command[1]}:")
        elif command[0] == "gdb-multiarch" and ":3333" in line:
            self.attach(line)
        elif command[0] == "gdb-multiarch":
            equal(command[-1], SESSION_ELF, "the program of the session")
        elif command[1] in ("serve", "replay") and "--check-config" not in command:
            self.start(line)
        else:
            # There may be no probe where this runs, which is what it then says.
            run(["bash", "-c", line], codes=(0, 5) if command[1] == "probes" else (0,))


def run(words, codes=(0,)):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, env=environment())
    expect(done.returncode in codes, f"{words}: {done.returncode} ({done.stdout[-400:]})")
    lacks(done.stdout, r"^Error|refused|No such file", "output")
    return done.stdout


def compare(shown, printed, what):
    """Both are lists of lines; `...` in what is shown stands for any lines."""
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n"
                      for line in shown)
    text = "".join(line + "\n" for line in printed)
    expect(re.fullmatch(pattern, text), f"{what} prints another text:\n{text}")


def lines_of(text):
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def check_session(text):
    parts = re.split(r"^\(gdb\) (.*)\n", text, flags=re.MULTILINE)[1:]
    commands, shown = parts[0::2], parts[1::2]
    expect(commands[0].startswith("target "), f"session begins with '{commands[0]}'")
    session = gdb(None, commands, connect=None, elf=SESSION_ELF,
                  before=["directory configs/virtual"])
    for command, wanted, output in zip(commands, shown, session.outputs):
        compare(lines_of(wanted), lines_of(output), f"'{command}'")


def add(name, function, *arguments):
    suite.test(f"docs: README: {name}")(lambda: function(*arguments))


the_shell = Shell()
session_text = ""
for page in PAGES:
    kinds = re.findall(r"^```(sh|gdb)\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    session_text += "".join(content for kind, content in kinds if kind == "gdb")
    for kind, content in kinds:
        for row in content.splitlines() if kind == "sh" else []:
            if row.strip() and not row.startswith("#"):
                add(row.split("  #")[0].strip(), the_shell.execute, row)
add("the session", check_session, session_text)
add("the last server ends well", the_shell.stop)
add("is short", lambda: expect(len((ROOT / PAGES[0]).read_text().splitlines()) <= 200, "over 200 lines"))
suite.run()
