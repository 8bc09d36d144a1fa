#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/history/btrace_blocks.c, server/replay/replay.c and
# server/replay/replay_client.c.
"""The wire-level requirements of a server for GDB's branch trace, point by point, as far as a
recording can meet them. The numbers are those of the checklist in the description of GDB's
behaviour that the server is built after; the last test proves that none of them is forgotten."""

import re
import struct
import xml.etree.ElementTree

from checklist_recordings import (ELF, HOLE, ISAS, RUN, conf, cores, demo, hole, make_pc, ran,
                                  serve, servers, session)
from replay_gdb import (BTRACED, DEMO, DEMO_BASE, DEMO_PC, GAP, Client, Mi, Server, Suite, capture,
                        copy_recording, demo_code, equal, expect, frame, gdb, has, history,
                        lacks, record_counts, run, same_list, t32_size, value)

suite = Suite()

# Points without a test here, and why.
ELSEWHERE = {
    34: "A-profile code without symbols: test_a15.py, --odd-thumb",
}
NOT_FOR_A_RECORDING = {
    17: "nothing runs, so no delta spans several stops",
    18: "nothing runs, so nothing comes back to the same PC",
    19: "PC, memory and target are read-only; a delta that cannot be joined is always refused (16)",
    41: "server-side reverse execution is not announced for recordings (40)",
    42: "as 41",
    43: "as 41",
    44: "as 41",
    46: "as 41; registers of the halt are in test_demo.py",
    47: "as 41",
    48: "as 41",
    50: "as 41",
    51: "as 41",
    52: "as 41; the server does no reverse execution there",
    53: "as 41",
}
tested = set()


def point(numbers, name):
    tested.update(numbers)
    digits = "".join(f" {n}" for n in numbers)
    return suite.test(f"checklist{digits}: {name}")


# Start and configuration.

@point([1, 40], "qSupported holds exactly the tokens of this server")
def _():
    with Client(demo().port) as client:
        features = client.start()
    size = [f for f in features if f.startswith("PacketSize=")]
    equal(len(size), 1, "PacketSize tokens")
    expect(int(size[0][11:], 16) >= 0x400, size[0])
    # No Intel PT, no non-stop.
    equal(sorted(f for f in features if f not in size),
          sorted(["QStartNoAckMode+", "vContSupported+", "qXfer:features:read+",
                  "qXfer:threads:read+", "swbreak+", "hwbreak+", "Qbtrace:bts+", "Qbtrace:off+",
                  "Qbtrace-conf:bts:size+", "qXfer:btrace:read+", "qXfer:btrace-conf:read+",
                  "ReverseStep+", "ReverseContinue+", "binary-upload+"]),
          "tokens")
    commands = [f"show remote {name}-packet" for name in
                ("enable-btrace-bts", "disable-btrace", "read-btrace", "read-btrace-conf",
                 "btrace-conf-bts-size", "reverse-step", "reverse-continue", "enable-btrace-pt")]
    s = session(demo(), *commands)
    for command in commands[:7]:
        has(s[command], "currently enabled")
    for command in commands[7:]:
        has(s[command], "currently disabled")


@point([2], "a core that does not record has a configuration without children")
def _():
    with Client(cores().port) as client:
        client.start()
        equal(client.ask("Hg3"), "OK", "Hg3")
        equal(conf(client), None, "size of a core without trace")
        equal(client.ask("Hg1"), "OK", "Hg1")
        expect(conf(client), "cpu_0 does not record")
        equal(client.ask("Qbtrace:off"), "OK", "Qbtrace:off")
        equal(conf(client), None, "size when off")
    s = session(cores(), "thread 3", "info record")
    has(s["info record"], r"^Recorded 0 instructions in 0 functions \(0 gaps\) for thread 3")


@point([3], "a recording records at connect, on every core that has trace")
def _():
    with Client(cores().port) as client:
        client.start()
        sizes = []
        for thread in "123":
            client.ask("Hg" + thread)
            sizes.append(conf(client))
    equal(sizes, [4 << 20, 4 << 20, None], "sizes")
    s = session(demo(), "info record")
    has(s[0], r"^Target is recording using Branch Trace Store\.$")
    equal(record_counts(s["info record"])[0], len(RUN), "instructions")


@point([4], "record btrace and record btrace bts both start")
def _():
    for command in ("record btrace", "record btrace bts", "record bts", "record b"):
        s = session(demo(), command, "record stop", command, "info record")
        has(s.all(command)[0], r"already being recorded")
        equal(s.all(command)[1], "", command)
        has(s["info record"], r"^Recording format: Branch Trace Store\.")
        expect(record_counts(s["info record"])[0] > 0, "no instructions")


def sized(size, *more):
    return session(demo(), "record stop", f"set record btrace bts buffer-size {size}",
                   "record btrace bts", "info record", *more)


@point([5], "the buffer size goes to the server and comes back")
def _():
    has(sized(1048576)["info record"], r"^Buffer size: 1MB\.")
    has(sized(12345)["info record"], r"^Buffer size: 12345\.")
    # 514 blocks of 24 bytes; the newest part of the run.
    with Client(demo().port) as client:
        client.start()
        equal(client.ask("Qbtrace-conf:bts:size=0x3039"), "OK", "size")
        found = client.blocks()
        equal(len(found), 12345 // 24, "blocks")
        part = ran(found, ISAS)
        same_list(part, ([a for a, _ in RUN] + [DEMO_PC])[-len(part):], "newest part")
        for size, real in ((1, 1536), (64 << 20, 64 << 20), (65 << 20, 64 << 20), (0, 64 << 20)):
            equal(client.ask(f"Qbtrace-conf:bts:size={size:#x}"), "OK", f"size {size}")
            equal(conf(client), real, f"real size for {size}")


@point([6], "an unlimited buffer is accepted and clamped")
def _():
    s = sized("unlimited")
    has(s["info record"], r"^Buffer size: 64MB\.")
    equal(record_counts(s["info record"])[0], len(RUN), "instructions")


@point([7], "the size is remembered where GDB does not send it again")
def _():
    s = sized(1048576, "set debug remote 1", "record stop", "record btrace bts", "info record")
    lacks(s.text, r"Qbtrace-conf:bts:size")
    has(s.all("info record")[1], r"^Buffer size: 1MB\.")


@point([8], "recording a core without trace is refused with its name")
def _():
    s = session(cores(), "record stop", "record btrace bts", "info record")
    has(s["record btrace bts"], r"^Could not enable branch tracing for (Thread 3|core 2): "
                                r"the recording has no trace of cpu_1$")
    has(s["info record"], "^No recording is currently active")


@point([9], "Qbtrace:bts twice in a row")
def _():
    with Client(demo().port) as client:
        client.start()
        equal([client.ask("Qbtrace:bts") for _ in range(3)], ["OK"] * 3, "answers")
        equal(ran(client.blocks(), ISAS)[-1], DEMO_PC, "newest instruction")


@point([10], "Qbtrace:off is always OK; GDB stops, detaches and quits without a word")
def _():
    with Client(cores().port) as client:
        client.start()
        for thread in "123":
            client.ask("Hg" + thread)
            equal([client.ask("Qbtrace:off") for _ in range(2)], ["OK"] * 2, f"thread {thread}")
        has(client.ask("Qbtrace:pt"), r"^E\.")
    s = session(cores(), "record stop")
    equal(s["record stop"],
          "Process record is stopped and all execution logs are deleted.\n", "record stop")
    s = session(cores(), "detach")
    has(s["detach"], r"^\[Inferior 1 \(.*\) detached\]$")
    lacks(s["detach"], "ould not")


@point([11], "several cores: enabling acts on the selected thread, a failing one leaves all off")
def _():
    s = session(cores(), "info threads", "info record", "thread 2", "info record", "thread 3",
                "info record", "thread 1", "info record")
    for row in (r"^\* 1 +(Thread 1|core 0) \"cpu_0\"", r"^  2 +(Thread 2|core 1) \"cpu_2\"",
                r"^  3 +(Thread 3|core 2) \"cpu_1\" \(recorded, no trace\)"):
        has(s["info threads"], row)
    equal([record_counts(o)[0] for o in s.all("info record")], [len(RUN), 0, 0, len(RUN)],
          "instructions of the threads")
    with Client(cores().port) as client:
        client.start()
        for thread in "123":
            client.ask("Hg" + thread)
            client.ask("Qbtrace:off")
        client.ask("Hg2")
        equal(client.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
        on = []
        for thread in "123":
            client.ask("Hg" + thread)
            on.append(conf(client) is not None)
        equal(on, [False, True, False], "cores that record")
    s = session(cores(), "set debug remote 1", "record stop", "record btrace bts")
    failed = s["record btrace bts"]
    sent = re.findall(r"Sending packet: \$(Qbtrace:\w+|Hg\w+)#", failed)
    equal(sent.count("Qbtrace:bts"), 3, "starts")
    equal(sent.count("Qbtrace:off"), 2, "stops of what had been started")


@point([12], "kill, detach and a lost socket: the next connection records again")
def _():
    s = session(demo(), "kill")
    has(s["kill"], "killed")
    endings = {
        "k": lambda c: (c.send(frame("k")), c.closed()),
        "vKill": lambda c: (equal(c.ask("vKill;1"), "OK", "vKill"), c.closed()),
        "D": lambda c: equal(c.ask("D"), "OK", "D"),
        "socket": lambda c: c.close(),
        "reset": lambda c: c.close(reset=True),
    }
    for name, end in endings.items():
        with Client(demo().port) as client:
            client.start()
            client.ask("Qbtrace-conf:bts:size=0x1000")
            equal(client.ask("Qbtrace:off"), "OK", "Qbtrace:off")
            end(client)
        with Client(demo().port) as client:
            client.start()
            equal(conf(client), 4 << 20, f"size after {name}")
            equal(len(ran(client.blocks(), ISAS)), len(RUN) + 1, f"instructions after {name}")
    # extended-remote: the server stays connected after a kill.
    with Client(demo().port) as client:
        client.start()
        equal(client.ask("!"), "OK", "!")
        equal(client.ask("vKill;1"), "OK", "vKill")
        has(client.ask("vRun;"), "^T05", "answer to vRun")
        equal(len(ran(client.blocks(), ISAS)), len(RUN) + 1, "instructions after run")


# Fetching.

@point([13], "the first delta after Qbtrace:bts is an error, GDB reads everything without a word")
def _():
    s = sized(1048576)
    equal(record_counts(s["info record"])[0], len(RUN), "instructions")
    lacks(s["info record"], "warning")
    with Client(demo().port) as client:
        client.start()
        client.ask("Qbtrace:off")
        equal(client.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
        has(client.ask("qXfer:btrace:read:delta:0,ffb"), "^E[0-9a-f]{2}$|^E\\.")
        equal(len(ran(client.blocks("new"), ISAS)), len(RUN) + 1, "instructions of new")


@point([14], "the full history by new and by all at any time")
def _():
    s = session(demo(), "info record", f"symbol-file {ELF}", "info record",
                "maint btrace clear", "info record", "reverse-stepi", "record goto end",
                "info record")
    equal([record_counts(o) for o in s.all("info record")],
          [record_counts(s["info record"])] * 4, "counts")
    with Client(demo().port) as client:
        client.start()
        documents = [client.document("btrace:read:new")]
        documents += [client.document("btrace:read:all") for _ in range(2)]
        equal(documents[1:], documents[:1] * 2, "documents")


@point([15], "an unchanged target: new and delta are empty")
def _():
    s = session(demo(), *["info record"] * 3)
    equal(s.all("info record"), [s["info record"]] * 3, "records")
    lacks(s.text, "warning")
    with Client(demo().port) as client:
        client.start()
        expect(client.blocks("all"), "no blocks")
        for annex in ("delta", "new", "delta"):
            equal(client.blocks(annex), [], annex)


@point([16], "no delta begins elsewhere than at 0: it is an error or empty")
def _():
    for server in (demo(), cores(), hole()):
        with Client(server.port) as client:
            client.start()
            has(client.ask("qXfer:btrace:read:delta:0,ffb"), "^E")
            client.blocks("all")
            equal(client.blocks("delta"), [], "delta")
            client.ask("Qbtrace:off")
            client.ask("Qbtrace:bts")
            has(client.ask("qXfer:btrace:read:delta:0,ffb"), "^E")


@point([20], "no warning in a long session")
def _():
    s = session(demo(), *["info record", "reverse-stepi", "record goto begin", "stepi",
                          "record goto end", "record instruction-history",
                          "record function-call-history", "record stop", "record btrace bts"] * 5)
    lacks(s.text, "^warning|Error while trying to read delta trace")


@point([21], "chunks of any length give the same document")
def _():
    with Client(demo().port) as client:
        client.start()
        # GDB's requests for a PacketSize of 100, 400 and 4000, the edges, and odd ones.
        for document in ("btrace:read:all", "btrace-conf:read:", "features:read:target.xml",
                         "threads:read:"):
            whole = client.document(document)
            for length in (0xfb, 0x3fb, 0x1000, 0xffff, 0x18a, 7):
                if length > 100 or len(whole) < 5000:
                    equal(client.document(document, length), whole, f"{document} by {length:#x}")
        size = next(int(f[11:], 16) for f in client.start() if f.startswith("PacketSize="))
        for answer in client.chunks("btrace:read:all", 0x1000):
            expect(len(answer) <= size, f"packet of {len(answer)} bytes")


@point([22], "beyond the end is an empty `l`, offset 0 makes a new document")
def _():
    with Client(demo().port) as client:
        client.start()
        whole = client.document("btrace:read:all")
        for offset in (len(whole), len(whole) + 1, 0x7fffffff, 0xffffffffffffffff):
            equal(client.ask(f"qXfer:btrace:read:all:{offset:x},100"), "l", f"at {offset:#x}")
        equal(client.ask(f"qXfer:btrace:read:all:{len(whole) - 1:x},100"), "l" + whole[-1:],
              "the last byte")
        # A new document: it follows a size that came in between.
        expect(client.ask("qXfer:btrace:read:all:0,100")[0] == "m", "not a long document")
        equal(client.ask("Qbtrace-conf:bts:size=0x1000"), "OK", "size")
        equal(len(client.blocks("all")), 0x1000 // 24, "blocks of the new document")


@point([23], "a document stays as it is between its chunks")
def _():
    between = ["g", "m80010000,40", "qfThreadInfo", "qsThreadInfo", "Hg1", "T1", "qC",
               "Qbtrace-conf:bts:size=0x1000", "Z0,80010020,4", "z0,80010020,4", "nonsense"]
    with Client(demo().port) as client:
        client.start()
        whole = client.document("btrace:read:all")
        parts = []
        offset = 0
        while not parts or parts[-1][0] == "m":
            parts.append(client.ask(f"qXfer:btrace:read:all:{offset:x},ffb"))
            offset += len(parts[-1]) - 1
            client.ask(between[len(parts) % len(between)])
        equal("".join(p[1:] for p in parts), whole, "document")
        # What was never begun, or given up for another one, is not made up.
        for packet in ("qXfer:btrace:read:new:10,10", "qXfer:btrace:read:all:10,10"):
            client.document("features:read:target.xml")
            has(client.ask(packet), "^E")
    with Client(cores().port) as client:
        client.start()
        client.ask("qXfer:btrace:read:all:0,100")
        client.ask("Hg2")
        has(client.ask("qXfer:btrace:read:all:ff,100"), "^E", "chunk of another core")


@point([24], "errors of announced qXfer objects are E.., never empty, never O")
def _():
    wrong = ["btrace:read:some:0,100", "btrace:read::0,100", "btrace:read:all:0,0",
             "btrace:read:all:0", "btrace:read:all:,", "btrace:read:all:x,y", "btrace:read:all",
             "btrace:write:all:0:00", "btrace:", "btrace", "btrace-conf:read:all:0,100",
             "btrace:read:all:0,100x", "btrace:read:all:10000000000000000,100",
             "features:read:none.xml:0,100", "threads:read:x:0,100", "btrace:read:delta:0,100"]
    with Client(demo().port) as client:
        client.start()
        for packet in wrong:
            if ":" in packet:
                has(client.ask("qXfer:" + packet), r"^E[0-9a-f]{2}$|^E\..", f"answer to {packet}")
        equal(client.ask("qXfer:auxv:read::0,100"), "", "an object that was not announced")
    with Client(cores().port) as client:
        client.start()
        client.ask("Hg3")
        for annex in ("all", "new", "delta"):
            has(client.ask(f"qXfer:btrace:read:{annex}:0,100"), "^E")
    s = session(cores(), "thread 3", "record instruction-history", "reverse-stepi", "thread 1",
                "reverse-stepi", "p/x $pc")
    has(s["record instruction-history"], "Target does not support branch tracing|No trace|"
                                         "Failed to read branch trace")
    equal(value(s["p/x $pc"]), RUN[-1][0], "PC of the core that has trace")


# Documents and blocks.

@point([25], "documents are well-formed XML with the attributes that GDB wants")
def _():
    for server in (demo(), cores(), hole()):
        with Client(server.port) as client:
            client.start()
            root = xml.etree.ElementTree.fromstring(client.document("btrace:read:all"))
        equal((root.tag, root.attrib), ("btrace", {"version": "1.0"}), "root")
        for block in root:
            equal((block.tag, sorted(block.attrib)), ("block", ["begin", "end"]), "element")
            for number in block.attrib.values():
                expect(re.fullmatch(r"0x[0-9a-f]{1,16}", number), f"number {number!r}")
    s = session(demo(), "set debug xml 1", "info record")
    lacks(s.text, "rror|gnor|unknown")
    equal(record_counts(s["info record"])[0], len(RUN), "instructions")


@point([26, 27, 28, 32], "newest block first; ends are last instructions; the newest is the halt")
def _():
    with Client(demo().port) as client:
        client.start()
        found = client.blocks("all")
    equal(found[0][1], DEMO_PC, "end of the newest block")
    # expand() fails where an end is no first byte of an instruction. Exceptions are in the run:
    # supervisor calls, and the abort whose instruction never ran.
    same_list(ran(found, ISAS), [a for a, _ in RUN] + [DEMO_PC], "instructions")
    equal({ISAS[e] for _, e in found}, {"A", "T"}, "instruction sets of the blocks")
    # Straight runs are joined as far as one instruction set goes.
    for (newer, _), (begin, end) in zip(found, found[1:]):
        halfword = struct.unpack_from("<H", demo_code(), end - DEMO_BASE)[0]
        after = end + (4 if ISAS[end] == "A" else t32_size(halfword))
        expect(after != newer or ISAS[end] != ISAS[newer],
               f"blocks at {begin:#x} and {newer:#x} are one")
    s = session(demo(), "p/x $pc", "record goto end", "p/x $pc", "reverse-stepi", "stepi",
                "p/x $pc", "info record")
    equal([value(o) for o in s.all("p/x $pc")], [DEMO_PC] * 3, "PCs")
    lacks(s["info record"], "Replay in progress|corrupted")


def segments(found):
    """Runs of addresses between gaps, oldest first."""
    parts = [[]]
    for item in ran(found, ISAS):
        if item == GAP:
            parts.append([])
        else:
            parts[-1].append(item)
    return parts


@point([30], "lost trace is one gap, never two in a row, and the halted PC comes after it")
def _():
    with Client(hole().port) as client:
        client.start()
        found = client.blocks("all")
    gaps = found.count(GAP)
    expect(gaps > 3, f"only {gaps} gaps")
    expect(GAP not in (found[0], found[-1]), "a gap at the end")
    for pair in zip(found, found[1:]):
        expect(pair != (GAP, GAP), "two gaps in a row")
    equal(found[0][1], DEMO_PC, "end of the newest block")
    parts = segments(found)
    truth = [a for a, _ in RUN] + [DEMO_PC]
    # Every part is a piece of the run, in order, and what is missing has to do with the hole.
    at = 0
    for number, part in enumerate(parts):
        start = next((n for n in range(at, len(truth)) if truth[n:n + len(part)] == part), None)
        expect(start is not None, f"part {number} at {part[0]:#x} never ran")
        if number:
            expect(any(HOLE[0] <= a < HOLE[1] for a in truth[at:start]),
                   f"gap before part {number} without a reason")
        else:
            equal(start, 0, "start of the first part")
        at = start + len(part)
    equal(at, len(truth), "end of the last part")
    s = session(hole(), "info record", "reverse-continue", "info record", "continue", "p/x $pc",
                "info record")
    equal(record_counts(s["info record"])[::2], (sum(map(len, parts)) - 1 + gaps, gaps), "counts")
    has(s["info record"], r"^warning: Recorded trace may be corrupted at instruction \d+ "
                          r"\(pc = 0x1\)")
    has(s.all("info record")[1], r"At instruction 1\.")
    equal(value(s["p/x $pc"]), DEMO_PC, "PC at the end")
    lacks(s.all("info record")[2], "Replay in progress")


@point([28, 29], "straight code from the end of the trace to the halt is history")
def _():
    server = serve("next PC", lambda: make_pc(DEMO_PC + 4))
    with Client(server.port) as client:
        client.start()
        found = client.blocks("all")
    isas = {**ISAS, DEMO_PC + 4: "A"}
    same_list(ran(found, isas), [a for a, _ in RUN] + [DEMO_PC, DEMO_PC + 4], "instructions")
    s = session(server, "info record", "reverse-stepi", "p/x $pc")
    equal(record_counts(s["info record"])[::2], (len(RUN) + 1, 0), "counts")
    equal(value(s["p/x $pc"]), DEMO_PC, "PC")


@point([30], "lost trace just before the halt: reverse-stepi crosses the gap, stepi comes back")
def _():
    server = serve("other PC", lambda: make_pc(0x80010100))
    with Client(server.port) as client:
        client.start()
        found = client.blocks("all")
    equal(found[:2], [(0x80010100, 0x80010100), GAP], "newest blocks")
    s = session(server, "reverse-stepi", "p/x $pc", "stepi", "p/x $pc", "info record")
    pcs = [value(o) for o in s.all("p/x $pc")]
    equal(pcs, [RUN[-1][0], 0x80010100], "PCs")
    lacks(s["info record"], "Replay in progress")


@point([31], "no block where there is no code")
def _():
    with Client(hole().port) as client:
        client.start()
        found = client.blocks("all")
    for begin, end in found:
        expect((begin, end) == GAP or end < HOLE[0] or begin >= HOLE[1], f"block at {begin:#x}")
    s = session(hole(), "record instruction-history 1,100000")
    lacks(s[-1], "Cannot access memory")
    rows = [line for line in s[-1].splitlines() if line and not line.startswith("warning:")]
    listed = [r for r in rows if "decode error" not in r]
    same_list([r.address for r in history("\n".join(listed))],
              [a for part in segments(found) for a in part][:-1], "listed instructions")
    equal(len(rows) - len(listed), found.count(GAP), "listed gaps")


@point([33], "an M-profile core is described as one")
def _():
    def make():
        copy = copy_recording(DEMO / "recording")
        text = (copy / "device_0.ini").read_text().replace("Cortex-A15", "Cortex-M4")
        (copy / "device_0.ini").write_text(text)
        return copy
    found = []
    for server in (demo(), serve("M profile", make)):
        with Client(server.port) as client:
            client.start()
            text = client.document("features:read:target.xml")
        root = xml.etree.ElementTree.fromstring(text)
        equal(root.findtext("architecture"), "arm", "architecture")
        found.append([f.get("name") for f in root.findall("feature")])
        registers = [r.get("name") for r in root.iter("reg")]
        equal(registers[:16], [f"r{n}" for n in range(13)] + ["sp", "lr", "pc"], "registers")
        found[-1].append(registers[16])
    equal(found, [["org.gnu.gdb.arm.core", "cpsr"],
                  ["org.gnu.gdb.arm.m-profile", "org.gnu.gdb.arm.vfp", "xpsr"]],
          "features; the second core may have a floating-point unit")
    s = gdb(servers["M profile"].port, ["x/2i 0x80010228"])
    has(s[-1], r"0x80010228:\s.*\n.*0x8001022[ac]:", "T32 code without an ELF file")


@point([35], "100,000 instructions and more in one document")
def _():
    server = serve("a15", lambda: capture("a15-ptm-return-stack"))
    with Client(server.port, acks=False) as client:
        client.start()
        expect(len(client.blocks("all", 0xffb)) > 10000, "a short document")
        equal(client.ask("Qbtrace-conf:bts:size=0xffffffff"), "OK", "size")
        expect(len(client.blocks("all", 0xffb)) > 20000, "a short document")
    # GDB takes it in; how many there are is for test_a15.py to say.
    s = gdb(server.port, ["info record"], before=["set arm fallback-mode arm"])
    expect(record_counts(s["info record"])[0] > 50000, "a short record")


# Threads and stops.

@point([36], "the thread of a stop reply is the general thread then")
def _():
    with Client(cores().port) as client:
        client.start()
        equal(client.ask("Hg3"), "OK", "Hg3")
        equal(conf(client), None, "size of thread 3")
        equal(client.ask("qC"), "QC3", "qC")
        has(client.ask("?"), r"^T05.*thread:1;")
        equal(client.ask("qC"), "QC1", "qC after the stop reply")
        expect(conf(client), "not thread 1's configuration")


@point([37], "Hg0 is the thread of the last stop reply")
def _():
    with Client(cores().port) as client:
        client.start()
        client.ask("Hg3")
        equal(client.ask("Hg0"), "OK", "Hg0")
        equal(client.ask("qC"), "QC1", "qC")
        equal(len(ran(client.blocks(), ISAS)), len(RUN) + 1, "instructions")
        for packet in ("Hg4", "Hgx", "Hg", "H", "Hc4", "T4", "T0x"):
            has(client.ask(packet), "^E", f"answer to {packet}")
        for packet in ("Hg-1", "Hc-1", "Hc0", "Hc2", "T1", "T3"):
            equal(client.ask(packet), "OK", packet)
    s = session(demo(), "set debug remote 1", "info record")
    lacks(s["info record"], r"Sending packet: \$Hg")


@point([38], "all cores are listed from the start; no new thread, no warning")
def _():
    with Client(cores().port) as client:
        client.start()
        equal(client.ask("qfThreadInfo"), "m1,2,3", "qfThreadInfo")
        equal(client.ask("qsThreadInfo"), "l", "qsThreadInfo")
        root = xml.etree.ElementTree.fromstring(client.document("threads:read:"))
        equal([(t.get("id"), t.get("name")) for t in root],
              [("1", "cpu_0"), ("2", "cpu_2"), ("3", "cpu_1")], "threads")
    s = session(cores(), *[c for n in "3213" for c in (f"thread {n}", "info threads")])
    lacks(s.text, "warning|New Thread|does not support")


@point([11, 38], "cores of a real capture with five of them")
def _():
    path = capture("tc2-etmv3-ptm")
    with Server(path, "--odd-thumb") as server:
        s = gdb(server.port, ["info threads"] +
                [c for n in range(1, 6) for c in (f"thread {n}", "info record")])
        rows = re.findall(r"^[* ] (\d) +(?:Thread|core) \d \"(\w+)\" \(recorded, (?:(\d+) instructions|"
                          r"no trace)\)", s["info threads"], re.MULTILINE)
        equal(sorted(name for _, name, _ in rows), [f"cpu_{n}" for n in range(5)], "cores")
        for (_, name, count), output in zip(rows, s.all("info record")):
            instructions, _, gaps = record_counts(output)
            # Whole blocks before the first gap may be all that there is: a gap counts as one.
            equal(instructions, int(count or 0) + gaps, f"instructions of {name}")
        by_name = {name: int(count or 0) for _, name, count in rows}
        expect(by_name["cpu_3"] > 5000 and by_name["cpu_4"] == 0, f"counts {by_name}")
        # The recorded PC is not where the trace ends.
        with Client(server.port) as client:
            client.start()
            for thread, _, count in rows:
                if int(count or 0):
                    client.ask("Hg" + thread)
                    equal(client.blocks()[:2], [(0xc0008000, 0xc0008000), GAP],
                          f"newest blocks of thread {thread}")


@point([39], "m of code is the original, also where breakpoints are set")
def _():
    code = demo_code()
    with Client(demo().port) as client:
        client.start()
        for packet in ("Z0,80010020,4", "Z0,80010020,4", "Z1,80010024,4", "Z0,80010228,2"):
            equal(client.ask(packet), "OK", packet)
        equal(client.ask("m80010000,40"), code[:64].hex(), "code")
        got, at = b"", 0
        while at < len(code):
            got += bytes.fromhex(client.ask(f"m{DEMO_BASE + at:x},{min(999, len(code) - at):x}"))
            at = len(got)
        equal(got, code, "all of the code")
        for packet in ("z0,80010020,4", "z0,80010020,4", "z1,80010024,4", "z0,80010228,2"):
            equal(client.ask(packet), "OK", packet)
        equal(client.ask("Z2,80011000,4"), "", "a watchpoint, which a recording does not have")
        # Short where the dump ends, an error where there is none.
        end = DEMO_BASE + len(code)
        equal(client.ask(f"m{end - 4:x},10"), code[-4:].hex(), "the end of the code")
        for packet in (f"m{end:x},4", "m0,4", "mfffffff0,20", "mffffffffffffffff,2"):
            has(client.ask(packet), "^E[0-9a-f]{2}$", f"answer to {packet}")
    s = session(demo(), "break fault", "reverse-continue", "reverse-continue", "x/4i 0x80010440",
                "record instruction-history /r")
    lacks(s.text, "bkpt|udf|UNDEFINED")


# What a recording refuses.

@point([45, 49], "resumes and writes get a text, never nothing")
def _():
    packets = ["c", "s", "vCont;c", "vCont;s:1;c", "vCont;s:1", "C05", "S05",
               "c80010020", "P0=00000000", "G" + "00" * 68, "M80011000,4:00000000",
               "X80011000,4:abcd", "X80011000,0:"]
    with Client(demo().port) as client:
        client.start()
        before = client.ask("g"), client.ask("m80011000,40")
        for packet in packets:
            answer = client.ask(packet)
            if answer.startswith("O"):  # the reason, then a stop where it stands
                has(bytes.fromhex(answer[1:]).decode(), "^a recording cannot run on")
                equal(client.reply(), "T05replaylog:end;thread:1;", f"answer to {packet}")
            else:
                expect(packet[0] not in "cs" or packet[1:] != "", f"{packet} got {answer}")
                has(answer, r"^E\.\w", f"answer to {packet}")
        equal((client.ask("g"), client.ask("m80011000,40")), before, "state")
    s = session(demo(), "record stop", "reverse-stepi", "stepi", "stepi", "p/x $pc")
    has(s.all("stepi")[1], "a recording cannot run on")
    equal(value(s["p/x $pc"]), DEMO_PC, "PC")


# Front ends.

@point([54], "both ready lines, each on its own, on standard error")
def _():
    port = demo().port
    has(demo().stderr, rf"^Info : Listening on port {port} for gdb connections$")
    has(demo().stderr, rf"^Listening on port {port}$")
    # As front ends look for them.
    has(demo().stderr, r"(?i)Info\s:[^\n]*Listening on port \d+ for gdb connection")
    has(demo().stderr, r"Listening on port ([0-9]+)\r?\n")


@point([55], "target extended-remote, and with and without acknowledgements")
def _():
    for connect in ("target remote", "target extended-remote"):
        for ack in ("on", "off", "auto"):
            s = session(demo(), "info record", "record stop", "record btrace bts", "reverse-stepi",
                        "p/x $pc", "detach", connect=connect,
                        before=[f"set remote noack-packet {ack}"])
            equal(record_counts(s["info record"])[0], len(RUN), f"{connect}, no-ack {ack}")
            equal(value(s["p/x $pc"]), RUN[-1][0], "PC")
    s = session(demo(), "kill", "run", "info record", connect="target extended-remote",
                before=["set remote exec-file any"])
    has(s["kill"], "killed")
    lacks(s["run"], "The program is not being run|rror")


@point([56], "MI: recording starts, reverse execution, notifications")
def _():
    with Mi(ELF) as mi:
        out = mi.command(f"-target-select remote 127.0.0.1:{demo().port}")
        has(out, r'^=record-started,thread-group="i1",method="btrace"')
        has(out, r"^\d+\^connected")
        out = mi.command('-interpreter-exec console "record stop"')
        has(out, r'^=record-stopped,thread-group="i1"')
        out = mi.command('-interpreter-exec console "record btrace bts"')
        has(out, r'^=record-started,thread-group="i1",method="btrace",format="bts"')
        out = mi.command("-list-target-features")
        has(out, r'\^done,features=\[.*"reverse"')
        out = mi.command("-exec-step-instruction --reverse")
        has(out, rf'^\*stopped,reason="end-stepping-range".*addr="{RUN[-1][0]:#010x}"')
        for command in ("-exec-next --reverse", "-exec-step --reverse"):
            has(mi.command(command), r'^\*stopped,reason="end-stepping-range"', command)
        has(mi.command("-break-insert read_arguments"), r"\^done,bkpt=")
        has(mi.command("-exec-continue --reverse"),
            r'^\*stopped,reason="breakpoint-hit".*func="read_arguments"')
        has(mi.command("-exec-continue"), r'^\*stopped,.*func="fault"')
        has(mi.command('-interpreter-exec console "info record"'), "Recorded [0-9]+ instructions")
        has(mi.command('-interpreter-exec console "reverse-stepi"'), r"\^(done|running)")
        has(mi.command('-interpreter-exec console "record stop"'), r"^=record-stopped")
        has(mi.command("-target-detach"), r"\^done")
        has(mi.command("-gdb-exit"), r"\^exit")


@point([], "monitor commands, those that front ends send, and unknown ones")
def _():
    quiet = ["monitor reset", "monitor reset halt", "monitor reset init", "monitor reset run",
             "monitor halt", "monitor gdb_sync"]
    s = session(hole(), "monitor help", "monitor trace status", "monitor trace gaps",
                "monitor version", *quiet, "monitor  trace  status", "monitor nonsense", "monitor")
    has(s["monitor help"], r"^monitor trace status ")
    has(s["monitor trace status"], r"^core +cpu_0, traced by PTM_0 \(ID 0x10\)$")
    has(s["monitor trace status"], r"^gaps +\d+ no-code")
    has(s["monitor trace gaps"], r"^before instruction \d+, trace byte \d+: no-code, address "
                                 rf"0x{HOLE[0]:08x}")
    equal(s["monitor version"].strip(), run([BTRACED, "--version"]).strip(), "version")
    for command in quiet:
        has(s[command], "nothing to do: this is a recording")
    has(s["monitor nonsense"], "^unknown command 'nonsense', try 'monitor help'")


@suite.test("checklist: every point is tested here or has a reason why not")
def _():
    named = [set(tested), set(ELSEWHERE), set(NOT_FOR_A_RECORDING)]
    for first in range(3):
        for second in range(first):
            equal(named[first] & named[second], set(), "points named twice")
    equal(set.union(*named), set(range(1, 57)), "points")


@suite.test("checklist: the servers end well")
def _():
    for server in servers.values():
        server.stop()


suite.run()
