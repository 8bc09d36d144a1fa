#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kernels as memory alone: lists and control blocks of FreeRTOS, ThreadX and Zephyr with random settings,
written here from their public headers, on a board that stands still. What is listed is what was put there.
Tests rtos_freertos.c, rtos_threadx.c, rtos_zephyr.c and rtos_walk.c.

BTRACED_FULL=1: 100 of them. BTRACED_SEED makes them again."""

import os
import random
import subprocess

from live_gdb import CONFIGS, Live, Wire, board_file
from replay_gdb import Suite, equal, expect, folder, tool

suite = Suite()
SEED = int(os.environ.get("BTRACED_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
CASES = 34 if os.environ.get("BTRACED_FULL") == "1" else 3  # of each kernel
RAM = 0x20000000
WORDS = ["idle", "net rx", "ui", "logger", "a", "motor-2", "Tmr Svc", "sensor_hub", "x86", "z"]


class Memory:
    """Objects with names, placed at random behind each other; words that name objects."""

    def __init__(self, dice):
        self.dice, self.at, self.objects = dice, 0, []

    def place(self, name, words, size=None):
        """`words`: numbers, or (object's address, offset) that is not known yet as a function."""
        self.at += 8 * self.dice.randrange(4)
        address = RAM + self.at
        self.at += (4 * words + 7) & ~7
        self.objects.append([name, address, [self.dice.randrange(1 << 32) for _ in range(words)], size])
        return len(self.objects) - 1

    def address(self, index, word=0):
        return self.objects[index][1] + 4 * word

    def put(self, index, word, value):
        self.objects[index][2][word] = value & 0xffffffff

    def text(self, index, word, text, room):
        data = text.encode()[:room - 1].ljust(room, b"\0")
        for i in range(0, room, 4):
            self.put(index, word + i // 4, int.from_bytes(data[i:i + 4], "little"))

    def elf(self):
        rows = [".syntax unified", ".thumb", '.section .vectors, "a"', f".word {RAM + 0x8000:#x}, reset + 1",
                ".text", ".thumb_func", ".global reset", ".type reset, %function", "reset: b reset",
                ".size reset, . - reset", ".data"]
        at = RAM
        for name, address, words, size in self.objects:
            rows += [f".space {address - at}"] * (address > at)
            if name:
                rows += [f".global {name}", f".type {name}, %object", f"{name}:"]
            rows.append(".word " + ", ".join(map(str, words)))
            if name:
                rows.append(f".size {name}, {size or 4 * len(words)}")
            at = address + 4 * len(words)
        place = folder()
        (place / "kernel.S").write_text("\n".join(rows) + "\n")
        subprocess.run([tool("arm-none-eabi-gcc"), "-mcpu=cortex-m3", "-nostdlib", "-Wl,-n", "-o",
                        str(place / "kernel.elf"), str(place / "kernel.S"), "-Wl,--section-start=.vectors=0,"
                        f"-Ttext=0x100,-Tdata={RAM:#x},-e,reset"], check=True)
        return place / "kernel.elf"


def freertos(dice, memory):
    """task.h, list.h, tasks.c of V7 to V11: lists, and TCBs on them."""
    guard, full_end = dice.random() < 0.4, dice.random() < 0.4
    item = 5 + 2 * guard  # ListItem_t, in words
    end = item if full_end else 3 + guard
    size = 2 + guard + end + guard
    priorities = dice.randrange(1, 33)
    count = dice.randrange(1, 11)
    lists = {name: memory.place(name, size) for name in
             ("xDelayedTaskList1", "xDelayedTaskList2", "xPendingReadyList", "xTasksWaitingTermination",
              "xSuspendedTaskList") if name[1] in "DP" or dice.random() < 0.8}
    ready = memory.place("pxReadyTasksLists", size * priorities)
    queue = memory.place("some_queue", size)
    room = dice.choice([8, 12, 16, 24])
    first = 1  # pxTopOfStack
    length = first + 2 * item + 2 + room // 4 + dice.randrange(12)
    tasks = [memory.place(None, length) for _ in range(count)]
    on = {}

    def head(index, word):
        return memory.address(index, word + guard)

    def join(index, word, task, at):
        on.setdefault((index, word), []).append((task, at))

    shown, names = [], dice.sample(WORDS, count)
    states = {"ready": "ready", "delayed": "blocked, for a time", "queue": "blocked",
              "suspended": "suspended, or waits for a notification"}
    current = None
    for task, name in zip(tasks, names):
        name = name[:room - 1]
        state = dice.choice([s for s in states if s in ("ready", "delayed") or "xSuspendedTaskList" in lists])
        if current is None:
            state = "ready"
        priority = dice.randrange(priorities)
        memory.put(task, first + item + 3 + guard + 1, 0)  # xEventListItem.pxContainer
        if state == "ready":
            join(ready, size * priority, task, first)
        elif state == "delayed":
            join(lists[dice.choice(["xDelayedTaskList1", "xDelayedTaskList2"])], 0, task, first)
            if dice.random() < 0.5:
                join(queue, 0, task, first + item)
        else:
            join(lists["xSuspendedTaskList"], 0, task, first)
            if state == "queue":
                join(queue, 0, task, first + item)
        memory.put(task, first + 2 * item, priority)
        memory.text(task, first + 2 * item + 2, name, room)
        memory.put(task, 0, RAM + 0x4000)
        if current is None:
            current = task
        shown.append((name, "running" if task == current else states[state], priority))
    everywhere = [(ready, size * p) for p in range(priorities)] + [(i, 0) for i in lists.values()] + [(queue, 0)]
    check = 0x5a5a5a5a  # pdINTEGRITY_CHECK_VALUE
    for index, word in everywhere if guard else ():
        for at in (0, 2 + guard, size - 1, *([2 + guard + item - 1] if full_end else [])):
            memory.put(index, word + at, check)
    for task in tasks if guard else ():
        for at in (first, first + item - 1, first + item, first + 2 * item - 1):
            memory.put(task, at, check)
    for index, word in everywhere:
        ring = [(index, word + 2 + guard)] + [(t, at) for t, at in on.get((index, word), [])]
        memory.put(index, word + guard, len(ring) - 1)
        memory.put(index, word + guard + 1, memory.address(*dice.choice(ring)))
        for i, (owner, at) in enumerate(ring):
            memory.put(owner, at + guard, 0xffffffff if i == 0 else dice.randrange(1 << 20))
            memory.put(owner, at + guard + 1, memory.address(*ring[(i + 1) % len(ring)]))
            memory.put(owner, at + guard + 2, memory.address(*ring[i - 1]))
            if i:
                memory.put(owner, at + guard + 3, memory.address(owner))
                memory.put(owner, at + guard + 4, memory.address(index, word))
    for name, number in (("pxCurrentTCB", memory.address(current)), ("uxCurrentNumberOfTasks", count),
                         ("xSchedulerRunning", 1)):
        memory.put(memory.place(name, 1), 0, number)
    return shown, f"{priorities} priorities, {count} tasks, guards {guard}, full end {full_end}, names {room}"


def threadx(dice, memory):
    """tx_api.h of 5 and 6: TX_THREAD up to its place in the list of those that were created."""
    created, length = 34, 36 + dice.randrange(20)  # words
    count = dice.randrange(1, 11)
    threads = [memory.place(None, length) for _ in range(count)]
    texts = {0: "ready", 3: "suspended", 4: "sleeping", 6: "waits, semaphore"}
    shown = []
    current = dice.choice(threads)
    for i, (thread, name) in enumerate(zip(threads, dice.sample(WORDS, count))):
        label = memory.place(None, 4)
        memory.text(label, 0, name, 16)
        state, priority = (0 if thread == current else dice.choice([0, 3, 4, 6])), dice.randrange(32)
        memory.put(thread, 0, 0x54485244)
        memory.put(thread, 2, RAM + 0x4000)
        memory.put(thread, 10, memory.address(label))
        memory.put(thread, 11, priority)
        memory.put(thread, 12, state)
        memory.put(thread, created, memory.address(threads[(i + 1) % count]))
        memory.put(thread, created + 1, memory.address(threads[i - 1]))
        shown.append((name, "running" if thread == current else texts[state], priority))
    for name, number in (("_tx_thread_created_ptr", memory.address(dice.choice(threads))),
                         ("_tx_thread_created_count", count), ("_tx_thread_current_ptr", memory.address(current)),
                         ("_tx_thread_system_state", 0), ("_tx_thread_execute_ptr", memory.address(current))):
        memory.put(memory.place(name, 1), 0, number)
    return shown, f"{count} threads"


def zephyr(dice, memory):
    """thread_info.c: offsets of all that a debugger wants, wherever that is."""
    length = dice.randrange(24, 60)
    words = dice.sample(range(2, length - 8), 5)
    entry, following, pointer, bytes_at, options = (4 * w for w in words)
    name_at = 4 * (length - 8)
    kernel_size = dice.randrange(6, 20)
    current_at, threads_at = (4 * w for w in dice.sample(range(kernel_size), 2))
    state_at, prio_at = bytes_at, bytes_at + dice.choice([1, 2, 3])
    offsets = [1, current_at, threads_at, entry, following, state_at, options, prio_at, pointer, name_at]
    offsets += [dice.choice([0xffffffff, 4]) for _ in range(dice.choice([4, 5]))]
    table = memory.place("_kernel_thread_info_offsets", len(offsets))
    for i, offset in enumerate(offsets):
        memory.put(table, i, offset)
    memory.put(memory.place("_kernel_thread_info_num_offsets", 1), 0, len(offsets))
    memory.put(memory.place("_kernel_thread_info_size_t_size", 1, 1), 0, 4)
    kernel = memory.place("_kernel", kernel_size)
    count = dice.randrange(1, 11)
    threads = [memory.place(None, length) for _ in range(count)]
    current, shown = dice.choice(threads), []
    for i, (thread, name) in enumerate(zip(threads, dice.sample(WORDS, count))):
        state = 0x80 if thread == current else dice.choice([0x80, 0x02, 0x10])
        priority = dice.randrange(-16, 16)
        value = dice.randrange(1 << 32)
        for at, byte in ((state_at, state), (prio_at, priority & 0xff)):
            shift = 8 * (at % 4)
            value = value & ~(0xff << shift) | byte << shift
        memory.put(thread, bytes_at // 4, value)
        memory.put(thread, following // 4, memory.address(threads[i + 1]) if i + 1 < count else 0)
        memory.put(thread, pointer // 4, RAM + 0x4000)
        memory.text(thread, name_at // 4, name, 32)
        text = {0x80: "ready", 0x02: "pending", 0x10: "suspended"}[state]
        shown.append((name, "running" if thread == current else text, priority))
    memory.put(kernel, current_at // 4, memory.address(current))
    memory.put(kernel, threads_at // 4, memory.address(threads[0]))
    return shown, f"{count} threads, offsets {offsets}"


def listed(elf):
    """(name, state, priority) of each task, and what the core's line says."""
    path = board_file("virtual-m3", replace=[(f"{CONFIGS}/virtual/crash-m3.elf", str(elf)),
                                             ("thread = 1\n", "thread = 1\nrtos = auto\n")])
    with Live(path) as live, Wire(live) as wire:
        wire.thread = wire.threads()[0]
        found, core = [], ""
        for thread in wire.threads():
            text = bytes.fromhex(wire.ask(f"qThreadExtraInfo,{thread}")).decode()
            if int(thread.rsplit(".", 1)[-1].lstrip("p"), 16) <= 1000:
                core = text
                continue
            name, _, rest = text.partition(": ")
            state, _, priority = rest.partition(", priority ")
            found.append((name, state, int(priority.split(",")[0])))
        return sorted(found), core


for kernel in (freertos, threadx, zephyr):
    @suite.test(f"task layouts: {kernel.__name__}: {CASES} random ones list what was put there (seed {SEED})")
    def _(kernel=kernel):
        for case in range(CASES):
            dice = random.Random(f"{SEED} {kernel.__name__} {case}")
            memory = Memory(dice)
            shown, what = kernel(dice, memory)
            found, core = listed(memory.elf())
            equal(found, sorted(shown), f"case {case} ({what}; {core})")
            expect("tasks:" not in core, core)


suite.run()
