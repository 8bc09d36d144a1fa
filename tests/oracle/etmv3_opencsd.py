#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ETMv3 decode against OpenCSD's packet lister: the same packets, and the same instructions at the
same cycle, with trace on, timestamps, triggers and exception returns between them. Where OpenCSD is
known to be wrong stands in DEFECTS, each with its place; these captures meet none.
"""

import gzip
import re
import struct
import tempfile
from pathlib import Path

import oracle
import ptm_opencsd
from ptm_opencsd import ISAS, REASONS

# (folder, our name of the source, its trace ID, program file, packets, instructions)
SOURCES = [
    ("tc2-etmv3-ptm", "ETM_0", 0x10, None, 8708, 7205),
    ("tc2-etmv3-ptm", "ETM_1", 0x11, None, 8518, 7471),
    ("tc2-etmv3-ptm", "ETM_2", 0x12, None, 2267, 1947),
    ("m3-etmv3-swo", "ETM_0", 0x02, "trace_example.elf.gz", 664, 1200),
]

# Where OpenCSD is known to be wrong, by source: {(list, position): (ours, theirs, why)}. Each entry
# must be met. The defects of its ETMv3 decoder need data trace, LSiP, a timestamp between an atom
# and its cancel, BLX immediate at the end of a P-header, or damage: none is in these captures.
DEFECTS = {}

PACKETS = {
    "A_SYNC": "a-sync",
    "I_SYNC": "i-sync",
    "I_SYNC_CYCLE": "i-sync",
    "P_HDR": "atom",
    "BRANCH_ADDRESS": "branch",
    "TRIGGER": "trigger",
    "TIMESTAMP": "timestamp",
    "EXCEPTION_EXIT": "exception-return",
    "NOTSYNC": "unsynced",
    "INCOMPLETE_EOT": "incomplete",
}
number = ptm_opencsd.number


# OpenCSD's listing.


def their_fields(kind, text):
    """The parts of a packet that both sides print, in one form."""
    fields = {}
    if kind == "atom":
        fields["atoms"] = re.search(r"P-header\.; ([EWN]+)", text).group(1)
    if kind in ("i-sync", "branch"):
        fields["address"] = number(r"Addr=0x([0-9A-Fa-f]+)", text)
        isa = re.search(r"ISA=([^;]*);", text)
        security = re.search(r" (S|NS|N);", text)
        fields["isa"] = ISAS[isa.group(1)] if isa else None
        fields["sec"] = {"S": "S", "N": "NS", "NS": "NS"}[security.group(1)] if security else None
    if kind == "i-sync":
        fields["reason"] = REASONS[re.search(r"\(([^)]*)\);", text).group(1)]
        fields["cycles"] = number(r"Cycles=(\d+)", text, int)
    if kind == "branch" and "Excep" in text:
        raise oracle.Failed(f"exception without a rule: {text}")
    if kind == "timestamp":
        fields["raw"] = number(r"TS=0x([0-9A-Fa-f]+)", text)
    return {name: value for name, value in fields.items() if value is not None}


def their_element(name, text):
    """One generic element without its cycles, or None for those without a counterpart."""
    if name == "INSTR_RANGE":
        m = re.search(r"exec range=0x([0-9a-f]+):\[0x([0-9a-f]+)\] num_i\((\d+)\) last_sz\((\d)\) "
                      r"\(ISA=(\w+)\) ([EN]) ", text)
        first, end, count, size, isa, atom = m.groups()
        return ("range", int(first, 16), int(end, 16) - int(size), int(count), ISAS[isa],
                {"E": "pass", "N": "fail"}[atom])
    if name == "TRACE_ON":
        why = re.search(r"\[([a-z -]+)\]", text).group(1)
        return ("trace-on", {"begin or filter": "0/1", "overflow": "2", "debug restart": "3"}[why])
    if name == "EXCEPTION_RET":
        return ("exception-return",)
    if name == "TIMESTAMP":
        return ("timestamp", number(r"TS=0x([0-9a-f]+)", text))
    if name == "EVENT" and "Trigger" in text:
        return ("trigger",)
    if name in ("NO_SYNC", "EO_TRACE", "PE_CONTEXT", "CYCLE_COUNT"):
        return None
    raise oracle.Failed(f"element without a rule: {name}{text}")


def their_lists(text):
    """([(index, hex bytes, kind, fields)], [element]); a range carries the cycle it ended at."""
    packets, elements, cycle, context = [], [], 0, None
    for line in text.splitlines():
        m = re.match(r"Idx:(\d+); ID:\w+; \[([^\]]*)\];\t(\w+) : (.*)", line)
        if m:
            kind = PACKETS.get(m.group(3), m.group(3))
            raw = m.group(2).replace("0x", "").strip().lower()
            packets.append((int(m.group(1)), raw, kind, their_fields(kind, m.group(4))))
            continue
        m = re.match(r"Idx:\d+; ID:\w+; OCSD_GEN_TRC_ELEM_(\w+?)(\(.*)", line)
        if not m and line.startswith("Idx:"):
            raise oracle.Failed(f"line of the listing without a rule: {line}")
        if not m:
            continue
        cycle += number(r"\[CC=(\d+)\]", m.group(2), int) or 0
        if m.group(1) == "PE_CONTEXT":
            context = re.search(r"\) (S|N); ", m.group(2)).group(1).replace("N", "NS")
        element = their_element(m.group(1), m.group(2))
        if element:
            elements.append(element + (cycle, context) if element[0] == "range" else element)
    return packets, elements


# Our listing.


def our_event(kind, given):
    if kind == "trace-on":
        return ("trace-on", "0/1" if given["reason"] in "01" else given["reason"])
    if kind == "timestamp":
        return ("timestamp", int(given["value"], 16))
    if kind in ("exception-return", "trigger"):
        return (kind,)
    raise oracle.Failed(f"event without a rule: {kind} {given}")


def our_elements(source, folder):
    """Blocks and events in the order of their positions; a block carries the cycle it ended at."""
    items = [(int(row[1]), 0, row) for row in oracle.events(source, folder)]
    items += [(int(row[1]), 1, row) for row in oracle.blocks(source, folder)]
    items.sort(key=lambda item: item[:2])  # stable: events of one position keep their order
    elements, cycle, state = [], 0, None
    for _, is_block, row in items:
        if is_block:
            _, _, first, last, count, isa, condition, cycles = row
            cycle += int(cycles or 0)
            elements.append(("range", int(first, 16), int(last, 16), int(count), isa, condition,
                             cycle, state))
            continue
        given = oracle.details(row[4])
        if row[3] in ("state", "trace-on"):
            state = given["sec"]
        cycle += int(given.get("cycles", 0))
        if row[3] != "state":
            elements.append(our_event(row[3], given))
    return elements


def from_start(elements):
    """Cycles count from the first trace-on: what OpenCSD counts before it means nothing."""
    begin, out = None, []
    for element in elements:
        if element[0] == "range":
            if begin is None:
                begin = element[6]
            element = element[:6] + (element[6] - begin,) + element[7:]
        out.append(element)
    return out


def joined(elements):
    """One range from one event or end of a sequence to the next, for traces without cycles: the two
    decoders cut at different places (packets there, conditions and branches here)."""
    if any(element[0] == "range" and element[6] for element in elements):
        return elements
    out = []
    for element in elements:
        before = out[-1] if out else None
        if element[0] == "range" and before and before[0] == "range" and before[5] == "pass" \
                and before[2] < element[1] <= before[2] + 4 and before[4] == element[4]:
            out[-1] = ("range", before[1], element[2], before[3] + element[3], *element[4:])
        else:
            out.append(element)
    return out


# Comparison.


def write_dumps(folder, program):
    """[dump] sections for the program's segments: OpenCSD reads no ELF files."""
    data = gzip.open(folder / program).read()
    (folder / "program.elf").write_bytes(data)
    offset, = struct.unpack_from("<I", data, 28)
    size, count = struct.unpack_from("<HH", data, 42)
    with (folder / "cpu_0.ini").open("a") as file:
        for i in range(count):
            header = struct.unpack_from("<8I", data, offset + i * size)
            kind, at, address, length = header[0], header[1], header[2], header[4]
            if kind == 1 and length:
                (folder / f"segment{i}.bin").write_bytes(data[at:at + length])
                file.write(f"\n[dump{i}]\nfile=segment{i}.bin\naddress={address:#010x}\n"
                           f"length={length:#x}\n")


def check_source(report, path, source, trace_id, packet_count, insn_count):
    name = f"{path.name} {source}"
    defects = DEFECTS.get((path.name, source), {})
    their_packets, their_elements = their_lists(ptm_opencsd.listing(path, trace_id))
    packets = ptm_opencsd.our_packets(source, str(path))
    problems = ptm_opencsd.offsets_add_up(packets)
    if len(packets) != packet_count:
        problems.append(f"{len(packets)} packets, expected {packet_count}")
    report.check(f"{name}: packets follow each other without a hole", problems)
    problems = ptm_opencsd.compare(
        "packet", ptm_opencsd.join_unsynced(packets), ptm_opencsd.join_unsynced(their_packets),
        lambda a, b: ptm_opencsd.packet_differs(a, b, False), defects)
    report.check(f"{name}: packets as in opencsd", problems, f"{len(packets)} packets")
    ours = joined(from_start(our_elements(source, str(path))))
    theirs = joined(from_start(their_elements))
    problems = ptm_opencsd.compare("element", ours, theirs, lambda a, b: a != b, defects)
    total = sum(e[3] for e in ours if e[0] == "range")
    if total != insn_count:
        problems.append(f"{total} instructions, expected {insn_count}")
    count = {kind: sum(1 for e in ours if e[0] == kind) for kind in {e[0] for e in ours}}
    kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(count.items()))
    report.check(f"{name}: instructions and events as in opencsd", problems,
                 f"{total} instructions, {kinds}")


def check_folder(report, path, source, trace_id, program, *counts):
    if program is None:
        check_source(report, path, source, trace_id, *counts)
        return
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / path.name
        oracle.copy_of(path, copy)
        write_dumps(copy, program)
        check_source(report, copy, source, trace_id, *counts)


def main():
    report = oracle.Report()
    for folder, source, *rest in SOURCES:
        path = oracle.capture(folder)
        name = f"{folder} {source} against opencsd"
        if path is None:
            report.skip(name, "capture not found")
        elif not oracle.tool("trc_pkt_lister"):
            report.check(name, ["trc_pkt_lister is not installed"])
        else:
            try:
                check_folder(report, path, source, *rest)
            except oracle.Failed as failed:
                report.check(name, [str(failed)])
    report.exit()


if __name__ == "__main__":
    main()
