# SPDX-License-Identifier: BSD-3-Clause
"""One thread of a program stopped for a while, the others run on: by ptrace, as a debugger does."""

import ctypes
import os
from pathlib import Path

from replay_gdb import Skipped, expect

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
WALL = 0x40000000  # __WALL: threads, too


def thread_named(pid, name):
    for task in Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() == name:
            return int(task.name)
    raise AssertionError(f"no thread '{name}'")


class Frozen:
    """The `with` statement's body sees the thread stopped."""

    libc = ctypes.CDLL(None, use_errno=True)

    def __init__(self, pid, name):
        self.thread = thread_named(pid, name)

    def ptrace(self, request):
        return self.libc.ptrace(ctypes.c_long(request), ctypes.c_long(self.thread),
                                ctypes.c_void_p(0), ctypes.c_void_p(0))

    def __enter__(self):
        if self.ptrace(SEIZE) != 0:
            raise Skipped(f"no ptrace here: {os.strerror(ctypes.get_errno())}")
        expect(self.ptrace(INTERRUPT) == 0, "the thread cannot be stopped")
        os.waitpid(self.thread, WALL)
        return self

    def __exit__(self, *_):
        self.ptrace(DETACH)
