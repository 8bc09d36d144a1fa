#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/probe/probe_link.c, probe_server.c, probe_thread.c, probe_target_run.c,
# probe_target_recovery.c, probe_target_m.c.
"""Stock GDB debugs a Cortex-M through the probe drivers: modelled probe, small modelled core. Its
program counts in r0 from 0x08000044 on, and stores r0 at 0x20000100."""

import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

from probe_gdb import LOADED_MACHINE, ProbeServer, ask_bench, board_file, refused, whole_session
from live_gdb import Wire
from replay_gdb import (BTRACED, PATIENCE, Suite, environment, equal, expect, folder, frame, gdb,
                        has, lacks, logged, value)

suite = Suite()
NOP, ADDS, STR, BRANCH = 0x08000044, 0x08000046, 0x08000048, 0x0800004a
COUNTER = 0x20000100


class Controlled(ProbeServer):
    """With the control socket of the test bench at `control`."""

    def __init__(self, *options, **keys):
        self.control = folder() / "control"
        keys.setdefault("deadline", 3000)  # answers are lost here
        super().__init__("--control", self.control, *options, **keys)


def until(wire, good):
    end = time.monotonic() + PATIENCE
    while (wire.ask("m20000000,4")[:1] != "E") != good:
        expect(time.monotonic() < end, f"memory is {'not ' if good else ''}there in time")
        time.sleep(0.3)


def back(server, wire):
    """Pulled, which is noticed, and put back: the target answers again."""
    ask_bench(server.control, "unplug")
    until(wire, False)
    for fault in "unplug 0", "lose 0":  # that did not come to happen
        ask_bench(server.control, fault)
    ask_bench(server.control, "replug")
    until(wire, True)


def session(server, *commands):
    return gdb(server.port, commands, connect="target extended-remote", before=[LOADED_MACHINE])


@suite.test("probe: the summary, and an end without leftovers")
def _():
    with ProbeServer() as server:
        logged(server, r"^probe         Model CMSIS-DAP, serial \S+, firmware")
        logged(server, r"^wire          SWD at 1.000 MHz")
        logged(server, r"^core          Cortex-M4 r0p1")
        logged(server, r"^state         running$")


@suite.test("probe: registers of the core, its system and its FPU")
def _():
    with ProbeServer() as server:
        s = session(server, "info registers", "set $r5=0x11223344", "set $psp=0x20001230",
                    "set $primask=1", "set $s1=1.5", "set $d2=-2.0", "set $fpscr=0x10000",
                    "maintenance flush register-cache", "p/x $r5", "p/x $psp", "p/x $primask",
                    "p $s1", "p $d0", "p $d2", "p/x $fpscr", "p/x $sp", "set $pc=0x08000044",
                    "stepi", "p/x $pc", "info threads")
        for name in ("r0", "r12", "sp", "lr", "pc", "xpsr", "msp", "psp", "primask", "basepri",
                     "faultmask", "control"):
            has(s["info registers"], rf"^{name} ")
        equal(value(s["p/x $r5"]), 0x11223344, "r5")
        equal(value(s["p/x $psp"]), 0x20001230, "psp")
        equal(value(s["p/x $primask"]), 1, "primask")
        equal(value(s["p/x $fpscr"]), 0x10000, "fpscr")
        has(s["p $s1"], r"= 1\.5$")
        has(s["p $d0"], r"= 0\.125$")
        has(s["p $d2"], r"= -2$")
        equal(value(s["p/x $sp"]), 0x20008000, "sp")
        equal(value(s["p/x $pc"]), ADDS, "PC after a jump and a step")
        has(s["info threads"], r'"Cortex-M4" \(thread mode\)')
        lacks(s.text, "warning: .*(register|description)")


@suite.test("probe: memory, also where it ends and where there is none")
def _():
    with ProbeServer() as server:
        s = session(server, "set *(int *)0x20000200=0x12345678", "set *(char *)0x20000205=0x5a",
                    "set *(short *)0x20000206=0x1234", "x/4xb 0x20000200", "x/2xh 0x20000204",
                    "x/8xw 0x0800fff0", "x/xw 0x60000000", "set *(int *)0x60000000=1",
                    "x/xw 0xe000ed00", "monitor why")
        has(s["x/4xb 0x20000200"], r"0x78\s+0x56\s+0x34\s+0x12")
        has(s["x/2xh 0x20000204"], r"0x5a00\s+0x1234")
        has(s["x/8xw 0x0800fff0"], r"^0x800fff0:(\s+0x00000000){4}$")
        has(s["x/8xw 0x0800fff0"], r"Cannot access memory at address 0x8010000")
        has(s["x/xw 0x60000000"], r"Cannot access memory at address 0x60000000")
        has(s["set *(int *)0x60000000=1"], r"Cannot access memory at address 0x60000000")
        has(s["x/xw 0xe000ed00"], r"0x41[0-9a-f]{6}$", "CPUID")
        has(s["monitor why"], r"^no access to 0x60000000: ")


@suite.test("probe: breakpoints, steps, continue")
def _():
    with ProbeServer() as server:
        s = session(server, f"break *{ADDS:#x}", "continue", "p/x $pc", "p $r0", "continue",
                    "p $r0", "stepi", "p/x $pc", "delete", f"hbreak *{BRANCH:#x}", "continue",
                    "p/x $pc", "stepi", "p/x $pc", f"tbreak *{STR:#x}", "continue", "p/x $pc",
                    f"x/2xh {ADDS:#x}")
        equal([int(x, 16) for x in re.findall(r"= (0x\w+)", "\n".join(s.all("p/x $pc")))],
              [ADDS, STR, BRANCH, NOP, STR], "PC")
        first, second = (int(has(o, r"= (\d+)")[1]) for o in s.all("p $r0"))
        equal(second, (first + 1) & 0xff if first == 0xff else first + 1, "r0 a round later")
        has(s["continue"], r"^Breakpoint 1, ")
        has(s[f"x/2xh {ADDS:#x}"], r"0x3001\s+0x6010")


@suite.test("probe: watchpoints tell what was changed")
def _():
    with ProbeServer() as server:
        s = session(server, f"watch *(int *){COUNTER:#x}", "continue", "continue", "p/x $pc",
                    "delete", f"rwatch *(int *){COUNTER:#x}", "delete",
                    f"awatch *(int *){COUNTER:#x}", "continue")
        old, new = (int(x) for x in re.findall(r"value = (\d+)", s.all("continue")[1]))
        equal(new, old + 1, "new value")
        equal(value(s["p/x $pc"]), BRANCH if value(s["p/x $pc"]) == BRANCH else NOP, "PC")
        has(s.all("continue")[2], r"^Hardware access \(read/write\) watchpoint 3")


@suite.test("probe: more breakpoints than there are comparators")
def _():
    with ProbeServer() as server, Wire(server) as wire:
        for at in range(6):
            equal(wire.ask(f"Z1,{0x08000100 + 8 * at:x},2"), "OK", "Z1")
        has(wire.ask("Z1,8000200,2"), r"^E\..*breakpoint|^E\..*comparator")
        equal(wire.ask("Z1,8000100,2"), "OK", "Z1 of one that is there")
        equal(wire.ask("z1,8000100,2"), "OK", "z1")
        equal(wire.ask("z1,8000100,2"), "OK", "z1 of one that is gone")
        equal(wire.ask("Z1,8000200,2"), "OK", "Z1 after one was removed")
        equal(wire.ask("Z0,8000200,2"), "OK", "Z0 on the same place")
        equal(wire.ask("z1,8000200,2"), "OK", "z1 of a place that is shared")
        wire.set_pc(0x08000200)
        wire.write(0x08000200, 0xbf00bf00)
        wire.set_pc(0x080001fe)
        wire.ask("X80001fe,2:" + "\x00\xbf")
        has(wire.resume(), r"^T05swbreak:;")
        equal(wire.pc(), 0x08000200, "PC at the breakpoint that stayed")


@suite.test("probe: Ctrl-C halts, reset begins anew")
def _():
    with ProbeServer() as server, Wire(server) as wire:
        has(wire.run_while(lambda: False), r"^T02thread:1;")
        equal(wire.monitor("reset"), "reset; the target is halted\n", "monitor reset")
        equal(wire.pc(), 0x08000040, "PC behind a reset")
        wire.step()
        has(wire.ask("vRun;"), r"^T05")
        equal(wire.pc(), 0x08000040, "PC behind vRun")
        wire.step()
        wire.send(frame("R0"))
        has(wire.ask("?"), r"^T05")
        equal(wire.pc(), 0x08000040, "PC behind R")
        has(wire.monitor("reset run"), r"runs until GDB asks")
        time.sleep(0.1)
        expect(wire.pc() != 0x08000040, "reset run left the core where it was")
        has(wire.monitor("reset sideways"), "not 'sideways'")


@suite.test("probe: its own monitor commands")
def _():
    with ProbeServer() as server, Wire(server) as wire:
        has(wire.monitor("probe"), r"^line errors   0 since")
        has(wire.monitor("fault"), r"^no exception")
        has(wire.monitor("vector_catch"), r": hardfault$")
        has(wire.monitor("vector_catch bus hardfault"), r": bus hardfault$")
        has(wire.monitor("vector_catch reset"), r": reset$")
        has(wire.monitor("vector_catch none"), r": nothing$")
        has(wire.monitor("vector_catch x"), r"^not 'x'")
        has(wire.monitor("mask_interrupts on"), r"do not enter")
        has(wire.monitor("mask_interrupts x"), r"^on or off")
        has(wire.monitor("help"), r"^monitor vector_catch")
        has(wire.monitor("nothing"), r"^unknown command")


@suite.test("probe: packets that make no sense get an error")
def _():
    bad = ["g1", "p", "p100", "pzz", "P0=1", "P0", "Pff=00000000", "G00", "m", "m1", "m1,", "m0,0",
           "m123456789,4", "M20000000,2:00", "X20000000,4:a", "Z0", "Z0,1", "Z9,1,2",
           "Z0,123456789,2", "Z2,20000000,0", "z0,,", "Hg7", "Tzz", "vCont;q", "vCont;s:7",
           "vFlashErase:", "vFlashErase:0", "vFlashWrite:0", "qXfer:features:read:x:0,10",
           "qXfer:memory-map:read::0,0", "c1ffffffff", "Q0"]
    with ProbeServer() as server, Wire(server) as wire:
        for packet in bad:
            answer = wire.ask(packet)
            expect(answer == "" if packet in ("Q0",) else answer[:1] == "E",
                   f"{packet}: {answer!r}")
        has(wire.ask("g"), r"^[0-9a-f]{136}")


@suite.test("probe: HID, JTAG, a port of version 2")
def _():
    for options, probe in ((["--v1"], ""), (["--jtag"], "wire = jtag"), (["--dpv2"], ""),
                           (["--wrap-1k", "--packet-count", "1"], "clock = 4000000"),
                           (["--dpv2", "--quirks", "deaf,pin-wait"], ""),
                           (["--v1", "--dpv2", "--quirks", "deaf,pin-wait"], ""),
                           (["--jtag", "--chain", "5:0x12345677,dap,8:0"],
                            "wire = jtag\njtag_chain = 8 4 5\njtag_device = 1")):
        with ProbeServer(*options, probe=probe) as server:
            s = session(server, f"break *{ADDS:#x}", "continue", "stepi", "p/x $pc")
            equal(value(s["p/x $pc"]), STR, f"{options}: PC")


@suite.test("probe: a bad line costs time only")
def _():
    for fault, errors, *quirks in (("wait=40", 0), ("parity=2,skip=20", 1), ("noack=2,skip=20", 1),
                                   ("noack=2,skip=20", 1, "--quirks", "deaf")):
        with ProbeServer("--fault", fault, *quirks) as server:
            s = session(server, "set *(int *)0x20000200=0x12345678", "x/xw 0x20000200",
                        f"break *{ADDS:#x}", "continue", "stepi", "p/x $pc", "monitor probe")
            has(s["x/xw 0x20000200"], "0x12345678")
            equal(value(s["p/x $pc"]), STR, "PC")
            told = int(has(s["monitor probe"], r"^line errors +(\d+) since")[1])
            expect(told >= errors, f"{fault}: {told} line errors are told")


@suite.test("probe: a probe that is pulled makes errors, never silence")
def _():
    with ProbeServer("--unplug-after", "300") as server:
        text = whole_session(server, "continue", "stepi", "continue", "monitor probe",
                             "info threads", "echo still here\\n")
        has(text, r"^the probe does not answer: is it unplugged\?")
        has(text, "Could not read registers.*: is it unplugged")
        has(text, r"^state         not known: the probe does not answer")
        has(text, r"\(the probe does not answer\)")
        has(text, r"^still here")
        logged(server, r"^btraced: the probe does not answer any more")
        # Who comes now is not admitted by GDB itself, and learns why.
        has(whole_session(server), "Could not read registers.*the probe does not answer: is it unplugged")


@suite.test("probe: every packet is answered while the probe is away")
def _():
    with ProbeServer("--unplug-after", "300") as server, Wire(server) as wire:
        wire.send(frame("vCont;c"))
        answers = [wire.reply(), wire.reply()]
        expect(answers[0][:1] == "O" and answers[1][:3] == "T02", f"stop: {answers}")
        for packet in ("g", "p0", "m20000000,4", "P0=00000000", "M20000000,1:00", "Z1,8000044,2",
                       "vCont;s", "vCont;c"):
            has(wire.ask(packet), r"^E", f"reply to {packet}")
        has(wire.monitor("fault"), r"^not known: the probe does not answer")
        has(wire.monitor("why"), r"^the probe does not answer")
        has(wire.monitor("trace status"), r"^state +the probe or the target does not answer")
        has(wire.monitor("probe"), r"^state         not known")
        has(wire.ask("?"), r"^T05")


@suite.test("probe: a probe that hangs is an error before GDB gives up")
def _():
    with Controlled() as server:
        mute = f"python import sys; sys.path.insert(0, '{Path(__file__).parent}'); " \
               f"from probe_gdb import ask_bench; ask_bench('{server.control}', 'mute 1')"
        # With the time that stock GDB waits.
        s = gdb(server.port, ["p/x $pc", mute, "maintenance flush register-cache", "p/x $r0",
                              "x/xw 0x20000104", "monitor probe"], connect="target extended-remote")
        lacks(s.text, "(?i)ignoring packet|timed out|timeout|connection closed")
        has(s["x/xw 0x20000104"], "Cannot access memory at address 0x20000104")
        has(s["monitor probe"], "the probe does not answer")
        with Wire(server) as wire:
            back(server, wire)


@suite.test("probe: a patient board file is patient with the probe, too")
def _():
    for options, keys in ([], {}), (["--probe", "ftdi", "--layout", "minimodule-swd"],
                                    {"kind": "ftdi", "probe": "layout = 0x0000/0x000B\nnsrst = 0x0010"}):
        with Controlled(*options, deadline=60000, **keys) as server, Wire(server) as wire:
            has(wire.ask("m20000000,4"), "^[0-9a-f]{8}$", "memory")
            late = server.process.pid
            os.kill(late, signal.SIGSTOP)
            timer = threading.Timer(3, os.kill, [late, signal.SIGCONT])
            timer.start()
            has(wire.ask("m20000000,4"), "^[0-9a-f]{8}$", "memory by a probe that is late")
            timer.join()


MOMENTS = {  # what is going on when the answer is lost or the cable is pulled, and a good answer
    "a read of 64 kB": (lambda wire: wire.ask("m20000000,8000"), r"^([0-9a-f]{65536}|E.*)$"),
    "a write": (lambda wire: wire.ask("M20004000,400:" + "5a" * 1024), r"^(OK|E.*)$"),
    "a step": (lambda wire: wire.ask("vCont;s"), r"^(O|T|E)"),
    "a breakpoint": (lambda wire: wire.ask("Z1,8000044,2"), r"^(OK|E.*)$"),
}


def pulled_and_back(*options, **keys):
    with Controlled(*options, **keys) as server, Wire(server) as wire:
        wire.write(COUNTER, 0)
        for what, (ask, answer) in MOMENTS.items():
            for fault in "unplug 3", "lose 2":
                ask_bench(server.control, fault)
                has(ask(wire), answer, f"{what}, {fault}")
                back(server, wire)
                equal(wire.ask("M20004000,2:1234"), "OK", f"a write after {what}, {fault}")
                equal(wire.ask("m20004000,2"), "1234", f"a read after {what}, {fault}")


@suite.test("probe: the cable is pulled in the middle of things, and put back")
def _():
    pulled_and_back()


@suite.test("probe: connect under reset stands at the first instruction")
def _():
    for options in [], ["--v1", "--jtag"], ["--dpv2", "--quirks", "deaf,pin-wait"]:
        wire_key = "wire = jtag\n" if "--jtag" in options else ""
        with ProbeServer(*options, probe=wire_key + "connect_under_reset = yes") as server:
            with Wire(server) as wire:
                equal(wire.pc(), 0x08000040, f"{options}: PC")
                wire.step()
                wire.monitor("reset")
                equal(wire.pc(), 0x08000040, f"{options}: PC behind a reset by the pin")


@suite.test("probe: at_exit = run and at_exit = halt")
def _():
    for word, runs in ("run", True), ("halt", False):
        report = folder() / "report"
        with ProbeServer("--report", report, probe=f"at_exit = {word}") as server, Wire(server) as wire:
            wire.pc()
        lines = dict(line.split() for line in report.read_text().splitlines())
        equal(lines["halted"], "0" if runs else "1", f"the core behind at_exit = {word}")


@suite.test("probe: what goes wrong at the start is told")
def _():
    code, text = refused(probe="serial = NOSUCH")
    equal(code, 4, "exit code")
    has(text, r"^btraced serve: .*NOSUCH")
    code, text = refused("--jtag", "--unplug-after", "40")
    equal(code, 4, "exit code of a probe that goes at once")
    has(text, r"^btraced serve: ")
    code, text = refused("--fault", "skip=1,noack=100000")
    equal(code, 4, "exit code of a silent wire")
    has(text, r"^btraced serve: .*(no answer|does not answer)")


@suite.test("probe: cores and trace units that are not what was expected")
def _():
    with ProbeServer("--cpuid", "0x410cc200", core="Cortex-M4") as server:
        logged(server, r"^warning +the board file says that core m is a Cortex-M4, but the chip "
                           r"has a Cortex-M0: set 'type'$")
    with ProbeServer("--cpuid", "0x411fd210", "--etm4", core="Cortex-M33", trace="sink = etb") as server:
        logged(server, r"^core +Cortex-M33 r1p0")
        logged(server, r"core m: no history: the trace unit at 0xe0041000 ")
        lacks(server.stderr, "warning")
        has(session(server, "monitor trace status")["monitor trace status"], "no history")


@suite.test("probe: no probe at all")
def _():
    done = subprocess.run(["umockdev-run", "--", BTRACED, "serve", "--listen", "127.0.0.1:0", "-c",
                           str(board_file())], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=PATIENCE, env=environment())
    equal(done.returncode, 4, "exit code")
    logged(done, r"^btraced serve: no CMSIS-DAP probe|^btraced serve: .*no probe")


@suite.test("probe: what is left behind")
def _():
    with ProbeServer(probe="at_exit = halt") as server:
        session(server, f"break *{ADDS:#x}", "continue")
        s = session(server, "p/x $pc")
        expect(value(s["p/x $pc"]) in (NOP, ADDS, STR, BRANCH), "PC after GDB has left")


if __name__ == "__main__":
    suite.run()
