#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ETMv4 decode against OpenCSD's packet lister: the same packets at the same places, and the same
instructions with the same conditions. With BTRACED_FULL=1 the whole of the long capture.

OpenCSD goes on where trace contradicts the code: an A64 branch
without condition that was not taken, an address packet where the code leads elsewhere. Here that is
a gap, up to the next address packet. The memory dump of the juno captures is not wholly the kernel that ran: the same
instructions, and only some, contradict each time that they are passed.
Such places are counted, and each is shown to be one.
"""

import os
import re
import tempfile
from pathlib import Path

import oracle
import ptm_opencsd

SOME = 128 * 1024  # bytes of a long capture that are enough for the quick tests

# (folder, our name of the source, its trace ID, bytes of trace, instructions, contradictions: the
# atoms and the addresses that cannot be)
SOURCES = [
    ("cc1-etmv4", "etm_1", 0x12, SOME, 930254, (0, 0)),
    ("juno-etmv4", "ETM_0", 0x10, None, 26445, (517, 665)),
    ("juno-etmv4", "ETM_1", 0x11, None, 210, (2, 5)),
    ("juno-etmv4", "ETM_3", 0x13, None, 327, (2, 6)),
    ("juno-etmv4", "ETM_5", 0x15, None, 843, (23, 41)),
]
WHOLE = [("cc1-etmv4", "etm_1", 0x12, None, 7581461, (0, 0))]

KINDS = {"ASYNC": "a-sync", "TRACE_INFO": "trace-info", "TRACE_ON": "trace-on", "EXCEPT": "exception",
         "EXCEPT_RTN": "exception-return", "TIMESTAMP": "timestamp", "CTXT": "context",
         "EVENT": "event", "NOT_SYNC": "unsynced", "INCOMPLETE_EOT": "incomplete"}
RANGE = re.compile(r"exec range=0x([0-9a-f]+):\[0x([0-9a-f]+)\] num_i\((\d+)\) last_sz\((\d)\) "
                   r"\(ISA=(\w+)\) ([EN]) (.*)\)")
UNCONDITIONAL = re.compile(r"^(?!.*<cond>)(BR|iBR)")


def kind_of(name):
    for begin, kind in (("ATOM", "atom"), ("ADDR", "address"), ("CCNT", "cycle-count")):
        if name.startswith(begin):
            return kind
    return KINDS.get(name, name)


def their_lists(text):
    """([(hex bytes, kind, address or atoms)], [(first, last, count, condition, branch)])"""
    packets, ranges = [], []
    for line in text.splitlines():
        m = re.match(r"Idx:(\d+); ID:\w+; \[([^\]]*)\];\tI_(\w+) : (.*)", line)
        if m:
            kind = kind_of(m.group(3))
            address = re.search(r"Addr=0x([0-9A-Fa-f]+)", m.group(4))
            atoms = re.search(r"; ([EN]+)$", m.group(4))
            more = int(address.group(1), 16) if address and kind == "address" else \
                atoms.group(1) if atoms and kind == "atom" else None
            packets.append((m.group(2).replace("0x", "").split(), kind, more))
            continue
        if "_INSTR_RANGE(" in line:
            first, end, count, size, _, condition, branch = RANGE.search(line).groups()
            ranges.append((int(first, 16), int(end, 16) - int(size), int(count), condition, branch))
    return packets, ranges


def our_packets(source, folder):
    packets = []
    for _, _, data, kind, detail in oracle.packets(source, folder):
        given = oracle.details(detail)
        more = int(given["address"], 16) if kind == "address" else \
            given["atoms"] if kind == "atom" else None
        packets.append((data.lower().split(), kind, more))
    return packets


def compare_packets(ours, theirs):
    """Skipped bytes come in pieces there, and in one here; long runs of atoms are counted there."""
    ours = [p for p in ours if p[1] not in ("unsynced", "incomplete")]
    theirs = [p for p in theirs if p[1] not in ("unsynced", "incomplete")]
    problems = [f"{len(ours)} packets, OpenCSD has {len(theirs)}"] if len(ours) != len(theirs) else []
    for index, (a, b) in enumerate(zip(ours, theirs)):
        same = a[0] == b[0] and a[1] == b[1] and (a[2] == b[2] or a[1] == "atom" and b[2] is None)
        if not same:
            problems.append(f"packet {index}: {a}, OpenCSD {b}")
    return problems


def our_ranges(source, folder, packets):
    """Blocks as ranges; where trace contradicts the code, the kind of the packet that does."""
    kinds = {row[1]: row[3] for row in oracle.packets(source, folder)} if packets else {}
    cuts = [(int(row[1]) - 1, kinds[row[2]]) for row in oracle.events(source, folder)
            if row[3] == "gap" and "cause=desync" in row[4]]
    done, at, ranges = 0, 0, []
    for row in oracle.blocks(source, folder):
        while at < len(cuts) and cuts[at][0] <= done:
            ranges.append(cuts[at][1])
            at += 1
        ranges.append((int(row[2], 16), int(row[3], 16), int(row[4]), row[6]))
        done += int(row[4])
    return ranges + [kind for _, kind in cuts[at:]]


def same_range(a, b):
    return a[:3] == b[:3] and a[3] in ("", {"E": "pass", "N": "fail"}[b[3]])


def compare_ranges(ours, theirs):
    """Behind a contradiction theirs go on until the next address: they are passed over up to what
    comes next here. An atom that contradicts is an N of theirs for a branch without condition; an
    address that contradicts is not where their latest range led."""
    problems, met, j = [], {"atom": 0, "address": 0}, 0
    for i, a in enumerate(ours):
        if not isinstance(a, str):
            if j == len(theirs) or not same_range(a, theirs[j]):
                problems.append(f"range {j}: {a}, OpenCSD {theirs[j:j + 1]}")
                break
            j += 1
            continue
        met[a] += 1
        before = theirs[j - 1]
        if a == "atom" and not (before[3] == "N" and UNCONDITIONAL.match(before[4])):
            problems.append(f"range {j}: a contradiction that OpenCSD does not have: {before}")
        following = next((r for r in ours[i:] if not isinstance(r, str)), None)
        while following and j < len(theirs) and not same_range(following, theirs[j]):
            j += 1
    return problems, (met["atom"], met["address"])


def check_source(report, path, source, trace_id, insn_count, contradiction_count):
    name = f"{path.name} {source}"
    their_packets, theirs = their_lists(ptm_opencsd.listing(path, trace_id))
    packets = our_packets(source, str(path))
    report.check(f"{name}: packets as in opencsd", compare_packets(packets, their_packets),
                 f"{len(packets)} packets")
    ours = our_ranges(source, str(path), packets)
    problems, contradictions = compare_ranges(ours, theirs)
    total = sum(r[2] for r in ours if not isinstance(r, str))
    if total != insn_count:
        problems.append(f"{total} instructions, expected {insn_count}")
    if contradictions != contradiction_count:
        problems.append(f"{contradictions} contradictions, expected {contradiction_count}")
    report.check(f"{name}: instructions as in opencsd", problems,
                 f"{total} instructions, contradictions of {contradictions[0]} atoms and "
                 f"{contradictions[1]} addresses")


def check_folder(report, folder, source, trace_id, size, *counts):
    path = oracle.capture(folder)
    name = f"{folder} {source} against opencsd"
    if path is None:
        report.skip(name, "capture not found")
        return
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / path.name
        oracle.copy_of(path, copy)
        if size:
            trace = copy / "cstrace.bin"
            trace.write_bytes(trace.read_bytes()[:size])
        check_source(report, copy, source, trace_id, *counts)


def main():
    report = oracle.Report()
    if not oracle.tool("trc_pkt_lister"):
        report.check("etmv4 against opencsd", ["trc_pkt_lister is not installed"])
        report.exit()
    for folder, *rest in WHOLE if os.environ.get("BTRACED_FULL") else SOURCES:
        try:
            check_folder(report, folder, *rest)
        except oracle.Failed as failed:
            report.check(f"{folder} {rest[0]} against opencsd", [str(failed)])
    report.exit()


if __name__ == "__main__":
    main()
