#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""btraced coverage against what really ran on the virtual boards (the plugin's log, mapped by addr2line,
nm and objdump), and against lcov and genhtml. Tests coverage.c, coverage_write.c, export_walk.c,
export_names.c, export_args.c, cmd_export.c and dwarf_lines.c."""

import collections
import os
import re
import subprocess
from bisect import bisect_left
from pathlib import Path

from export_runs import RUNS, Run, build, command, conditional_branches, directions, tracefile
from replay_gdb import BTRACED, PATIENCE, Suite, environment, equal, expect, folder, has

suite = Suite()


def same(got, wanted, what):
    """Not one difference."""
    differ = [key for key in sorted(set(got) | set(wanted)) if got.get(key) != wanted.get(key)]
    expect(not differ, f"{what}: {len(differ)} differences: " + ", ".join(
        f"{key}: {got.get(key)}, not {wanted.get(key)}" for key in differ[:8]))


def ranges(text, listing):
    """{address: count} of the object code that ran."""
    found, ordered = {}, sorted(listing)
    for row in re.finditer(r"^range\t0x(\w+)\t0x(\w+)\t(\d+)\t", text, re.MULTILINE):
        first, behind, count = int(row[1], 16), int(row[2], 16), int(row[3])
        if count:
            found.update((address, count) for address in ordered[bisect_left(ordered, first):
                                                                 bisect_left(ordered, behind)])
    return found


def objects_against_truth(run):
    text = run.export("coverage", "--objects")
    truth, listing = run.proved(text), run.listing()
    branches = {int(row[1], 16): (int(row[3]), int(row[2])) for row in re.finditer(
        r"^branch\t0x(\w+)\t(\d+)\t(\d+)\t", text, re.MULTILINE)}
    same(ranges(text, listing), collections.Counter(truth), "counts of instructions")
    conditional = conditional_branches(listing)
    equal(sorted(map(hex, branches)), sorted(map(hex, conditional)), "conditional branches")
    found, pending = directions(truth, conditional)
    # The log ends before it tells where the newest ones went; the trace knows.
    open_ones = collections.Counter(pending)
    for address, counts in branches.items():
        wanted = found[address, False], found[address, True]
        left = sum(counts) - sum(wanted)
        near = open_ones[address] + (address in truth[-2:])
        expect(counts[0] >= wanted[0] and counts[1] >= wanted[1] and left <= near,
               f"branch {address:#x}: (not taken, taken) {counts}, not {wanted}")


def lines_against_truth(run):
    text = run.export("coverage")
    truth = collections.Counter(run.proved(text))
    found, places = tracefile(text), run.lines(truth)
    got = {(file, line) for file, record in found.items()
           for line, count in record["DA"].items() if count}
    same(dict.fromkeys(got, True), dict.fromkeys(places.values(), True), "lines that ran")
    ran = {name: truth[address] for address, name in run.functions().items()}
    for record in found.values():
        for name, count in record["FN"].items():
            # An inlined function has counts of its copies beside those of its own code.
            own = ran.get(name, 0)
            expect(count >= own and (name not in ran or run.level != "-O0" or count == own),
                   f"{name} ran {count} times, not {own}")
    return text


def judged_by_lcov(run, text):
    place = folder()
    (place / "run.info").write_text(text)
    # lcov 2 refuses a line that ran in a function that did not, which two functions with one tail have.
    second = int(has(command("lcov", "--version"), r"version (\d+)\.")[1]) >= 2
    ignored = ["--rc", "check_data_consistency=0"] if second else []
    branches = "branch_coverage=1" if second else "lcov_branch_coverage=1"
    summary = command("lcov", "--summary", "run.info", "--rc", branches, *ignored, cwd=place)
    found = tracefile(text)
    lines = [count for record in found.values() for count in record["DA"].values()]
    names = [count for record in found.values() for count in record["FN"].values()]
    branches = re.findall(r"^BRDA:.*,(\S+)$", text, re.MULTILINE)
    for what, ran, everything in (("lines", sum(map(bool, lines)), len(lines)),
                                  ("functions", sum(map(bool, names)), len(names)),
                                  ("branches", sum(b not in "-0" for b in branches),
                                   len(branches))):
        has(summary, rf"{what}\.*: [\d.]+% \({ran} of {everything} \w+\)", "lcov --summary")
    command("genhtml", "--branch-coverage", "-q", *ignored, "-o", "html", "run.info", cwd=place)
    for file in found:
        expect(list(place.glob(f"html/**/{file}.gcov.html")), f"genhtml has no page of {file}")


for board, level in RUNS:
    @suite.test(f"coverage: {board} {level}: instructions, branches, lines and functions that ran")
    def _(board=board, level=level):
        run = Run(board, level)
        objects_against_truth(run)
        judged_by_lcov(run, lines_against_truth(run))


@suite.test("coverage: text, --fail-under, several recordings, --source-map, bad options")
def _():
    run = Run("m3", "-O1", count=20000)
    once = tracefile(run.export("coverage"))
    twice = tracefile(run.export("coverage", str(run.recording)))
    for file, record in once.items():
        equal(twice[file]["DA"], {line: 2 * n for line, n in record["DA"].items()}, "two runs")
    text = run.export("coverage", "--format", "text")
    lines = [n for record in once.values() for n in record["DA"].values()]
    ran = sum(map(bool, lines))
    has(text, rf"^all +{ran}/{len(lines)} +{100 * ran // len(lines)}%")
    never = [line for line, n in once["crash.c"]["DA"].items() if n == 0]
    listed = has(text, r"crash\.c .*  ([\d,-]+)$")[1]
    spans = [list(map(int, span.split("-"))) for span in listed.split(",")]
    equal([line for line in once["crash.c"]["DA"] if any(s[0] <= line <= s[-1] for s in spans)],
          sorted(never), "lines that never ran")
    run.export("coverage", "--format", "text", "--fail-under", f"{100 * ran / len(lines) - 1}")
    run.export("coverage", "--format", "text", "--fail-under", f"{100 * ran / len(lines) + 1}", code=7)
    path = has(run.export("coverage"), r"^SF:(.*)/crash\.c$")[1]
    has(run.export("coverage", "--source-map", f"{path}=/moved"), r"^SF:/moved/crash\.c$")
    for options in (["--format", "html"], ["--source-map", "x"], ["--fail-under", "101"],
                    ["--from", "1"], ["--jobs", "0"]):
        run.export("coverage", *options, code=2)
    run.export("coverage", "--source", "nobody", code=4)


@suite.test("coverage: damaged trace: what is missing is told, and nothing is counted that did not run")
def _():
    run = Run("m7", "-O1", count=120000)
    [raw] = run.recording.glob("buffer_*.bin")
    data = raw.read_bytes()
    third = len(data) // 48 * 16
    raw.write_bytes(data[:third] + data[third + 1024:])
    text = run.export("coverage", "--objects")
    has(text, "instructions from .*; gaps: [a-z]")
    truth, more, everything = collections.Counter(run.truth), 0, 0
    for address, count in ranges(text, run.listing()).items():
        more += max(0, count - truth[address])
        everything += count
    # What agrees with the code by chance nobody can tell; the rest is doubtful, and not counted.
    expect(more < len(run.truth) // 100, f"{more} counted that did not run")
    expect(everything > len(run.truth) // 2, f"{everything} counted of {len(run.truth)}")


# More functions that nobody calls: the linker drops them, and leaves their lines at address 0.
UNUSED = "-include" + str(folder() / "unused.h")
Path(UNUSED[len("-include"):]).write_text("".join(
    f"__attribute__((used)) static unsigned unused_{i}(unsigned x)\n{{\n"
    + "    x = x * 3 + (x >> 5) / 7;\n" * 30 + "    return x;\n}\n" for i in range(3)))


@suite.test("coverage: files of one name in several folders, one file by several names")
def _():
    place, objects = folder(), []
    for name in ("one/src", "other/src", "inc"):
        (place / name).mkdir(parents=True)
    (place / "inc/shared.h").write_text(
        "static inline __attribute__((always_inline)) int more(int x)\n{\n    return x * 3;\n}\n")
    for part, options in (("one", ["-gdwarf-4"]), ("other", ["-gdwarf-5"])):
        # What the compiler is called with is relative to where it runs.
        (place / part / "src/part.c").write_text(
            f'#include "../../inc/shared.h"\n__attribute__((used)) int {part}(int x)\n'
            "{\n    return more(x) + 1;\n}\n")
        objects.append(place / part / "part.o")
        command("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=soft", "-O1",
                *options, "-c", "src/part.c", "-o", objects[-1], cwd=place / part)
    run = Run("m4", "-O1", count=20000, more=objects)
    files = re.findall(r"^SF:(.*)$", run.export("coverage"), re.MULTILINE)
    equal(sorted(file for file in files if file.startswith(str(place))),
          [str(place / name) for name in ("inc/shared.h", "one/src/part.c", "other/src/part.c")],
          "files")
    equal([file for file in files if not file.startswith("/")], [], "files without a folder")
    moved = run.export("coverage", "--source-map", f"{place}/on=/wrong", "--source-map",
                       f"{place}/one=/moved")
    has(moved, r"^SF:/moved/src/part\.c$")
    expect("/wrong" not in moved, "a folder is mapped whose name only begins so")


@suite.test("coverage: thousands of inlined functions take no longer than what they are")
def _():
    place = folder()
    (place / "part.c").write_text("".join(
        "".join(f"static inline __attribute__((always_inline)) int in_{i}_{n}(int x)\n{{\n"
                f"    return x * {n + 2} + 1;\n}}\n" for n in range(60))
        + f"__attribute__((used)) int out_{i}(int x)\n{{\n"
        + "".join(f"    x ^= in_{i}_{n}(x);\n" for n in range(60))
        + "    return x;\n}\n" for i in range(200)))
    command("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=soft", "-O1", "-g",
            "-c", "part.c", "-o", place / "part.o", cwd=place)
    run = Run("m4", "-O1", count=20000, more=[place / "part.o"])
    begin = os.times().children_user
    found = tracefile(run.export("coverage"))
    took = os.times().children_user - begin
    equal(len(found["part.c"]["FN"]), 200 * 61, "functions")
    expect(took < 2, f"{took:.1f} s of CPU time")


@suite.test("a program that is not the recording's is told by all that read it, and one that is by none")
def _():
    run = Run("m4", "-O1", count=20000)
    other, out = build("m4", "-O2"), folder() / "out"
    for what in ("coverage", "profile", "timeline", "feedback", "report", "decode"):
        for elf, told in ((run.elf, False), (other, True)):
            done = subprocess.run(
                [BTRACED, what, "--elf", str(elf), *([] if what == "decode" else ["-o", str(out)]),
                 str(run.recording)], capture_output=True, text=True, timeout=PATIENCE, env=environment())
            equal(done.returncode, 0, done.stderr)
            warning = f"warning: '{elf}' is not the program of the recording: "
            equal(warning in done.stderr, told, f"{what} of {elf} is warned of: {done.stderr}")


@suite.test("coverage: DWARF 5, split DWARF, a program without line table")
def _():
    run = Run("m4", "-O2", count=20000)
    plain = tracefile(run.export("coverage"))
    for options in (["-gdwarf-5"], ["-gdwarf-5", "-gsplit-dwarf", "-ffunction-sections"],
                    ["-ffunction-sections", "-Wl,--gc-sections", UNUSED]):
        run.elf = build("m4", "-O2", *options)
        other = tracefile(run.export("coverage"))
        equal({f: r["DA"] for f, r in other.items()}, {f: r["DA"] for f, r in plain.items()},
              f"lines with {options}")
        equal({f: r["FN"] for f, r in other.items()}, {f: r["FN"] for f, r in plain.items()},
              f"functions with {options}")
    objects = run.export("coverage", "--objects")
    command("arm-none-eabi-objcopy", "-g", run.elf)
    equal(run.export("coverage", "--objects"), objects, "object code without debug information")
    run.export("coverage", code=4)


suite.run()
