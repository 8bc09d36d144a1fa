#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What docs/probes.md tells people to type works on the modelled probe and board, and prints what
it shows: `...` stands for any lines."""

import os
import re
import shutil
import subprocess

from probe_gdb import BENCH, LOADED_MACHINE, ROOT, ProbeServer, bench
from replay_gdb import (BTRACED, PATIENCE, Suite, environment, equal, expect, folder, gdb, has,
                        lacks, tool)

GUIDE = (ROOT / "docs" / "probes.md").read_text()
PROGRAMS = ROOT / "configs" / "virtual"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
suite = Suite()


def place():
    """A folder with the files that the guide speaks of."""
    here = folder()
    shutil.copy(PROGRAMS / "crash-m3.elf", here / "firmware.elf")
    shutil.copy(PROGRAMS / "flash-m3.flm", here / "flash.flm")
    (here / "board.conf").write_text(next(text for kind, text in BLOCKS if kind == "ini"))
    os.chdir(here)
    return here


def compare(shown, printed):
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n"
                      for line in shown.splitlines())
    expect(re.fullmatch(pattern, printed), f"the guide shows another text than:\n{printed}")


def options(here):
    tool("qemu-system-arm")
    return ["--core", f"qemu:mps2-an385,{here}/firmware.elf", "--plugin",
            ROOT / "build" / "virtual-board.so", "--flash", "0x0+0x40000"]


def board(here):
    return ProbeServer(*options(here), path=here / "board.conf")


def run(here, line):
    words = line.split()
    words[0] = str(BTRACED)
    done = subprocess.run([*bench(*options(here)), *words], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE,
                          env=environment())
    equal(done.returncode, 0, f"exit code of '{line}' ({done.stderr[-300:]})")
    return done.stdout


@suite.test("guide: what is typed in a shell")
def _():
    here = place()
    for (kind, text), (next_kind, shown) in zip(BLOCKS, BLOCKS[1:]):
        line = text.strip()
        if kind != "sh" or not line.startswith("btraced "):
            continue
        if line == "btraced serve -c ./board.conf":
            with board(here) as server:
                printed = server.stderr
        else:
            printed = run(here, line)
        if next_kind == "text":
            compare(shown, printed)


@suite.test("guide: the session in GDB")
def _():
    here = place()
    commands = re.findall(r"^\(gdb\) (.*)$", next(t for k, t in BLOCKS if k == "gdb"), re.MULTILINE)
    with board(here) as server:
        s = gdb(server.port, commands[1:], connect=commands[0].rsplit(" ", 1)[0],
                elf=here / "firmware.elf", before=[LOADED_MACHINE])
        has(s["load"], "Transfer rate")
        has(s["continue"], "Breakpoint 1, add_value")
        has(s["record function-call-history"], r"^\d+\t\w+")
        lacks(s.text, "(?i)undefined command|unknown command|not supported|corrupted|^error")


@suite.test("guide: its monitor commands, and all there are")
def _():
    table = GUIDE.split("## 5. ")[1].split("\n## ")[0]
    typed = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)[1:]
    source = "".join((ROOT / "server" / "probe" / name).read_text()
                     for name in ("probe_target_command.c", "probe_target_m.c"))
    known = re.findall(r'^    \{"(\w+)", \w*cmd_', source, re.MULTILINE)
    equal(sorted({line.split()[0] for line in typed}), sorted(known), "commands in the guide")
    page = (ROOT / "docs" / "btraced.1").read_text()
    expect(known and all(re.search(rf"^\.It Ic {word}\b", page, re.MULTILINE) for word in known),
           "the man page lacks one of them")
    here = place()
    with board(here) as server:
        s = gdb(server.port, [f"monitor {line}" for line in typed], elf=here / "firmware.elf",
                connect="target extended-remote", before=[LOADED_MACHINE])
        lacks(s.text, "unknown command")


@suite.test("guide: the emulated probe by hand")
def _():
    os.chdir(ROOT)
    lines = [text.strip() for kind, text in BLOCKS if kind == "bash"]
    probes, serve = (line.split() for line in lines if " -- " in line)
    equal((probes[0], serve[0]), (str(BENCH.relative_to(ROOT)),) * 2, "the test bench's program")
    printed = subprocess.run([*probes[:-2], str(BTRACED), probes[-1]], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=PATIENCE, env=environment())
    has(printed.stdout, "^btraced Model CMSIS-DAP$")
    tool("qemu-system-arm")
    before, after = serve[1:serve.index("--")], serve[serve.index("--") + 1:]
    equal(after[:3], ["build/btraced", "serve", "-c"], "the server's command")
    session = [text for kind, text in BLOCKS if kind == "gdb"][-1]
    shown = re.split(r"^\(gdb\) (.*)\n", session, flags=re.MULTILINE)[1:]
    with ProbeServer(*before, path=ROOT / after[3]) as server:
        compare([text for kind, text in BLOCKS if kind == "text"][-1].replace(
            ":3333", f":{server.port}"), server.stderr)
        s = gdb(server.port, shown[2::2], elf=lines[-1].split()[-1],
                connect=shown[0].rsplit(" ", 1)[0], before=[LOADED_MACHINE])
    for command, text in zip(shown[2::2], shown[3::2]):
        for line in text.splitlines():
            if line != "...":
                has(s[command], f"^{re.escape(line)}$", command)


@suite.test("guide: files that it names are there")
def _():
    for path in set(re.findall(r"\bconfigs/[\w./-]+\w", GUIDE)):
        expect((ROOT / path).exists(), f"no {path}")


if __name__ == "__main__":
    suite.run()
