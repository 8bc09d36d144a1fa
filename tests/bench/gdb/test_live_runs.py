#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs of virtual boards through the live server, recorded meanwhile: the history is what ran, without a
gap. BTRACED_COUNT: how many instructions each; the arguments: which tests."""

import os

from live_gdb import Live
from live_runs import check_damage, check_etb, equal_run, prepare, run_long
from replay_gdb import Suite

suite = Suite()
COUNT = int(os.environ.get("BTRACED_COUNT", 150000))


def add(name):
    @suite.test(f"live: {COUNT} instructions and more: {name}")
    def _():
        path, elf, cores = prepare(name)
        with Live(path) as live:
            recording, histories = run_long(live, elf, COUNT)
            equal_run(live, recording, histories, cores)


add("two A9, PTM")
add("M33, ETMv4")
add("two A53, ETMv4")
add("A53, ETMv4, everything")


@suite.test("live: damaged on the way")
def _():
    check_damage("M3, ETMv3", ["insert", "drop"], COUNT)


@suite.test("live: trace buffer")
def _():
    check_etb("A9, PTM, return stack", COUNT)

suite.run()
