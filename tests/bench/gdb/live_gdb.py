# SPDX-License-Identifier: BSD-3-Clause
"""Live virtual boards for the GDB tests: a shipped board file with the truth switched on, the
server on it, and what really ran."""

import array
import re
import socket
import subprocess
import time
from pathlib import Path

from replay_gdb import (GAP, GDB, PATIENCE, ROOT, Client, Failed, Server, Skipped,
                        environment, equal, expect, folder, frame, has, history, tool, wait_for)

CONFIGS = ROOT / "configs"
PROGRAMS = CONFIGS / "virtual"
# Where nothing is late on purpose: how long an answer, a halt or trace that is on its way may take.
DEADLINE_MS, DRAIN_MS = 60000, 30000


def board_file(name, plugin="", registers=(), replace=(), **keys):
    """Path of a copy of a shipped board file: the truth goes to a file beside it, and the board's
    control socket is there, and recordings of clients go to a folder there. `plugin` are further arguments of the board, `registers` {"etmcr": 0}
    go to the board and to each core, `replace` pairs of texts, `keys` other values of keys
    ("drain_ms"). The board and the server have the time that a busy machine takes, unless they say otherwise."""
    tool("qemu-system-arm")
    keys.setdefault("drain_ms", DRAIN_MS)
    if not (ROOT / "build" / "virtual-board.so").exists():
        raise Skipped("no virtual board: make virtual-board")
    place = folder()
    text = (CONFIGS / f"{name}.conf").read_text()
    text = text.replace("$DIR", str(CONFIGS)).replace("$PLUGIN",
                                                      str(ROOT / "build" / "virtual-board.so"))
    text = text.replace("out=unix:$RUN/trace",
                        f"out=unix:$RUN/trace,truth=file:{place}/truth{plugin}")
    text = text.replace("$RUN/control", f"{place}/control")
    for old, new in replace:
        expect(old in text, f"{name}.conf lacks '{old}'")
        text = text.replace(old, new.replace("$HERE", str(place)))
    for key, value in dict(registers).items():
        text, n = re.subn(rf"\b{key}=\w+", f"{key}={value:#x}", text)
        expect(n, f"{name}.conf: the board has no {key}")
        if key != "etmtraceidr":
            text = re.sub(rf"^{key.upper()} = .*$", f"{key.upper()} = {value:#010x}", text,
                          flags=re.MULTILINE)
    for key, value in keys.items():
        text, n = re.subn(rf"^{key} = .*$", lambda _: f"{key} = {value}", text, flags=re.MULTILINE)
        expect(n, f"{name}.conf has no key {key}")
    if "\ndeadline = " not in text:
        text = text.replace("[target]\n", f"[target]\ndeadline = {DEADLINE_MS}\n")
    path = place / f"{name}.conf"
    path.write_text(text + f"\n[record]\ndir = {place}/recordings\nstart = no\n")
    return path


def board_with(kind, elf):
    """The board file of that kind, with another program."""
    path = board_file(f"virtual-{kind}")
    path.write_text(path.read_text().replace(str(PROGRAMS / f"crash-{kind}.elf"), str(elf)))
    return path


def recording(live, name):
    """Where a recording of a client goes."""
    return live.path.parent / "recordings" / name


class Live(Server):
    """`btraced serve` on a board file."""

    def __init__(self, path, *options, environ=()):
        self.path = Path(path)
        self.wide = "profile=a64" in self.path.read_text()  # addresses of 64 bits
        super().__init__(path, *options, "-c", command=("serve",), environ=environ)

    def truth_path(self, core=0):
        return self.path.parent / ("truth" + (f".{core}" if core else ""))

    def mark(self, core=0):
        """A GDB command that prints how much of the truth there is: GDB lets the board run on
        when it leaves."""
        return f"shell stat -c executed=%s {self.truth_path(core)}"

    def truth(self, output=None, core=0):
        """Addresses executed, with the Thumb bit: so far, or up to what a mark() printed."""
        data = self.truth_path(core).read_bytes()
        if output is not None:
            data = data[:int(re.search(r"executed=(\d+)", output)[1])]
        ran = array.array("Q" if self.wide else "I")
        ran.frombytes(data[:len(data) // ran.itemsize * ran.itemsize])
        return ran

    def ask_board(self, line):
        """Answer of the virtual board's control socket."""
        with socket.socket(socket.AF_UNIX) as control:
            control.settimeout(PATIENCE)
            control.connect(str(self.path.parent / "control"))
            control.sendall(line.encode() + b"\n")
            answer = control.makefile().readline().strip()
        expect(answer.startswith("ok"), f"{line}: the board says {answer!r}")
        return answer

    def children(self):
        """Command lines of the processes that the server has started."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in path.read_text().split()]


def goes_on(truth, more=40000):
    """Waits until a board that was told to run has executed something: the file of it grows by so many bytes."""
    size = truth.stat().st_size
    wait_for(lambda: truth.stat().st_size >= size + more, "a running core")


def gone(pid, patience=PATIENCE):
    """Waits until a process is no more."""
    for _ in range(patience * 100):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    raise Failed(f"process {pid} is still there")


def tail_of(rows, truth, count):
    """The last `count` listed instructions equal the last ones that ran."""
    listed = [row.address for row in rows][-count:]
    ran = [address & ~1 for address in truth[-len(listed):]]
    for back, (ours, theirs) in enumerate(zip(reversed(listed), reversed(ran)), 1):
        if ours != theirs:
            raise Failed(f"{back} before the halt: listed {ours:#x}, ran {theirs:#x}")
    expect(len(listed) == min(count, len(truth)), f"{len(listed)} listed, not {count}")


def split_at_gap(before, after, listed, least):
    """A listing with one gap: up to it what `before` ends with, behind it at least so many
    instructions, which `after` ends with."""
    older, gap, newer = listed.rpartition("[decode error")
    expect(gap, f"no gap in {listed[-300:]}")
    for text, truth, count in ((older.rpartition("\n")[0], before, 100),
                               (newer.partition("\n")[2], after, least)):
        rows = history(text)
        expect(len(rows) >= count, f"only {len(rows)} instructions beside the gap")
        tail_of(rows, truth, len(rows))


# What GDB says about a program.

_SYMBOLS = {}


def symbol(elf, name):
    """Address of a function (without the Thumb bit) or a variable."""
    if (elf, name) not in _SYMBOLS:
        out = subprocess.run([tool(GDB), "-q", "-nx", "-batch", "-ex", f"info address {name}",
                              str(elf)], capture_output=True, text=True, timeout=PATIENCE,
                             env=environment()).stdout
        _SYMBOLS[elf, name] = int(has(out, r"0x[0-9a-f]+")[0], 16) & ~1
    return _SYMBOLS[elf, name]


# A live target by hand.

class Wire(Client):
    """The remote protocol by hand, with a target that runs."""

    def __init__(self, live):
        super().__init__(live.port, acks=False)
        self.thread = "p1.1"
        self.wide = getattr(live, "wide", False)  # others than virtual boards have 32 bits
        self.features = self.start()

    def threads(self):
        """Names of all threads."""
        names, answer = [], self.ask("qfThreadInfo")
        while answer[:1] == "m":
            names += answer[1:].split(",")
            answer = self.ask("qsThreadInfo")
        return names

    def document_or_error(self, annex):
        """The blocks, or the error reply."""
        answer = self.ask(f"qXfer:btrace:read:{annex}:0,10")
        return answer if answer[:1] == "E" else self.blocks(annex)

    def pc(self):
        registers = self.ask("g")
        digits = registers[32 * 16:33 * 16] if self.wide else registers[15 * 8:16 * 8]
        return int.from_bytes(bytes.fromhex(digits), "little")

    def set_pc(self, address):
        equal(self.ask("Pf=" + address.to_bytes(4, "little").hex()), "OK", "P")

    def write(self, address, value):
        equal(self.ask(f"M{address:x},4:" + value.to_bytes(4, "little").hex()), "OK", "M")

    def step(self):
        """One instruction of the core that stopped last."""
        self.resume(f"vCont;s:{self.thread}")

    def resume(self, packet="vCont;c"):
        """The stop reply."""
        stop = self.ask(packet)
        self.thread = has(stop, r"^T05.*thread:([p0-9a-f.]+);", "stop reply")[1]
        return stop

    def run_to(self, address, size=4):
        """The stop reply. From the address itself it is left first: a breakpoint there would hit."""
        if self.pc() == address:
            self.step()
        equal(self.ask(f"Z1,{address:x},{size}"), "OK", "Z1")
        stop = self.resume()
        equal(self.ask(f"z1,{address:x},{size}"), "OK", "z1")
        return stop

    def run_while(self, condition, during=None):
        """Runs, and halts when the condition holds no more. `during` is done once meanwhile."""
        self.send(frame("vCont;c"))
        end = time.monotonic() + PATIENCE
        if during:
            during()
        while condition():
            expect(time.monotonic() < end, "the board does not run")
            time.sleep(0.002)
        self.send(b"\x03")
        stop = self.reply()
        has(stop, "^T0")
        return stop

    def run_for(self, live, count, cores=1, during=None):
        """At least so many instructions, of all cores together."""
        def ran():
            return sum(live.truth_path(core).stat().st_size for core in range(cores)) // \
                (8 if self.wide else 4)
        wanted = ran() + count
        return self.run_while(lambda: ran() < wanted, during)

    def run_to_main(self, elf, idle=False):
        """From there the program runs for ever: without its crash, and, with idle off, without a
        rest."""
        self.run_to(symbol(elf, "main"), 4 if "crash-a" in elf.name else 2)
        self.write(symbol(elf, "crash_after"), 0)
        if not idle:
            self.write(symbol(elf, "wait_when_idle"), 0)

    def monitor(self, command):
        """What it printed."""
        self.send(frame("qRcmd," + command.encode().hex()))
        text = ""
        while (answer := self.reply())[:1] == "O" and answer != "OK":
            text += bytes.fromhex(answer[1:]).decode()
        return text


def never_ending(live, elf, idle=True):
    """Takes the program to main, see Wire.run_to_main()."""
    with Wire(live) as wire:
        wire.run_to_main(elf, idle)


def blocks_before(part, ran, at):
    """Where blocks, newest first, begin that end at ran[at]: the place before, or None."""
    for begin, end in part:
        if at < 0 or ran[at] != end:
            return None
        while ran[at] != begin:
            if at == 0 or ran[at - 1] >= ran[at] or ran[at] < begin:
                return None
            at -= 1
        at -= 1
    return at


def follow(found, truth, pc):
    """Newest first, each block must be what ran before the one above it, up to the halted PC; a gap
    may leave out what ran there. Number of instructions, the halted PC not counted."""
    ran = [address & ~1 for address in truth] + [pc]
    parts, at, count = [[]], len(ran) - 1, -1
    for block in found:
        if block == GAP:
            parts.append([])
        else:
            parts[-1].append(block)
    for number, part in enumerate(filter(None, parts)):
        places = range(at, -1, -1) if number or not parts[0] else [at]
        ends = (place for place in places if blocks_before(part, ran, place) is not None)
        end = next(ends, None)
        expect(end is not None, f"part {number} of the history, from {part[-1][0]:#x} to "
                                f"{part[0][1]:#x}, did not run; last of all ran "
                                f"{[hex(address) for address in ran[-6:]]}")
        at = blocks_before(part, ran, end)
        count += end - at
    return count
