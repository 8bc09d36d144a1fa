# SPDX-License-Identifier: BSD-3-Clause
"""Stock GDB on a core behind the modelled probe whose trace goes round in a memory of the chip: its oldest
may be lost."""

import re

from probe_gdb import Board  # noqa: F401: its folder is where live_gdb is found
from live_gdb import tail_of
from replay_gdb import equal, expect, has, history, lacks, record_counts

LIST = ("info record", "set record instruction-history-size 2000", "record instruction-history -")


def check_history(b, s, at_least):
    """All that GDB lists behind the last gap is what ran last; how much that is."""
    listed, gap, newest = s["record instruction-history -"].rpartition("[decode error")
    rows = history(newest.partition("\n")[2] if gap else listed + newest)
    expect(len(rows) >= at_least, f"only {len(rows)} instructions listed:\n{s.text}\n{b.stderr}")
    tail_of(rows, b.truth(s.all(b.mark())[-1]), len(rows))
    lacks(s.text, "internal|cannot be read|not traced")
    return len(rows)


def check_first_session(b, unit, memory):
    """At a breakpoint and after steps the history is what ran, without gaps, and nothing is warned of."""
    s = b.session("record btrace", "tbreak add_value", "continue", "stepi 7", "next", "finish", *LIST,
                  b.mark(), "monitor trace status")
    has(s["continue"], r"^Temporary breakpoint 1, add_value \(topic=")
    check_history(b, s, 500)
    equal(record_counts(s["info record"])[2], 0, "gaps")
    has(s["monitor trace status"], rf"^core +m, traced by {re.escape(unit)}$")
    has(b.stderr, rf"{memory}$")
    lacks(b.stderr, "warning|no history")
