# SPDX-License-Identifier: BSD-3-Clause
"""Programs of the virtual boards, built with several optimisations and run with the truth switched
on: what `btraced coverage`, `profile` and the others say is held against what really ran."""

import collections
import os
import re
import subprocess

from live_gdb import Live, board_file
from live_runs import run_long
from replay_gdb import BTRACED, PATIENCE, ROOT, environment, equal, expect, folder, has, tool

SOURCES = ROOT / "configs" / "virtual"
BOARDS = {
    "m3": ["-mcpu=cortex-m3", "-mthumb", "-DBOARD_M3", "-Wl,-T,m3.ld", "board-m.c"],
    "m4": ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=soft", "-DBOARD_M4", "-Wl,-T,m4.ld",
           "board-m.c"],
    "m7": ["-mcpu=cortex-m7", "-mthumb", "-mfloat-abi=soft", "-DBOARD_M7", "-Wl,-T,m3.ld",
           "board-m.c"],
    "m33": ["-mcpu=cortex-m33", "-mthumb", "-mfloat-abi=soft", "-DBOARD_M33", "-Wl,-T,m33.ld",
            "board-m.c"],
    "a9": ["-mcpu=cortex-a9", "-marm", "-mthumb-interwork", "-mfloat-abi=soft", "-DBOARD_A9",
           "-Wl,-T,a9.ld", "start-a9.S", "board-a9.c", "worker.c"],
    "a53": ["start-a53.S", "board-a53.c", "worker.c"],
}
FULL = os.environ.get("BTRACED_FULL") == "1"
# All of them take a minute of CPU.
CHOSEN = [("m3", "-O2"), ("m4", "-O0"), ("m7", "-Os"), ("m33", "-O2"), ("a9", "-O2"),
          ("a53", "-Os")]
ALL = [(board, level) for board in BOARDS for level in ("-O0", "-O2", "-Os")]
RUNS = ALL if FULL else CHOSEN


def command(*words, **options):
    """Standard output of a program that has to succeed."""
    tool(words[0])
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=5 * PATIENCE, env=environment(), **options)
    equal(done.returncode, 0, f"exit code of {words[0]}: {done.stdout[-500:]}{done.stderr[-2000:]}")
    return done.stdout


def build(board, level, *more, source="crash.c"):
    """The program of a board: crash-BOARD.elf in a folder of its own."""
    out = folder() / f"crash-{board}.elf"
    common = ["-std=gnu11", level, "-gdwarf-4", "-ffreestanding", *more]
    if board != "a53":
        command("arm-none-eabi-gcc", *common, "-fno-tree-loop-distribute-patterns", "-nostdlib",
                "-L.", "-Wl,-n", *BOARDS[board], source, "-lgcc", "-o", out, cwd=SOURCES)
        return out
    objects = []
    for part in [*BOARDS[board], source]:
        objects.append(out.parent / f"{os.path.basename(part)}.o")
        command("clang", "--target=aarch64-none-elf", "-mcpu=cortex-a53", "-mgeneral-regs-only",
                *common, "-fno-builtin", "-c", part, "-o", objects[-1], cwd=SOURCES)
    command("ld.lld", "-n", "-T", "a53.ld", *objects, "-o", out, cwd=SOURCES)
    return out


def tracefile(text):
    """{file: {"DA": {line: count}, "FN": {name: count}}}."""
    found = {}
    for row in text.splitlines():
        key, _, rest = row.partition(":")
        if key == "SF":
            record = found[rest.split("/")[-1]] = {"DA": {}, "FN": {}}
        elif key == "DA":
            record["DA"][int(rest.split(",")[0])] = int(rest.split(",")[1])
        elif key == "FNDA":
            record["FN"][rest.split(",")[1]] = int(rest.split(",")[0])
    return found


class Run:
    """One run: its program, its recording, and the addresses that ran, as far as they are decoded.
    """

    def __init__(self, board, level, count=60000, registers=(), more=()):
        self.board, self.level, self.btraced = board, level, BTRACED
        self.elf = build(board, level, *more)
        self.m_profile = board.startswith("m")
        path = board_file(f"virtual-{board}", registers=dict(registers),
                          replace=[(str(SOURCES / f"crash-{board}.elf"), str(self.elf))])
        with Live(path) as live:
            self.recording, _ = run_long(live, self.elf, count)
            ran = live.truth()
        self.truth = [address & ~1 for address in ran]
        self.thumb = {address & ~1 for address in ran if address & 1}
        self.prefix = "aarch64-linux-gnu-" if board == "a53" else "arm-none-eabi-"

    def export(self, what, *options, code=0):
        """Standard output of `btraced WHAT`."""
        done = subprocess.run([BTRACED, what, "--elf", str(self.elf), *options, str(self.recording)],
                              capture_output=True, text=True, timeout=5 * PATIENCE,
                              env=environment())
        equal(done.returncode, code, f"exit code of btraced {what}: {done.stderr}")
        return done.stdout

    def proved(self, text):
        """What ran, up to what the recording proves: the decoder holds a few instructions back."""
        count = int(has(text, r"(\d+) instructions from \d+ bytes")[1])
        has(text, r"bytes of trace; no gaps$|no gaps\n")
        expect(len(self.truth) - 16 < count <= len(self.truth),
               f"{count} instructions decoded, {len(self.truth)} ran")
        return self.truth[:count]

    def lines(self, addresses):
        """{address: (file, line)} by addr2line."""
        addresses = sorted(addresses)
        text = command(self.prefix + "addr2line", "-e", self.elf,
                       input="\n".join(map(hex, addresses)))
        found = {}
        for address, place in zip(addresses, text.splitlines()):
            file, _, line = place.split(" ")[0].rpartition(":")
            if line.isdigit() and int(line):
                found[address] = (os.path.basename(file), int(line))
        return found

    def listing(self):
        """{address: (size, mnemonic, operands)} by objdump."""
        found = {}
        text = command(self.prefix + "objdump", "-d", "--no-show-raw-insn", self.elf)
        for row in re.finditer(r"^\s*([0-9a-f]+):\t(\S+)[ \t]*([^\n]*)$", text, re.MULTILINE):
            found[int(row[1], 16)] = (row[2], row[3])
        return found

    def functions(self):
        """{address: name} by readelf; of two at one address a function, not a label."""
        found = {}
        for row in command(self.prefix + "readelf", "-sW", self.elf).splitlines():
            words = row.split()
            if len(words) == 8 and words[3] in ("FUNC", "NOTYPE") and words[6].isdigit() and \
                    words[7][0] != "$":
                address = int(words[1], 16) & ~1
                if words[3] == "FUNC" or address not in found:
                    found[address] = words[7]
        return found


CONDITIONS = "eq|ne|cs|cc|hs|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"
CONDITIONAL = re.compile(rf"(b\.({CONDITIONS})|b({CONDITIONS})(\.[nw])?|bl({CONDITIONS})"
                         rf"|bx({CONDITIONS})|blx({CONDITIONS})|cbn?z|tbn?z)$")
LOADS_PC = re.compile(rf"(pop|ldm\w*?|ldr)({CONDITIONS})(\.[nw])?$")


def conditional_branches(listing):
    """{address: (behind, target or None)}."""
    found, order = {}, sorted(listing)
    for address, behind in zip(order, order[1:]):
        name, operands = listing[address]
        loads = LOADS_PC.match(name) and re.search(r"\bpc\b[^\[]*$", operands) and \
            not (name.startswith("ldr") and not operands.startswith("pc"))
        if not CONDITIONAL.match(name) and not loads:
            continue
        target = re.search(r"(?:^|[\s,])(?:0x)?([0-9a-f]+)\s*(?:<|$)", operands)
        direct = not loads and not re.match(r"bl?x", name)
        found[address] = (behind, int(target[1], 16) if direct else None)
    return found


def directions(truth, branches):
    """Counter of (address, taken). An exception may come between a branch and where it leads: then it
    went where the interrupted code goes on."""
    found, pending = collections.Counter(), []
    for at, address in enumerate(truth[:-1]):
        pending = [branch for branch in pending
                   if not settle(found, branch, branches[branch], address)]
        if address in branches:
            following = truth[at + 1]
            if not settle(found, address, branches[address], following):
                expect(branches[address][1] is not None,
                       f"{address:#x}: an exception behind an indirect conditional branch")
                pending.append(address)
    return found, pending


def settle(found, branch, ways, following):
    behind, target = ways
    if following not in (behind, target) and target is not None:
        return False
    found[branch, following != behind] += 1
    return True
