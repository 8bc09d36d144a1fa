#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stock GDB on a capture of a Cortex-A15 with A32 and T32 code, with an ELF file and without one.

What really ran comes from OpenCSD's decode of the whole capture and from ARM DS-5's listing of its
first 10,000 instructions; the two must agree where both reach."""

import gzip
import re
import struct

from replay_gdb import (Server, Suite, capture, equal, expect, expand, folder,
                        functions, gdb, has, history, lacks, record_counts, run, same_list,
                        t32_size, tool, value)

FOLDER = "a15-ptm-return-stack"
PC = 0x80000594  # of device1.ini; the instruction after the last that ran
BASE = 0x80000000
MAX = 100000  # instructions of a document with the default buffer
ALL = ["record stop", "set record btrace bts buffer-size unlimited", "record btrace bts"]
suite = Suite()
cache = {}


def once(function):
    """Keeps a result for the tests that follow."""
    def kept():
        if function not in cache:
            cache[function] = function()
        return cache[function]
    return kept


# The truth.

@once
def code():
    """Bytes from BASE on: the first two dumps are next to each other."""
    path = capture(FOLDER)
    data = (path / "mem_Cortex-A15_0_0_VECTORS.bin").read_bytes()
    equal(len(data), 0x278, "size of the first dump")
    return data + (path / "mem_Cortex-A15_0_1_RO_CODE.bin").read_bytes()


@once
def ranges():
    """(first, last, isa, linked) of all ranges that OpenCSD decodes."""
    listing = folder() / "listing"
    path = capture(FOLDER)
    run([tool("trc_pkt_lister"), "-ss_dir", str(path), "-decode_only", "-logfilename",
         str(listing)])
    found, count = [], 0
    for line in listing.read_text().splitlines():
        if "INSTR_RANGE" not in line:
            continue
        m = has(line, r"exec range=0x([0-9a-f]+):\[0x([0-9a-f]+)\] num_i\((\d+)\) "
                      r"last_sz\((\d)\) \(ISA=([AT])32\)(.*)\)")
        found.append((int(m[1], 16), int(m[2], 16) - int(m[4]), m[5], "b+link" in m[6]))
        count += int(m[3])
    equal(sum(len(expand(a, b, isa, code(), BASE)) for a, b, isa, _ in found), count,
          "instructions in OpenCSD's ranges")
    return found


@once
def truth():
    """[(address, 'A' or 'T')] of all instructions."""
    return [(address, isa) for first, last, isa, _ in ranges()
            for address in expand(first, last, isa, code(), BASE)]


@once
def ds5():
    """[(address, opcode, text)] of DS-5's listing."""
    path = capture(FOLDER) / "ds-5_trace_dump" / "a15_rs.txt.gz"
    rows = re.findall(r"^S:0x([0-9A-F]{8})\t([0-9A-F]{4,8})\t(.*)$",
                      gzip.open(path, "rt").read(), re.MULTILINE)
    expect(len(rows) > 9900, f"DS-5's listing has only {len(rows)} instructions")
    return [(int(address, 16), opcode.lower(), text.strip()) for address, opcode, text in rows]


def opcode(address, isa):
    """As /r shows it: a word, or one or two halfwords."""
    at = address - BASE
    if isa == "A":
        return ["%08x" % struct.unpack_from("<I", code(), at)]
    first = struct.unpack_from("<H", code(), at)[0]
    return ["%04x" % h for h in struct.unpack_from(f"<{t32_size(first) // 2}H", code(), at)]


@once
def starts():
    """Where functions begin: what was called, and the first byte."""
    calls = {b[0] for a, b in zip(ranges(), ranges()[1:]) if a[3] and b[0] != a[1] + 4}
    return sorted(calls | {BASE})


def function_of(address):
    return "f_%08x" % max(start for start in starts() if start <= address)


@once
def elf():
    """The dumps as a program: mapping symbols where code ran, a symbol for each function."""
    isa_at = dict(truth() + [(PC, "A")])
    lines = [".syntax unified", ".arch armv7-a", ".text"]
    at = BASE
    state = None
    while at < BASE + len(code()):
        isa = isa_at.get(at)
        if at in starts():
            lines += [f".type f_{at:08x}, %function", f".global f_{at:08x}"]
        if isa and isa != state:
            lines.append(".arm" if isa == "A" else ".thumb")
            state = isa
        if at in starts():
            lines.append(f"f_{at:08x}:")
        if isa is None:
            lines.append(f".byte {code()[at - BASE]}")
            at += 1
            continue
        words = opcode(at, isa)
        if isa == "A":
            lines.append(f".inst 0x{words[0]}")
        else:
            lines.append(f".inst.{'nw'[len(words) - 1]} 0x{''.join(words)}")
        at += sum(len(word) // 2 for word in words)
    place = folder()
    (place / "a15.s").write_text("\n".join(lines) + "\n")
    run([tool("arm-none-eabi-as"), "-o", str(place / "a15.o"), str(place / "a15.s")])
    run([tool("arm-none-eabi-ld"), "-o", str(place / "a15.elf"), f"-Ttext={BASE:#x}",
         f"--entry={BASE:#x}", str(place / "a15.o")])
    run([tool("arm-none-eabi-objcopy"), "-O", "binary", "-j", ".text", str(place / "a15.elf"),
         str(place / "a15.bin")])
    expect((place / "a15.bin").read_bytes() == code(), "the ELF file is not the dumps")
    return place / "a15.elf"


@once
def server():
    """One for all tests of this file, which also shows that sessions leave nothing behind."""
    started = Server(capture(FOLDER))
    started.__enter__()
    return started


def session(*commands, **options):
    return gdb(server().port, commands, elf=elf(), **options)


def calls(instructions):
    """What `record function-call-history /i` makes of (address, isa)s: runs of one symbol."""
    rows = []
    for number, (address, _) in enumerate(instructions, 1):
        name = function_of(address)
        if rows and rows[-1][1] == name:
            rows[-1] = rows[-1][:3] + (number,)
        else:
            rows.append((len(rows) + 1, name, number, number))
    return rows


# With an ELF file.

@suite.test("a15: OpenCSD and DS-5 agree on what ran")
def _():
    same_list([(a, "".join(opcode(a, isa))) for a, isa in truth()[:len(ds5())]],
              [row[:2] for row in ds5()], "instructions")


@suite.test("a15: both instruction sets, and 32-bit T32 code, are in the history")
def _():
    kinds = {(isa, len(opcode(a, isa))) for a, isa in set(truth())}
    equal(kinds, {("A", 1), ("T", 1), ("T", 2)}, "kinds of instructions")


@suite.test("a15: recording found at attach, newest 100,000 instructions")
def _():
    s = session("info record", "info threads")
    has(s[0], r"^Target is recording using Branch Trace Store\.$")
    has(s["info record"], r"^Active record target: record-btrace\n"
                          r"Recording format: Branch Trace Store\.\nBuffer size: 4MB\.$")
    count, _, gaps = record_counts(s["info record"])
    equal(gaps, 0, "gaps")
    # Whole blocks are left out at the old end, and blocks are short here.
    expect(MAX - 100 < count <= MAX, f"{count} instructions, not {MAX} or just under")
    has(s["info threads"], rf"^\* 1 .*\(recorded, {len(truth())} instructions\)")
    lacks(s.text, "warning: (?!No executable)")


@suite.test("a15: all instructions with an unlimited buffer, bytes and texts as listed")
def _():
    s = session(*ALL, "info record", f"record instruction-history /r 1,{len(truth())}")
    count, _, gaps = record_counts(s["info record"])
    equal((count, gaps), (len(truth()), 0), "instructions and gaps")
    rows = history(s[-1])
    same_list([(r.number, r.address) for r in rows],
              [(n, a) for n, (a, _) in enumerate(truth(), 1)], "instructions")
    same_list([r.raw for r in rows], [opcode(a, isa) for a, isa in truth()], "bytes")
    same_list(["".join(r.raw) for r in rows[:len(ds5())]], [row[1] for row in ds5()],
              "bytes against DS-5's")
    lacks(s.text, "warning:|decode error|UNDEFINED|Cannot access")


@once
def disassembly():
    """{address: text} by objdump."""
    rows = re.findall(r"^([0-9a-f]{8}):\t[0-9a-f ]+\t(.*)$",
                      run([tool("arm-none-eabi-objdump"), "-d", "-M", "reg-names-std",
                           str(elf())]), re.MULTILINE)
    return {int(address, 16): plain(text) for address, text in rows}


def plain(text):
    """One program writes 0x, a symbol, a comment where another does not."""
    return re.sub(r"\s+", " ", re.sub(r"\b0x|<[^>]*>|[;@].*", "", text)).strip()


def mnemonic(text):
    return text.split()[0].lower().removesuffix(".n").removesuffix(".w")


@suite.test("a15: texts as objdump and DS-5 have them")
def _():
    rows = history(session(*ALL, f"record instruction-history 1,{len(ds5())}")[-1])
    same_list([plain(r.text) for r in rows], [disassembly()[r.address] for r in rows], "texts")
    # DS-5 has another spelling for many operands; mnemonics are the same but for these.
    names = {("ldmia", "pop"), ("stmdb", "push"), ("add", "adr")}
    pairs = [(mnemonic(r.text), mnemonic(text)) for r, (_, _, text) in zip(rows, ds5())]
    equal({pair for pair in pairs if pair[0] != pair[1]}, names, "mnemonics that differ")
    # Targets of branches, which DS-5 prints behind a ';'.
    targets = 0
    for row, (_, _, text) in zip(rows, ds5()):
        if m := re.match(r"B.*; 0x([0-9a-f]{8})$", text):
            has(row.text, f"0x{m[1]}\\b", f"text of {row.number}")
            targets += 1
    expect(targets > 1000, f"only {targets} branch targets compared")


@suite.test("a15: function call history")
def _():
    wanted = calls(truth() + [(PC, "A")])
    s = session(*ALL, "info record", "record function-call-history",
                f"record function-call-history /i 1,{len(wanted)}")
    equal(record_counts(s["info record"])[1], len(wanted), "functions")
    same_list(functions(s[-1]), wanted, "functions")
    equal(re.findall(r"^(\d+)\t(\w+)$", s["record function-call-history"], re.MULTILINE),
          [(str(n), name) for n, name, _, _ in wanted[-10:]], "the last ten")
    expect(len({name for _, name, _, _ in wanted}) > 10, "too few functions for a test")


@suite.test("a15: reverse-stepi and stepi go through the last instructions and back")
def _():
    back = [a for a, _ in truth()[:-41:-1]]
    s = session(*["reverse-stepi", "p/x $pc"] * 40, *["stepi", "p/x $pc"] * 40, "info record")
    pcs = [value(o) for o in s.all("p/x $pc")]
    same_list(pcs, back + back[-2::-1] + [PC], "PCs")
    has(s.all("stepi")[-1], "^No more reverse-execution history")
    lacks(s["info record"], "Replay in progress")
    expect(len({isa for _, isa in truth()[-40:]}) == 2, "the walk should cross instruction sets")


@suite.test("a15: record goto begin, end and a number")
def _():
    number = 12345
    s = session(*ALL, "record goto begin", "p/x $pc", "info record", f"record goto {number}",
                "p/x $pc", "info record", "x/i $pc", f"record instruction-history {number},+1",
                f"record goto {len(truth()) + 1}", "p/x $pc", "record goto end", "p/x $pc",
                "info record", "record goto 9999999")
    equal([value(o) for o in s.all("p/x $pc")],
          [truth()[0][0], truth()[number - 1][0], PC, PC], "PCs")
    has(s.all("info record")[0], r"^Replay in progress\.  At instruction 1\.")
    has(s.all("info record")[1], rf"^Replay in progress\.  At instruction {number}\.")
    lacks(s.all("info record")[2], "Replay in progress")
    has(s["x/i $pc"], rf"^=> 0x{truth()[number - 1][0]:x} ")
    has(s[f"record instruction-history {number},+1"], rf"^{number}\t=> ")
    has(s[-1], r"No such instruction")


@suite.test("a15: reverse-continue and continue run to the ends")
def _():
    s = session(*ALL, "reverse-continue", "p/x $pc", "info record", "reverse-stepi", "p/x $pc",
                "continue", "p/x $pc", "info record")
    has(s["reverse-continue"], "^No more reverse-execution history")
    has(s.all("info record")[0], r"At instruction 1\.")
    has(s["reverse-stepi"], "^No more reverse-execution history")
    has(s["continue"], "^No more reverse-execution history")
    equal([value(o) for o in s.all("p/x $pc")], [truth()[0][0], truth()[0][0], PC], "PCs")
    lacks(s.all("info record")[1], "Replay in progress")


def visits(address):
    return [n for n, (a, _) in enumerate(truth(), 1) if a == address]


def hit_both_ways(isa):
    """Breakpoint at a function of one instruction set: the newest two visits, then forward."""
    at = next(s for s in starts() if (s, isa) in set(truth()) and 3 <= len(visits(s)))
    last = visits(at)[-3:]
    s = session(*ALL, f"break *{at:#x}", "reverse-continue", "info record", "reverse-continue",
                "info record", "reverse-continue", "info record", "continue", "info record",
                "continue", "info record", "delete", "continue", "p/x $pc")
    found = [int(has(o, r"At instruction (\d+)\.")[1]) for o in s.all("info record")]
    equal(found, [last[2], last[1], last[0], last[1], last[2]], "instructions stopped at")
    for output in s.all("reverse-continue") + s.all("continue")[:2]:
        has(output, rf"^Breakpoint 1, 0x{at:08x} in {function_of(at)}")
    equal(value(s[-1]), PC, "PC at the end")


@suite.test("a15: a breakpoint in A32 code stops in both directions")
def _():
    hit_both_ways("A")


@suite.test("a15: a breakpoint in T32 code stops in both directions")
def _():
    hit_both_ways("T")


@suite.test("a15: reverse-step and step go from function to function")
def _():
    # Code without lines: GDB steps until the function changes.
    runs = calls(truth() + [(PC, "A")])
    back = [last for _, _, _, last in runs[-2:-12:-1]]
    s = session(*ALL, *["reverse-step", "info record"] * len(back), "reverse-stepi",
                "info record", *["step", "info record"] * 4)
    found = [int(has(o, r"At instruction (\d+)\.")[1]) for o in s.all("info record")]
    start = max(n for n, (_, _, first, _) in enumerate(runs) if first <= back[-1] - 1)
    same_list(found, back + [back[-1] - 1] + [first for _, _, first, _ in runs[start + 1:]][:4],
              "instructions stopped at")


@suite.test("a15: record stop, record again, detach and attach again")
def _():
    s = session("info record", "record stop", "info record", "record stop", "record btrace bts",
                "info record", "detach", "info record")
    has(s["record stop"], r"^Process record is stopped and all execution logs are deleted\.")
    has(s.all("info record")[1], r"^No recording is currently active\.")
    has(s.all("record stop")[1], r"^No recording is currently active\.")
    # GDB asks for its own default now, 64 kB: room for 2730 blocks.
    has(s.all("info record")[2], r"^Buffer size: 64kB\.")
    less, _, gaps = record_counts(s.all("info record")[2])
    expect(2730 <= less < MAX // 2 and gaps == 0, f"{less} instructions, {gaps} gaps in 64 kB")
    has(s["detach"], r"detached\]$")
    has(s.all("info record")[3], r"^No recording is currently active\.")
    again = session("info record", "detach")
    has(again[0], "^Target is recording using Branch Trace Store")
    equal(again["info record"], s["info record"], "record of the next session")


# Without one.

NO_ELF = ["set record btrace replay-memory-access read-write"]


@suite.test("a15: --odd-thumb lists mixed code without an ELF file")
def _():
    with Server(capture(FOLDER), "--odd-thumb") as odd:
        s = gdb(odd.port, [*ALL, "info record", f"record instruction-history 1,{len(truth())}",
                           "record function-call-history /i", "detach"], before=NO_ELF)
    equal(record_counts(s["info record"]), (len(truth()), 1, 0), "counts")
    rows = history(s[f"record instruction-history 1,{len(truth())}"])
    same_list([r.address for r in rows], [a + (isa == "T") for a, isa in truth()], "addresses")
    same_list([plain(r.text) for r in rows], [disassembly()[a] for a, _ in truth()], "texts")
    equal(functions(s["record function-call-history /i"]), [(1, "??", 1, len(truth()) + 1)],
          "functions")
    lacks(s.text, "warning: (?!No executable)|decode error|UNDEFINED")


@suite.test("a15: --odd-thumb moves in both directions without an ELF file")
def _():
    steps = 40
    back = [a + (isa == "T") for a, isa in truth()[:-steps - 1:-1]]
    first = truth()[0][0]
    at = next(a for a, isa in truth()[-200:] if isa == "A")
    with Server(capture(FOLDER), "--odd-thumb") as odd:
        s = gdb(odd.port, [*ALL, *["reverse-stepi", "p/x $pc"] * steps, "record goto begin",
                           "p/x $pc", "record goto end", "p/x $pc", f"break *{at:#x}",
                           "reverse-continue", "info record", "delete", "reverse-continue",
                           "p/x $pc", "continue", "p/x $pc"], before=NO_ELF)
    pcs = [value(o) for o in s.all("p/x $pc")]
    # GDB reads $pc with bit 0 cleared where it can tell; what must be right is the instruction.
    same_list([p & ~1 for p in pcs], [p & ~1 for p in back] + [first, PC, first, PC], "PCs")
    has(s["reverse-continue"], r"^Breakpoint 1, ")
    has(s["info record"], rf"At instruction {visits(at)[-1]}\.")


@suite.test("a15: even addresses without an ELF file do not come out as another history silently")
def _():
    s = gdb(server().port, ["info record"], before=NO_ELF)
    count, _, gaps = record_counts(s["info record"])
    expect(gaps > 0, f"{count} instructions without a gap; the test needs T32 code")
    has(s["info record"], "^warning: Recorded trace may be corrupted at instruction")


@suite.test("a15: the server ends well")
def _():
    server().stop()


suite.run()
