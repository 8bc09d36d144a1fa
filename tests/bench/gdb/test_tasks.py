#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tasks as threads of GDB: kernels laid out as FreeRTOS, ThreadX and Zephyr, in several versions and
on several cores, at random halts behind another GDB server and behind a modelled probe, against the
account that the kernel itself keeps; and in the past, by what the DWT told: server/tasks/tasks.c,
task_switches.c, server/live/live_tasks.c, protocol/session/gdb_tasks.c, gdb_task_packets.c, and
what is below.

BTRACED_FULL=1: more halts."""

import collections
import os
import random
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "bench" / "usb"))

from live_gdb import CONFIGS, Live, Wire, board_file, symbol  # noqa: E402
from probe_gdb import Board  # noqa: E402
from replay_gdb import Server, Suite, equal, expect, folder, gdb, has, lacks, same_list, tool  # noqa: E402

suite = Suite()
TARGET = Path(__file__).resolve().parent / "target"
SEED = int(os.environ.get("BTRACED_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
HALTS = 50 if os.environ.get("BTRACED_FULL") else 4  # of each; a kernel has two or more live
PLACES = 2 * HALTS if os.environ.get("BTRACED_FULL") else HALTS  # of the past, of each kernel

# board: core, machine, where code and data begin, options of the compiler
M3 = ("virtual-m3", "cortex-m3", "mps2-an385", 0, 0x20000000, ())
M4 = ("virtual-m4", "cortex-m4", "netduinoplus2", 0x08000000, 0x20000000,
      ("-DHAS_FPU", "-mfloat-abi=softfp", "-mfpu=fpv4-sp-d16"))
M7 = ("virtual-m7", "cortex-m7", "mps2-an500", 0, 0x20000000,
      ("-DHAS_FPU", "-mfloat-abi=softfp", "-mfpu=fpv5-sp-d16"))
M33 = ("virtual-m33", "cortex-m33", "mps2-an505", 0x10000000, 0x38000000,
       ("-DHAS_FPU", "-DLIMIT", "-mfloat-abi=softfp"))
KERNELS = [
    ("freertos", M3, ()), ("freertos", M4, ("-DFULL_END",)), ("freertos", M33, ("-DGUARDS",)),
    ("freertos", M7, ("-DTICK64",)), ("threadx", M3, ()), ("threadx", M4, ()), ("zephyr", M4, ()),
    ("zephyr", M3, ("-DOLD",)),
]
PROBED = [("freertos", M7, ("-DGUARDS", "-DFULL_END")), ("zephyr", M33, ())]

TASKS = 6
NAMES = ["idle", "radio", "logger", "motor & <co>", "ui", "net"]
STATES = {
    "freertos": ["ready", "blocked, for a time", "blocked", "suspended, or waits for a notification"],
    "threadx": ["ready", "sleeping", "waits, semaphore", "suspended"],
    "zephyr": ["ready", "suspended", "pending", "suspended"],
}
ENTRIES = ["choose", "service", "tick", "kernel_move", "PendSV_Handler", "body_loop", "kernel_choose"]
BUILT = {}


def program(kernel, core, extra):
    key = (kernel, core[1], extra)
    if key not in BUILT:
        _, cpu, _, code, data, options = core
        elf = folder() / f"{kernel}.elf"
        subprocess.run([tool("arm-none-eabi-gcc"), f"-mcpu={cpu}", "-mthumb", "-O1", "-gdwarf-4",
                        "-ffreestanding", "-nostdlib", "-Wall", "-Wextra", "-Werror", *options, *extra,
                        f"-Wl,--section-start=.vectors={code:#x},-Ttext={code + 0x100:#x},"
                        f"-Tbss={data:#x},-e,reset", "-o", str(elf), str(TARGET / "main.c"),
                        str(TARGET / f"kernel_{kernel}.c")], check=True)
        BUILT[key] = elf
    return BUILT[key]


def live(kernel, core, extra, rtos="auto"):
    elf = program(kernel, core, extra)
    name = core[0]
    return Live(board_file(name, replace=[
        (f"{CONFIGS}/virtual/crash-{name[8:]}.elf", str(elf)),
        ("thread = 1\n", f"thread = 1\nrtos = {rtos}\n")])), elf


def probed(kernel, core, extra):
    elf = program(kernel, core, extra)
    return Board(elf, machine=core[2], core="Cortex-" + core[1][7:].upper(), trace="sink = none"), elf


class Tasks:
    """What is seen by the wire, and what the kernel says."""

    def __init__(self, wire, elf, kernel):
        self.wire, self.elf, self.kernel = wire, elf, kernel
        xml = wire.document("features:read:target.xml")
        for part in re.findall(r'xi:include href="([^"]+)"', xml):
            xml += wire.document(f"features:read:{part}")
        at, self.numbers = -1, {}
        for tag in re.findall(r"<reg [^>]*>", xml):
            number = re.search(r'regnum="(\d+)"', tag)
            at = int(number[1]) if number else at + 1
            self.numbers[has(tag, r'name="(\w+)"')[1]] = at
        self.floats = "d0" in self.numbers

    def words(self, name, count=1):
        answer = self.wire.ask(f"m{symbol(self.elf, name):x},{4 * count:x}")
        expect(re.fullmatch("[0-9a-f]+", answer), f"{name}: {answer}")
        data = bytes.fromhex(answer)
        return [int.from_bytes(data[i:i + 4], "little") for i in range(0, len(data), 4)]

    def register(self, name):
        digits = self.wire.ask(f"p{self.numbers[name]:x}")
        return None if "x" in digits else int.from_bytes(bytes.fromhex(digits), "little")

    def threads(self):
        """{thread: text} of all but the cores', and the text of the core's."""
        texts = {t: bytes.fromhex(self.wire.ask(f"qThreadExtraInfo,{t}")).decode()
                 for t in self.wire.threads()}
        number = {t: int(t.rsplit(".", 1)[-1].lstrip("p"), 16) for t in texts}
        return ({t: text for t, text in texts.items() if number[t] > 1000},
                [text for t, text in texts.items() if number[t] <= 1000])

    def compare(self):
        """False: the kernel is at work, and its account with it."""
        if self.words("truth_busy")[0]:
            self.threads()
            return False
        current, states = self.words("truth_current")[0], self.words("truth_state", TASKS)
        shown, cores = self.threads()
        equal(sorted(text.split(":")[0] for text in shown.values()), sorted(NAMES), "names")
        has(cores[0], rf"runs task {re.escape(NAMES[current])}$")
        for thread, text in shown.items():
            name, _, state = text.partition(": ")
            number = NAMES.index(name)
            wanted = "running" if number == current else STATES[self.kernel][states[number]]
            priority = number % 5 - (2 if self.kernel == "zephyr" else 0)
            equal(state, f"{wanted}, priority {priority}", f"state of {name}")
            equal(self.wire.ask(f"Hg{thread}"), "OK", "Hg")
            equal(self.wire.ask(f"T{thread}"), "OK", "T")
            if number != current:
                self.compare_registers(number)
        self.wire.ask(f"Hg{self.wire.threads()[0]}")
        return True

    def compare_registers(self, number):
        pc, sp = self.register("pc"), self.register("sp")
        equal(sp, self.words("truth_top", TASKS)[number], f"sp of {NAMES[number]}")
        first, loop, end = (symbol(self.elf, name) for name in ("body", "body_loop", "body_end"))
        expect(first <= pc < end, f"pc of {NAMES[number]} is {pc:#x}")
        if pc < loop:
            return
        for i in range(4, 12):
            equal(self.register(f"r{i}"), 0x100 * (i - 3) + number, f"r{i} of {NAMES[number]}")
        if self.floats:
            self.compare_floats(number)

    def compare_floats(self, number):
        high = {0: 0x100, 8: 0x200, 15: 0x400}
        for d, word in high.items():
            value = self.register(f"d{d}")
            if number % 2 == 0:
                equal(value, None, f"d{d} of {NAMES[number]}, which has none")
            elif d == 0 and self.kernel == "zephyr" or value is not None:
                equal(value & 0xffffffff, word + number, f"d{d} of {NAMES[number]}")
            else:
                expect(False, f"d{d} of {NAMES[number]} is not known")


def random_halts(wire, tasks, dice):
    """As many as can be compared: mostly the kernel is not at work."""
    compared, left = 0, 30 * HALTS
    while compared < HALTS:
        expect(left > 0, f"of {30 * HALTS} halts only {compared} could be compared")
        entry = dice.choice(ENTRIES)
        for _ in range(dice.choice((1, 1, 2, 5))):
            wire.run_to(symbol(tasks.elf, entry), 2)
        for _ in range(dice.choice((0, 1, 3, 9))):
            wire.step()
        compared += tasks.compare()
        left -= 1


def each(kernels, server, where):
    def add(function):
        for kernel, core, extra in kernels:
            name = f"tasks {where}, {kernel} {core[1]} {' '.join(extra)}".strip()
            suite.test(name)(lambda k=kernel, c=core, e=extra: function(server, k, c, e))
        return function
    return add


@each(KERNELS, live, "behind another server")
@each(PROBED, probed, "behind a probe")
def random_test(server, kernel, core, extra):
    board, elf = server(kernel, core, extra)
    with board, Wire(board) as wire:
        wire.thread = wire.threads()[0]
        try:
            random_halts(wire, Tasks(wire, elf, kernel), random.Random(f"{SEED} {kernel} {core[1]}"))
        except Exception:
            print(f"# seed: BTRACED_SEED={SEED}")
            raise


@suite.test("tasks in stock GDB: listed, their frames, not run; each core's branch trace as ever")
def _():
    board, elf = live("freertos", M4, ())
    with board:
        s = gdb(board.port, ["info threads", "tbreak *body_loop+2", "continue", "tbreak choose", "continue", "info threads", "monitor tasks",
                             "thread 3", "p $sp == truth_top[0]", "thread 4", "p/x $pc >= (unsigned)body", "stepi", "p $pc = 0",
                             "record btrace", "info record", "thread 1", "tbreak choose", "continue",
                             "info record", "reverse-stepi", "record stop", "reverse-stepi", "info threads", "stepi",
                             "stepi", "info threads"], elf=elf)
    has(s["info threads"], r"\(tasks: the scheduler does not run yet\)")
    shown = s.all("info threads")[1]
    has(shown, r"Thread 1\.1 \(runs task (idle|radio|logger|motor|ui|net)")
    for name in NAMES:
        has(shown, rf"\({re.escape(name)}: (running|ready), priority \d\)")
        has(s["monitor tasks"], rf"{re.escape(name)} +(running|ready), priority \d")
    has(s["p/x $pc >= (unsigned)body"], "= 0x1")
    has(s["stepi"], "select the thread of its core")
    has(s["p $pc = 0"], "its registers are in its stack")
    has(s["info record"], "Recorded 0 instructions")
    has(s.all("info record")[1], r"Recorded [1-9]\d+ instructions")
    lacks(s.all("info threads")[2], "priority")  # in the past
    has(s.all("info threads")[3], "priority")


@suite.test("tasks in stock GDB: damaged lists say so, and the core is shown")
def _():
    board, elf = live("freertos", M3, ())
    with board:
        s = gdb(board.port, ["tbreak *body_loop+2", "continue", "tbreak choose", "continue",
                             "p pxReadyTasksLists[0].xListEnd.pxNext = (void *)0x40000000",
                             "info threads", "monitor tasks"], elf=elf)
    has(s["info threads"], r"Thread 1\.1 \(tasks: 0x4000000c is no address of memory\)")
    lacks(s["info threads"], "priority")
    has(s["monitor tasks"], "FreeRTOS: 0x4000000c is no address of memory")


CURRENT = {"freertos": ("pxCurrentTCB", 0), "threadx": ("_tx_thread_current_ptr", 0),
           "zephyr": ("_kernel", 8)}
WATCHED = [("freertos", M4, ("-DFULL_END",)), ("threadx", M3, ()), ("zephyr", M33, ())]


def watched(kernel, core, extra):
    """A board whose DWT tells of the pointer to the current task, beside the trace of its core."""
    elf = program(kernel, core, extra)
    name, offset = CURRENT[kernel]
    at = symbol(elf, name) + offset
    return Live(board_file(core[0], plugin=f",itm=5,itmperiod=700,watch={at:#x}-{at + 3:#x}", replace=[
        (f"{CONFIGS}/virtual/crash-{core[0][8:]}.elf", str(elf)),
        ("thread = 1\n", "thread = 1\nrtos = auto\n"),
        ("\n[trace]\n", "\n[trace]\nitm = all\nitm_id = 5\nwatch = current-task\n")])), elf


def runs_of_tasks(live, names):
    """What the board did: (instruction from which on it runs, task), without stores of the same. The
    log has how many instructions ran before the store, the first one is number 1."""
    runs = []
    for line in (live.path.parent / "truth.log").read_text().splitlines():
        word = line.split()
        if word[1:2] != ["watch"] or word[3] != "store":
            continue
        name = names.get(int(word[5], 16), f"{word[5]}, which is no task now")
        if not runs or runs[-1][1] != name:
            runs.append((int(word[0]) + 2, name))
    return runs


def show_task_at(wire, tasks, number):
    """At a replay position: by `monitor tasks`, and by `info threads`."""
    has(wire.monitor(f"goto {number}"), f"goes to instruction {number},")
    wire.step()
    by_command = re.search(rf"at instruction {number} task (.+) ran$", wire.monitor("tasks"), re.M)
    text = bytes.fromhex(wire.ask(f"qThreadExtraInfo,{wire.threads()[0]}")).decode()
    has(text, rf"replaying, at {number}\b")
    by_thread = re.search(r"runs task (.*)$", text)
    equal(by_command and by_command[1], by_thread and by_thread[1], f"task at {number}")
    return by_command and by_command[1]


@each(WATCHED, watched, "in the past")
def _(server, kernel, core, extra):
    board, elf = server(kernel, core, extra)
    dice = random.Random(f"{SEED} past {kernel} {core[1]}")
    with board, Wire(board) as wire:
        wire.thread = wire.threads()[0]
        tasks = Tasks(wire, elf, kernel)
        wire.run_to(symbol(elf, "body_loop") + 2, 2)
        has(wire.monitor("profile start"), "from now on counts")
        begin = int(has(wire.monitor("where"), r"to (\d+)$")[1])
        wire.run_for(board, dice.randrange(100_000, 200_000))
        for _ in range(100):  # it may be where a task is on no list
            if not tasks.words("truth_busy")[0]:
                break
            wire.step()
        tasks.threads()
        names = dict(zip(tasks.words("truth_control", TASKS), NAMES))
        end = int(has(wire.monitor("where"), r"to (\d+)$")[1])
        ran = [(at, name) for at, name in runs_of_tasks(board, names) if at <= end]
        listed = re.findall(r"^ *(\d+)  (.*)$", wire.monitor("tasks history 4000"), re.M)
        expect(len(ran) > 100, f"only {len(ran)} switches")
        try:
            same_list([(int(at), name) for at, name in listed], ran[-4000:], "switches")
            for number in [dice.randrange(ran[0][0], end) for _ in range(PLACES)]:
                wanted = [name for at, name in ran if at <= number][-1]
                equal(show_task_at(wire, tasks, number), wanted, f"task at {number}")
                has(wire.monitor("tasks previous"), f"instruction {[at for at, _ in ran if at < number][-1]},")
                later = [at for at, _ in ran if at > number]
                has(wire.monitor("tasks next"),
                    f"instruction {later[0]}," if later else "no switch comes behind")
            equal(show_task_at(wire, tasks, ran[0][0] - 1), None, "task before the first one")
            show_profile(wire, board, elf, ran, begin, end)
        except Exception:
            print(f"# seed: BTRACED_SEED={SEED}")
            raise


def show_profile(wire, board, elf, ran, begin, end):
    """`monitor profile` from its start on: what each task executed, and how often it was switched to. A
    decoder may hold back what came last."""
    truth, code = board.truth(), range(symbol(elf, "body"), symbol(elf, "body_end"))
    executed, times = collections.Counter(), collections.Counter()
    for (at, name), (behind, _) in zip(ran, [*ran[1:], (end, "")]):
        executed[name] += sum(address & ~1 in code for address in truth[max(at, begin) - 1:behind - 1])
        times[name] += behind > begin
    text = wire.monitor("profile")
    shown = {name: (int(n), int(count)) for n, count, name in
             re.findall(r"^ +(\d+) +[\d.]+% +(\d+)  cpu0 task (.*)$", text, re.M)}
    for name in NAMES:
        n, count = shown[name]
        expect(abs(n - executed[name]) <= 16 and abs(count - times[name]) <= 1,
               f"{name}: {shown[name]}, executed {executed[name]} in {times[name]} switches")
    expect(sum(executed.values()) > 1000, f"{executed}")


def lose_trace(board):
    """A core that does not run yet has nothing to lose."""
    while re.search(r"overflows=0\b", board.ask_board("status")):
        board.ask_board("overflow")


@suite.test("tasks in the past: behind missing trace nothing is said of what ran before")
def _():
    board, elf = watched(*WATCHED[0])
    dice = random.Random(f"{SEED} gap")
    with board, Wire(board) as wire:
        wire.thread = wire.threads()[0]
        tasks = Tasks(wire, elf, "freertos")
        wire.run_to(symbol(elf, "body_loop") + 2, 2)
        wire.run_for(board, dice.randrange(30_000, 60_000))
        wire.run_for(board, dice.randrange(30_000, 60_000), during=lambda: lose_trace(board))
        wire.run_for(board, 20_000)
        for _ in range(100):
            if not tasks.words("truth_busy")[0]:
                break
            wire.step()
        tasks.threads()
        names = dict(zip(tasks.words("truth_control", TASKS), NAMES))
        text = wire.monitor("tasks history 4000")
        has(text, r"^known from instruction \d+ on: trace is missing$")
        listed = [name for _, name in re.findall(r"^ *(\d+)  (.*)$", text, re.M)]
        ran = [name for _, name in runs_of_tasks(board, names)]
        expect(10 < len(listed) < len(ran) - 10, f"{len(listed)} of {len(ran)} switches")
        same_list(listed, ran[-len(listed):], "switches")
        has(wire.monitor("goto begin"), "goes to instruction 1,")
        wire.step()
        has(wire.monitor("tasks"), "not known which one ran")
        has(wire.monitor("tasks previous"), "trace is missing")


def snapshot(place, dumps):
    """A recording of a Cortex-M4 with this memory, and hardly any trace."""
    place.mkdir()
    texts = "".join(f"[dump{i}]\nfile=dump{i}.bin\naddress={at:#x}\nlength={len(data):#x}\n"
                    for i, (at, data) in enumerate(dumps))
    files = {
        "snapshot.ini": "[snapshot]\nversion=1.0\n\n[device_list]\ndevice0=core.ini\n"
                        "device1=etm.ini\n\n[trace]\nmetadata=trace.ini\n",
        "core.ini": "[device]\nname=cpu_0\nclass=core\ntype=Cortex-M4\n\n[regs]\n"
                    "PC=0x08008008\nSP=0x20001000\nLR=0xFFFFFFFF\nxPSR=0x01000000\n\n" + texts,
        "etm.ini": "[device]\nname=ETM_0\nclass=trace_source\ntype=ETM3.5\n\n[regs]\n"
                   "ETMCR(0x000)=0x00000000\nETMIDR(0x079)=0x4114F250\n"
                   "ETMCCER(0x07A)=0x18541800\nETMTRACEIDR(0x080)=0x00000002\n",
        "trace.ini": "[trace_buffers]\nbuffers=buffer0\n\n[buffer0]\nname=ETB_0\nfile=trace.bin\n"
                     "format=source_data\n\n[source_buffers]\nETM_0=ETB_0\n\n"
                     "[core_trace_sources]\ncpu_0=ETM_0\n",
    }
    for name, text in files.items():
        (place / name).write_text(text)
    for i, (_, data) in enumerate(dumps):
        (place / f"dump{i}.bin").write_bytes(data)
    (place / "trace.bin").write_bytes(bytes.fromhex("000000000080" "0821018000 08".replace(" ", "")))
    return place


@suite.test("tasks of a recording: as they were at the halt; without their memory it is said")
def _():
    board, elf = live("freertos", M4, ())
    with board, Wire(board) as wire:
        wire.thread = wire.threads()[0]
        for _ in range(9):
            wire.run_to(symbol(elf, "choose"), 2)
        texts = sorted(Tasks(wire, elf, "freertos").threads()[0].values())
        ram = b"".join(bytes.fromhex(wire.ask(f"m{at:x},400"))
                       for at in range(0x20000000, 0x20002000, 0x400))
    recording = snapshot(folder() / "recording", [(0x20000000, ram)])
    for options, wanted in ((), True), (("--no-tasks",), False):
        with Server(recording, "--elf", str(elf), *options) as server:
            s = gdb(server.port, ["info threads", "monitor tasks"], elf=elf)
        if wanted:
            equal(sorted(f"{name}: {state}" for name, state in re.findall(
                r'^[* ] \d+ +Thread 10\d\d "([^"]*)" \((.*?)\) +', s["info threads"], re.MULTILINE)),
                texts, "tasks")
        else:
            lacks(s["info threads"], "priority")
    bare = snapshot(folder() / "bare", [(0x20001f00, ram[0x1f00:])])
    with Server(bare, "--elf", str(elf)) as server:
        s = gdb(server.port, ["info threads"], elf=elf)
    has(s["info threads"], "tasks: memory at 0x2000.* cannot be read")


suite.run()
