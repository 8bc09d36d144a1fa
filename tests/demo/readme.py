#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the README tells people to type works, and prints what it shows. Blocks marked `sh` are run
line by line in a folder of their own; a server runs on until the next one, and gdb-multiarch
connects to it. Blocks marked `gdb` are sessions with a fresh server of the line before, blocks
marked `btraced` what that server says: compared line by line, `...` stands for any lines."""

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

README = (ROOT / "README.md").read_text()
# What these do is run elsewhere: the demo and all tests by the tests, the others by CI.
TARGETS = {"demo", "check", "check-full", "bench", "fuzz", "deps", "install"}
suite = Suite()


class Shell:
    """A folder like the source tree's root, and the server that was started last."""

    def __init__(self):
        place = folder()
        for name in ("build", "configs", "docs", "tests", "Makefile", "drivers"):
            (place / name).symlink_to(ROOT / name)
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

    def restart(self):
        expect(self.line, "no server before this block")
        self.start(self.line)
        return self.server

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
        elif command[0] == "gdb-multiarch":
            self.attach(line)
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


def check_session(shell, block):
    server = shell.restart()
    parts = re.split(r"^\(gdb\) (.*)\n", block, flags=re.MULTILINE)[1:]
    commands, shown = parts[0::2], parts[1::2]
    expect(commands[0].startswith("target "), f"session begins with '{commands[0]}'")
    connect = commands[0].rsplit(" ", 1)[0]
    program = "crash-m3.elf" if "virtual-m3" in shell.line else "crash-a9.elf"
    session = gdb(server.port, commands[1:], connect=connect, elf=ROOT / "configs/virtual" / program,
                  before=[f"directory {ROOT / 'configs/virtual'}"])
    for command, text, output in zip(commands, shown, session.outputs):
        compare(lines_of(text), lines_of(output), f"'{command}'")


def check_summary(shell, block):
    server = shell.restart()
    printed = [line.replace(f":{server.port}", ":3333") for line in lines_of(server.stderr)
               if not line.startswith("board: ")]
    compare(lines_of(block), printed, "the server")


def add(name, function, *arguments):
    suite.test(f"docs: README: {name}")(lambda: function(*arguments))


the_shell = Shell()
found = re.findall(r"^```(sh|gdb|btraced)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
for kind, content in found:
    if kind == "sh":
        for row in content.splitlines():
            if row.strip() and not row.startswith("#"):
                add(row.split("  #")[0].strip(), the_shell.execute, row)
    elif kind == "gdb":
        add("session up to " + re.findall(r"^\(gdb\) (.*)", content, re.MULTILINE)[-1], check_session,
            the_shell, content)
    else:
        add("summary", check_summary, the_shell, content)
add("the last server ends well", the_shell.stop)
suite.test("docs: README has commands, a session and a summary")(
    lambda: equal({kind for kind, _ in found}, {"sh", "gdb", "btraced"}, "kinds of blocks"))
suite.run()
