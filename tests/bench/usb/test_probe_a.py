#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/probe/probe_target_a.c, probe_target_a_monitor.c.
"""Stock GDB debugs one and two emulated Cortex-A9 cores through the probe drivers: modelled probe,
debug logic and trace units around QEMU's cores."""

import array
import os
import re
import time
from pathlib import Path

from probe_gdb import ROOT, Board, refused
from live_gdb import Wire, goes_on, symbol, tail_of
from replay_gdb import PATIENCE, Suite, equal, expect, folder, frame, has, history, lacks, logged, value, wait_for

suite = Suite()
FULL = bool(os.environ.get("BTRACED_FULL"))
ELF = ROOT / "configs" / "virtual" / "crash-a9.elf"
PORTS = "ap = 1\nmemory_ap = 0\nclock = 10M\n"
FTDI = ["--probe", "ftdi", "--layout", "kt-link", "--chain", "6:0x13722093,dap"]
KT_LINK = ("layout = 0x8C28/0xFF3B\nnsrst = 0x0200 enable !0x0800\nntrst = 0x0100 enable !0x0400\n"
           "swd_enable = !0x0020 enable 0x2000\nswdio_enable = !0x1000\n"
           "wire = jtag\njtag_chain = 4 6\njtag_device = 0\n")
# What a client does against the rules of the debug registers.
RULES = ("a-undefined", "a-dtr-misused", "a-bad-restarts", "a-locked-writes", "a-refused", "a-sub-word",
         "bus-errors")
ENDLESS = "set var *(int *) &crash_after = 0"


class A9(Board):
    """`smp` cores; `cti`: each with its cross trigger. `unruly`: rules that the test breaks."""

    def __init__(self, *options, smp=1, cti=False, probe="", unruly=(), trace="sink = none",
                 keys="", **more):
        self.report = folder() / "report"
        self.unruly = unruly
        core_keys = []
        for i in range(smp):
            head = f"[core cpu{i}]\ntype = Cortex-A9\n" if i else ""
            cross = f"cti = {0x80098000 + 0x1000 * i:#x}\n" if cti else ""
            core_keys.append(f"{head}program = {ELF}\n{cross}{keys}\n")
        super().__init__(ELF, "--smp", smp, "--report", self.report, *options,
                         machine="vexpress-a9", core="Cortex-A9", trace=trace,
                         probe=PORTS + probe, core_keys="\n".join(core_keys), **more)

    def mark(self, core=0):
        """A GDB command that prints how much of a core's truth there is."""
        return f"shell stat -c executed=%s {self.truth_path}" + (f".{core}" if core else "")

    def truth(self, output, core=0):
        path = Path(str(self.truth_path) + (f".{core}" if core else ""))
        data = path.read_bytes()[:int(has(output, r"executed=(\d+)")[1])]
        ran = array.array("I")
        ran.frombytes(data[:len(data) & ~3])
        return ran

    def __exit__(self, *args):
        super().__exit__(*args)
        if args[0]:
            return
        lines = dict(line.split() for line in self.report.read_text().splitlines())
        broken = {name: lines[name] for name in RULES
                  if int(lines[name]) and name not in self.unruly}
        expect(not broken, f"rules broken: {broken}")


def ftdi(*options, **keys):
    return A9(*FTDI, *options, kind="ftdi", probe=KT_LINK, **keys)


# Pins of an FT2232H that is an SWD adapter by a resistor alone.
FTDI_SWD = ("--probe", "ftdi", "--layout", "minimodule-swd")
SWD_PINS = "layout = 0x0000/0x000B\nnsrst = 0x0010\n"


def ftdi_swd(*options, **keys):
    return A9(*FTDI_SWD, *options, kind="ftdi", probe=SWD_PINS, **keys)


WAYS = {
    "FTDI, JTAG in a chain": ftdi,
    "FTDI, SWD": ftdi_swd,
    "CMSIS-DAP, SWD": A9,
    "CMSIS-DAP 1, JTAG": lambda **keys: A9("--v1", "--jtag", probe="wire = jtag\n", **keys),
}


def full_test(name):
    """For the long run only."""
    return suite.test(name) if FULL else lambda function: function


def address(name):
    return symbol(ELF, name) & ~1


for way, board in WAYS.items():
    @(suite.test if board is ftdi else full_test)(f"probe a: breakpoints, steps, calls in ARM and Thumb: {way}")
    def _(board=board):
        with board() as server:
            logged(server, r"^core          m: Cortex-A9 r0p0 with VFP, 32 registers, "
                               r"6 breakpoints, 4 watchpoints, debug registers at 0x80090000$")
            s = server.session("p/x $pc", ENDLESS, "tbreak main", "continue", "hbreak add_value",
                               "continue", "bt", "p/x $cpsr & 0x20", "stepi", "stepi",
                               "info line *$pc", "finish", "delete", "break report_topics",
                               "continue", "bt 1", "step", "next", "p $sp", "p $lr")
            equal(value(s["p/x $pc"]), address("start"), "PC behind the reset")
            has(s["continue"], r"^Temporary breakpoint 1, main \(\)")
            has(s.all("continue")[1], r"^Breakpoint 2, add_value \(topic=")
            has(s["bt"], r"^#2  0x\w+ in main \(\)")
            equal(value(s["p/x $cpsr & 0x20"]), 0x20, "Thumb bit")
            has(s["info line *$pc"], "<add_value\\+[46]>|starts at address .*<add_value")
            has(s["finish"], r"^0x\w+ in file_message \(|^file_message \(")
            has(s.all("continue")[2], r"^Breakpoint 3, report_topics \(")
            lacks(s.text, "SIGTRAP|interrupt_handler|[Ee]rror|[Ww]arning")


@suite.test("probe a: without a reset line nothing is called a reset")
def _():
    probe = KT_LINK.replace("nsrst = 0x0200 enable !0x0800\n", "")
    with A9(*FTDI, kind="ftdi", probe=probe) as server:
        s = Board.session(server, "stepi", "p/x $pc", "monitor reset", "monitor reset run",
                          "maintenance flush register-cache", "p/x $pc")
        for command in ("monitor reset", "monitor reset run"):
            has(s.all(command)[-1], r"^not reset: there is no reset line .*'nsrst' in \[probe\]")
        equal(value(s.all("p/x $pc")[1]), value(s["p/x $pc"]), "PC, where nothing was reset")


@suite.test("probe a: watchpoints on writes, reads, bytes and ranges")
def _():
    with A9() as server:
        s = server.session(ENDLESS, "break main", "continue", "delete", "watch received", "continue",
                           "continue", "delete", "rwatch queue_taken", "continue", "delete",
                           "watch *(char *) &received", "watch *(char(*)[20]) &topics", "continue",
                           "continue", "delete", "awatch reported", "continue", "info line *$pc")
        runs = s.all("continue")
        for run in runs[1:3]:
            has(run, r"Hardware watchpoint 2: received\n\nOld value = \d+\nNew value = \d+")
        has(runs[3], r"Hardware read watchpoint 3: queue_taken\n\nValue = \d+")
        has(runs[4] + runs[5], r"Hardware watchpoint [45]:")
        has(runs[6], r"Hardware access \(read/write\) watchpoint 6: reported")


@suite.test("probe a: memory through the core and past it, of any length; where there is none")
def _():
    with A9() as server, Wire(server) as wire:
        wire.monitor("reset")
        start = 0x60040000
        for at, size in (start, 1), (start + 1, 2), (start + 3, 7), (start + 2, 3001), \
                (start, 8192), (start + 1, 4099):
            data = bytes((i * 7 + size) & 0xff for i in range(size))
            for where, other in ("core", "system"), ("system", "core"):
                wire.monitor(f"memory {where}")
                for k in range(0, size, 1000):
                    part = data[k:k + 1000]
                    equal(wire.ask(f"M{at + k:x},{len(part):x}:{part.hex()}"), "OK",
                          f"write of {size} bytes by {where}")
                wire.monitor(f"memory {other}")
                got = "".join(wire.ask(f"m{at + k:x},{min(1000, size - k):x}")
                              for k in range(0, size, 1000))
                equal(got, data.hex(), f"{size} bytes by {where}, read by {other}")
                data = bytes(b ^ 0x5a for b in data)
        for where in "core", "system":
            wire.monitor(f"memory {where}")
            has(wire.ask("ma0000000,4"), "^E", f"no memory, by {where}")
            has(wire.ask("Ma0000000,4:00000000"), "^E", f"no memory, by {where}")
            has(wire.monitor("why"), "0xa0000000|bus error")
            equal(wire.ask("m60000000,4"), "060000ea", "memory behind an error")
        wire.monitor("memory core")
        has(wire.monitor("fault"), r"last data abort      0x00000000, read: none yet")
        server.unruly = ("bus-errors",)


@full_test("probe a: registers are written, those of another mode appear")
def _():
    with A9(unruly=("a-undefined",)) as server:  # one register is asked for that there is not
        s = server.session("tbreak main", "continue", "set $r3=0x11223344", "set $r0=0x55",
                           "set $sp=$sp-64", "p/x $sp", "set $old=$cpsr", "set $was=$sp",
                           "set $cpsr=($cpsr & ~0x1f) | 0x12", "p $sp == $was",
                           "set $sp=0x60012340", "set $cpsr=$old", "p $sp == $was",
                           "set $cpsr=($cpsr & ~0x1f) | 0x12", "p/x $sp", "set $cpsr=$old",
                           "maintenance flush register-cache", "p/x $r3", "p/x $r0", "p $sp == $was",
                           "p/x $d0", "info float", "monitor cp15 0 0 0 0", "monitor cp15 0 15 9 7",
                           "set $pc=$pc+4", "stepi", "p/x $pc")
        equal([text.split("= ")[1].strip() for text in s.all("p $sp == $was")], ["0", "1", "1"],
              "stack pointers of two modes")
        equal(value(s.all("p/x $sp")[1]), 0x60012340, "stack pointer of IRQ mode")
        equal(value(s["p/x $r3"]), 0x11223344, "r3")
        equal(value(s["p/x $r0"]), 0x55, "r0")
        has(s["monitor cp15 0 0 0 0"], "^0x410fc090$")
        has(s["monitor cp15 0 15 9 7"], "^not known: the core has no such register")
        has(s["p/x $d0"], "unavailable", "VFP that the program has not switched on:")
        equal(value(s["p/x $pc"]), address("start_timer"), "PC")


@full_test("probe a: more breakpoints than comparators; those in memory are not seen")
def _():
    with A9() as server:
        hard = [f"hbreak *{address('main') + 4 * i:#x}" for i in range(8)]
        s = server.session("tbreak main", "continue", *hard, "continue", "monitor why", "delete",
                           *[f"break *{address('checksum') + 4 * i:#x}" for i in range(9)],
                           f"x/9xw {address('checksum'):#x}", "continue", "continue", "p/x $pc",
                           "monitor memory system", f"x/9xw {address('checksum'):#x}")
        has(s["monitor why"], "^all comparators of the core are in use")
        first, second = s.all(f"x/9xw {address('checksum'):#x}")
        lacks(first + second, "e1200070")
        equal(first.split("\n")[0], second.split("\n")[0], "code with breakpoints in it")


@full_test("probe a: Ctrl-C, a step over WFI, a reset in between")
def _():
    with A9() as server, Wire(server) as wire:
        wire.monitor("reset")
        wire.send(frame("vCont;c"))
        goes_on(server.truth_path)
        wire.send(b"\x03")
        has(wire.reply(), "^T02")
        for _ in range(5):
            has(wire.ask("vCont;s:1"), "^T05")
        wire.monitor("reset halt")
        equal(wire.pc(), address("start"), "PC behind a reset")


for cti in False, True:
    @(suite.test if cti else full_test)(f"probe a: two cores halt {'together' if cti else 'one after the other'}")
    def _(cti=cti):
        with A9(smp=2, cti=cti) as server:
            logged(server, r"^halting       (together|one core)")
            s = server.session(ENDLESS, "break second_main", "continue", "info threads",
                               "break add_value", "continue", "continue", "thread 2", "p/x $pc",
                               "stepi", "thread 1", "p $_thread", "delete",
                               "watch second_sorted", "continue", "info threads", "delete",
                               "set scheduler-locking on", "thread 1", "stepi 5", "thread 2",
                               "p/x $pc", "set scheduler-locking off", "monitor step_all on", "thread 1",
                               "stepi 3",
                               "tbreak self_test", "continue")
            has(s["continue"], r"Thread 2 .* hit Breakpoint 1, second_main \(\)")
            has(s["info threads"], r"^  1 +Thread 1 .*\n\* 2 +Thread 2 .* second_main \(\)")
            has(s.all("continue")[1], r"Thread 1 .* hit Breakpoint 2, add_value \(")
            has(s.all("continue")[2], r"Thread 1 .* hit Breakpoint 2, add_value \(")
            has(s.all("continue")[3], r"Thread 2 .* hit Hardware watchpoint 3: second_sorted")
            has(s.all("continue")[4], r"Thread 1 .* hit Temporary breakpoint 4, self_test|self_test \(\)")


@full_test("probe a: the slower of two breakpoints is told next")
def _():
    with A9(smp=2, cti=True) as server:
        s = server.session(ENDLESS, "break split", "break checksum",
                           *["continue", "p $_thread"] * 40)
        hits = [int(text.split("=")[1]) for text in s.all("p $_thread")]
        expect(hits.count(1) >= 5 and hits.count(2) >= 5, f"threads that stopped: {hits}")
        lacks(s.text, "SIGTRAP|SIGINT")


@suite.test("probe a: a core without power, and behind its lock")
def _():
    with A9(smp=2, unruly=("a-refused", "bus-errors")) as server, Wire(server) as wire:
        wire.monitor("reset")
        has(wire.monitor("probe"), r"^state +cpu1: halted")
        server.bench("fault off=2")
        has(wire.monitor("probe"), r"^state +cpu1: powered down")
        wire.ask("Z1,60000a30,4")
        wire.send(frame("vCont;c"))
        has(wire.reply(), "^(O|T05)")
        server.bench("fault off=0")
        wait_for(lambda: re.search(r"^state +cpu1: (halted|running)", wire.monitor("probe"), re.M), "the core with power")
        server.bench("fault oslock=1")
        has(wire.ask("vCont;s:1"), "^(O|T|E)")
        server.bench("fault oslock=0")


@suite.test("probe a: cores that are not there, or not what the board file says")
def _():
    code, text = refused("--core", f"qemu:vexpress-a9,{ELF}", "--plugin",
                         ROOT / "build" / "virtual-board.so", core="Cortex-A9", probe="ap = 0\n")
    equal(code, 4, "exit code")
    has(text, r"debug registers of core m are not in the ROM table of access port 0|"
              r"no core to debug")
    with A9(keys="debug = 0x80090000") as server:
        logged(server, "debug registers at 0x80090000")


LIST = ("set record instruction-history-size 400", "record instruction-history")


def check_history(server, output, mark, core=0, at_least=300):
    """All that GDB lists is what that core ran last. Each time that the buffer has wrapped there is
    a gap, of which GDB warns when it takes all of it in: what lies behind the last one counts."""
    listed = re.sub(r"(?m)^warning: .*\(pc = 0x1\)\.\n", "", output)
    rows = history(re.split(r"(?m)^\d+\t\[decode error .*\n", listed)[-1])
    expect(len(rows) >= at_least, f"only {len(rows)} instructions listed, at last: {output[-600:]}")
    if rows:
        tail_of(rows, server.truth(mark, core), len(rows))
    lacks(output, "internal|cannot be read|not traced")
    return len(rows)


TRACED = {
    "PTM, ETB, SWD": ((), A9, ""),
    "PTM with cycle counts and all branches": ((), A9, "ETMCR = 0x1100"),
    "PTM, TMC, JTAG in a chain": (("--sink", "tmc"), ftdi, ""),
    "ETMv3, ETB": (("--etmv3",), A9, ""),
    "PTM, ETB, SWD of an FTDI": ((), ftdi_swd, ""),
}


for way, (options, board, wishes) in TRACED.items():
    @(full_test if wishes or board is not A9 else suite.test)(f"probe a: history is what ran: {way}")
    def _(options=options, board=board, wishes=wishes):
        trace = "sink = tmc" if "tmc" in options else "sink = etb"
        with board(*options, trace=trace, keys=wishes) as server:
            s = server.session(ENDLESS, "record btrace", "tbreak add_value", "continue",
                               "info record", *LIST, server.mark(), "stepi", "stepi 7", "next",
                               "finish", *LIST, server.mark(), "break report_topics", "continue",
                               "bt", *LIST, server.mark())
            for listing, mark in zip(s.all(LIST[1]), s.all(server.mark())):
                check_history(server, listing, mark)
            has(s["bt"], r"^#1  0x\w+ in main \(\)")


@suite.test("probe a: each of two cores has the history of what it ran")
def _():
    with A9("--etb-words", 32768, smp=2, cti=True, trace="sink = etb") as server:
        looks = [[f"thread {core + 1}", LIST[1], server.mark(core)] for core in (0, 1)]
        s = server.session(ENDLESS, "break second_main", "continue", "delete", "record btrace",
                           LIST[0], "break checksum", "continue", *looks[0], *looks[1],
                           "continue", *looks[0], "delete", "break second_tick", "continue",
                           *looks[0], *looks[1], "thread 2", "reverse-stepi", "reverse-stepi",
                           "p $pc")
        order, marks = (0, 1, 0, 0, 1), [iter(s.all(server.mark(core))) for core in (0, 1)]
        for core, listing in zip(order, s.all(LIST[1])):
            check_history(server, listing, next(marks[core]), core, at_least=20)
        ran = server.truth(s.all(server.mark(1))[-1], 1)
        equal(int(has(s["p $pc"], r"0x\w+")[0], 16), ran[-2] & ~1, "PC two instructions ago")


@full_test("probe a: a core that was crowded out of the buffer is traced again")
def _():
    with A9("--etb-words", 512, smp=2, cti=True, trace="sink = etb") as server:
        s = server.session(ENDLESS, "break second_main", "continue", "delete", "record btrace",
                           LIST[0], "tbreak report_topics", "continue", "thread 1", "stepi",
                            "stepi", "stepi", "stepi", "stepi", LIST[1], server.mark())
        check_history(server, s[LIST[1]], s[server.mark()], at_least=5)


@suite.test("probe a: the board file of the Zynq-7000, whose map the model has")
def _():
    text = (ROOT / "configs" / "zynq-7000.conf").read_text()
    expect("firmware.elf" in text, "zynq-7000.conf names another program")
    path = folder() / "zynq.conf"
    path.write_text(text.replace("firmware.elf", str(ELF)))
    with A9("--probe", "ftdi", "--layout", "smt2", "--chain", "dap,6:0x13722093",
            "--etb-words", 32768, smp=2, path=path) as server:
        logged(server, r"^halting +together")
        logged(server, r"^trace IDs     0x10 cpu0 .*0x11 cpu1")
        s = server.session(ENDLESS, "record btrace", "break checksum", "continue", "stepi 30", *LIST,
                           server.mark())
        check_history(server, s[LIST[1]], s[server.mark()], at_least=20)


@suite.test("probe a: a data abort is told in words, with what led to it")
def _():
    with A9(trace="sink = etb") as server:
        s = server.session("record btrace", "break data_abort_entry", "continue", "monitor fault",
                           *LIST, server.mark())
        has(s["continue"], r"core m is in an abort handler: last data abort at 0x322d657b "
                           r"\(a read, no translation for the address\)")
        has(s["monitor fault"], r"^last data abort      0x322d657b, read: no translation")
        check_history(server, s[LIST[1]], s[server.mark()])


MOMENTS = {
    "a read of 64 kB": lambda wire: wire.ask("m60000000,8000"),
    "a write": lambda wire: wire.ask("M60040000,400:" + "5a" * 1024),
    "a step": lambda wire: wire.ask("vCont;s:1"),
    "a breakpoint": lambda wire: wire.ask("Z1,60000a30,4"),
}


def back(wire):
    end = time.monotonic() + PATIENCE
    while wire.ask("m60000000,4")[:1] == "E":
        expect(time.monotonic() < end, "memory is not there in time")
        time.sleep(0.3)


@full_test("probe a: the cable is pulled in the middle of things, and put back")
def _():
    unruly = ("a-dtr-misused", "a-refused", "bus-errors")
    with A9(smp=2, cti=True, unruly=unruly, deadline=3000) as server, Wire(server) as wire:
        wire.monitor("reset")
        for what, ask in MOMENTS.items():
            for fault in "unplug 3", "lose 2":
                server.bench(fault)
                has(ask(wire), r"^(OK|E|O|T|[0-9a-f]{65536})", f"{what}, {fault}")
                server.bench("replug")
                back(wire)
                equal(wire.ask("M60040000,2:1234"), "OK", f"a write after {what}, {fault}")
                equal(wire.ask("m60040000,2"), "1234", f"a read after {what}, {fault}")


@full_test("probe a: a bad line costs time only")
def _():
    for options, keys in ((["--fault", "wait=40"], {}), ([*FTDI, "--fault", "wait=40"],
                                                         {"kind": "ftdi", "probe": KT_LINK})):
        with A9(*options, **keys) as server:
            s = server.session(ENDLESS, "break add_value", "continue", "stepi", "p/x $pc",
                               "x/2xw 0x60000000")
            equal(value(s["p/x $pc"]) & ~1, address("add_value") + 2, "PC")
            has(s["x/2xw 0x60000000"], "0xea000006")


if __name__ == "__main__":
    suite.run()
