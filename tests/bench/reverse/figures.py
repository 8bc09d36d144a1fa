#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures what is known of registers and local variables by distance from the halt, and writes the
table and the plot of docs/values.md.

usage: figures.py    some minutes; `make reverse` first
"""

import array
import re
import shutil
import subprocess
import sys
import tempfile

import bench
import model
from test_engine import add, ask, share

ROUNDS, HALTS = 24, 4
BANDS = ("10", "100", "1,000", "10,000", "100,000")
WAYS = (("1", "0", "assumptions"), ("0", "0", "proved"), ("1", "1", "data trace, assumptions"),
        ("0", "1", "data trace, proved"))
GROUPS = (("SP", [13]), ("LR", [14]), ("r4-r11", list(range(4, 12))),
          ("r0-r3, r12", [0, 1, 2, 3, 12]), ("all registers", list(range(15))))
COLOURS = ("#1b6ca8", "#d1495b", "#2e8b57", "#8a6d3b")
DOCS = bench.ROOT / "docs"


# Local variables.

def functions(case):
    """[(name, first address, one past the last)]"""
    found = []
    for line in bench.run(["arm-none-eabi-nm", "-S", str(case.elf)]).splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "tT":
            start = int(words[0], 16) & ~1
            found.append((words[3], start, start + int(words[1], 16)))
    return found


def places(text, start, end):
    """[(first, end, register or None, offset from the frame's base)] from GDB's `info scope`."""
    found = []
    for symbol in re.split(r"^Symbol ", text, flags=re.MULTILINE)[1:]:
        parts = re.split(r"^  Range (0x[0-9a-f]+)-(0x[0-9a-f]+): ", symbol, flags=re.MULTILINE)
        ranges = list(zip(parts[1::3], parts[2::3], parts[3::3])) or [(hex(start), hex(end),
                                                                      symbol)]
        for first, last, where in ranges:
            register = re.match(r".*a variable in \$r(\d+)", where)
            offset = re.search(r"^ +0: DW_OP_fbreg (-?\d+)\n(?! +\d)", where, re.MULTILINE)
            if register:
                found.append((int(first, 16), int(last, 16), int(register[1]), 0))
            elif offset:
                found.append((int(first, 16), int(last, 16), None, int(offset[1])))
    return found


def variables(case):
    """{address of an instruction: [(register or None, offset)]}"""
    gdb = shutil.which("gdb-multiarch")
    line = [gdb, "-q", "-nx", "-batch"]
    chosen = functions(case)
    for name, _, _ in chosen:
        line += ["-ex", f"info scope {name}", "-ex", r"echo \n@@@\n"]
    text = subprocess.run([*line, str(case.elf)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=100).stdout
    found = {}
    for (_, start, end), piece in zip(chosen, text.split("\n@@@\n")):
        for first, last, register, offset in places(piece, start, end):
            for address in range(first, last, 2):
                found.setdefault(address, []).append((register, offset))
    return found


def write_locals(case):
    """The file that the engine reads: position and place of each variable of the innermost frame."""
    calls, known, out = model.Calls(case), variables(case), array.array("I")
    for position in range(case.count + 1):
        frame = calls.frames[position]
        for register, offset in known.get(case.pc(position), ()):
            if register is not None and register < 15:
                out.extend((position, register))
            elif register is None and frame:
                out.extend((position, frame.sp + offset & 0xffffffff))
    (case.folder / "locals").write_bytes(out.tobytes())


# Measuring.

def measure():
    """{(profile, assumptions, data trace): sums of the engine}"""
    totals = {}
    with tempfile.TemporaryDirectory(prefix="btraced-figures.") as folder:
        for kind in bench.KINDS:
            for level in bench.LEVELS:
                case = bench.Case(folder, kind, level, ROUNDS).execute()
                write_locals(case)
                for answer in ask(case, HALTS):
                    if answer["wrong"] or answer["wrong_inferred"]:
                        sys.exit(f"{case.name}: wrong values")
                    key = ("M" if case.machine.m_profile else "A", str(answer["infer"]),
                           str(answer["data"]))
                    add(totals.setdefault(key, {}), answer)
                shutil.rmtree(case.folder)
                print(case.name, flush=True)
    return totals


def local_share(answer, band):
    return 100 * answer["locals_known"][band] / max(1, answer["locals"][band])


def rows(totals):
    """(profile, way, what, [percent a band])"""
    for profile in ("A", "M"):
        for infer, data, way in WAYS:
            answer = totals[profile, infer, data]
            for name, registers in GROUPS:
                yield profile, way, name, [share(answer, registers, [b]) for b in range(5)]
            yield profile, way, "locals", [local_share(answer, b) for b in range(5)]


def table(totals):
    lines = ["| profile | with | of | " + " | ".join(BANDS) + " |",
             "| --- | --- | --- | " + "--- | " * 5]
    lines[1] = lines[1].rstrip()
    for profile, way, name, values in rows(totals):
        lines.append(f"| {profile} | {way} | {name} | " +
                     " | ".join("-" if v is None else f"{v:.1f}" for v in values) + " |")
    return "\n".join(lines) + "\n"


# The plot.

def panel(left, top, title, lines):
    """One set of axes; `lines`: (name, percents, colour)."""
    width, height = 300, 200
    out = [f'<text x="{left}" y="{top - 10}" font-size="13">{title}</text>']
    for percent in (0, 25, 50, 75, 100):
        y = top + height - height * percent / 100
        out.append(f'<path d="M{left} {y:.0f}h{width}" stroke="#ddd"/><text x="{left - 6}" '
                   f'y="{y + 4:.0f}" text-anchor="end">{percent}</text>')
    for band, label in enumerate(BANDS):
        out.append(f'<text x="{left + width * band / 4:.0f}" y="{top + height + 16}" '
                   f'text-anchor="middle">{label}</text>')
    for name, values, colour in lines:
        points = " ".join(f"{left + width * band / 4:.0f},{top + height - height * v / 100:.1f}"
                          for band, v in enumerate(values) if v is not None)
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" '
                   f'stroke-width="2"><title>{name}</title></polyline>')
    return out


def plot(totals):
    found = {(p, w, n): v for p, w, n, v in rows(totals)}
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="760" height="620" '
           'font-family="sans-serif" font-size="11">',
           '<!-- SPDX-License-Identifier: BSD-3-Clause -->',
           '<rect width="760" height="620" fill="#fff"/>']
    for row, what in enumerate(("all registers", "locals")):
        for column, profile in enumerate("AM"):
            lines = [(way, found[profile, way, what], COLOURS[i])
                     for i, (_, _, way) in enumerate(WAYS)]
            out += panel(50 + 370 * column, 40 + 260 * row,
                         f"{what}, {profile} profile: percent known", lines)
    for i, (_, _, way) in enumerate(WAYS):
        out.append(f'<path d="M{50 + 180 * i} 590h24" stroke="{COLOURS[i]}" stroke-width="3"/>'
                   f'<text x="{80 + 180 * i}" y="594">{way}</text>')
    out.append('<text x="380" y="560" text-anchor="middle">instructions before the halt, up to'
               '</text></svg>')
    return "\n".join(out) + "\n"


def main():
    reason = bench.missing()
    if reason:
        sys.exit(reason)
    totals = measure()
    (DOCS / "values-figures.svg").write_text(plot(totals))
    page = DOCS / "values.md"
    text = page.read_text()
    begin, end = "<!-- figures.py: begin -->\n", "<!-- figures.py: end -->\n"
    before, rest = text.split(begin)
    page.write_text(before + begin + table(totals) + end + rest.split(end)[1])
    compared = sum(total["checks"] for total in totals.values())
    print(f"{compared} registers compared, none wrong")


if __name__ == "__main__":
    main()
