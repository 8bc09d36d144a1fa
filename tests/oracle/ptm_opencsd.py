#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""PTM decode against OpenCSD's packet lister: the same packets, instruction ranges with their
atoms, exceptions, exception returns, contexts, cycle counts and timestamps. Known defects of
OpenCSD that a capture meets stand in DEFECTS, each with its place and the count that is asserted.
"""

import re
import subprocess
import tempfile

import oracle

# (folder, our name of the source, its trace ID, does the file hold the bytes of this source only,
# packets, ranges): PTM_1 was on but left no byte in the capture, so nothing may be read from it.
SOURCES = [
    ("tc2-etmv3-ptm", "PTM_0", 0x13, False, 1790, 1554),
    ("tc2-etmv3-ptm", "PTM_1", 0x14, False, 0, 0),
    ("a15-ptm-return-stack", "PTM_0_2", None, True, 20072, 53192),
]

# Where OpenCSD is known to be wrong, by source: {(list, position): (ours, theirs, why)}. Each entry
# must be met. These captures meet none of the defects.
DEFECTS = {"PTM_0": {}, "PTM_1": {}, "PTM_0_2": {}}

PACKETS = {
    "ASYNC": "a-sync",
    "ISYNC": "i-sync",
    "ATOM": "atom",
    "BRANCH_ADDRESS": "branch",
    "WP_UPDATE": "waypoint-update",
    "TRIGGER": "trigger",
    "CTXTID": "context-id",
    "VMID": "vmid",
    "TIMESTAMP": "timestamp",
    "ERET": "exception-return",
    "IGNORE": "ignore",
    "NOTSYNC": "unsynced",
    "INCOMPLETE_EOT": "incomplete",
}
REASONS = {"Periodic": "0", "Trace Enable": "1", "Restart Overflow": "2", "Debug Exit": "3"}
ISAS = {"ARM(32)": "A32", "Thumb2": "T32", "A32": "A32", "T32": "T32"}


# OpenCSD's listing.


def listing(folder, trace_id):
    command = ["trc_pkt_lister", "-ss_dir", str(folder), "-decode", "-no_time_print", "-logstdout"]
    if trace_id is not None:
        command += ["-id", f"0x{trace_id:02x}"]
    with tempfile.TemporaryDirectory() as scratch:  # it always leaves a log where it runs
        run = subprocess.run(command, capture_output=True, text=True, cwd=scratch)
    if run.returncode != 0:
        raise oracle.Failed(f"trc_pkt_lister: exit status {run.returncode}")
    return run.stdout


def number(pattern, text, convert=lambda digits: int(digits, 16)):
    found = re.search(pattern, text)
    return convert(found.group(1)) if found else None


def their_fields(kind, text):
    """The parts of a packet that both sides print, in one form."""
    fields = {}
    fields["cycles"] = number(r"Cycles=(\d+)", text, int)
    if kind in ("i-sync", "branch", "waypoint-update"):
        fields["address"] = number(r"Addr=0x([0-9A-Fa-f]+)", text)
        isa = re.search(r"ISA=([^;]*);", text)
        fields["isa"] = ISAS[isa.group(1)] if isa else None
        security = re.search(r" (S|NS|N);", text)
        fields["sec"] = {"S": "S", "NS": "NS", "N": "NS"}[security.group(1)] if security else None
    if kind == "i-sync":
        fields["reason"] = REASONS[re.search(r"\(([^)]*)\);", text).group(1)]
    if kind == "branch":
        fields["exception"] = number(r"Excep=[^\[]*\[([0-9A-Fa-f]+)\]", text)
    if kind == "atom":
        fields["atoms"] = re.search(r"packet; ([EN]+);", text).group(1)
    if kind == "timestamp":
        fields["raw"] = number(r"TS=0x([0-9A-Fa-f]+)", text)
    if kind in ("i-sync", "context-id"):
        fields["cid"] = number(r"(?:CtxtID|Ctxt)[:=]\s*0x([0-9A-Fa-f]+)", text)
    return {name: value for name, value in fields.items() if value is not None}


def their_element(name, text):
    """One generic element as a comparable tuple, or None for those without a counterpart."""
    cycles = number(r"\[CC=(\d+)\]", text, int)
    if name == "INSTR_RANGE":
        m = re.search(r"exec range=0x([0-9a-f]+):\[0x([0-9a-f]+)\] num_i\((\d+)\) last_sz\((\d)\) "
                      r"\(ISA=(\w+)\)(?: ([EN]) )?", text)
        first, end, count, size, isa, atom = m.groups()
        return ("range", int(first, 16), int(end, 16) - int(size), int(count), ISAS[isa],
                {"E": "pass", "N": "fail", None: ""}[atom], cycles)
    if name == "TRACE_ON":
        why = re.search(r"\[([a-z -]+)\]", text).group(1)
        return ("trace-on", {"begin or filter": "0/1", "overflow": "2",
                             "debug restart": "3"}[why], cycles)
    if name == "EXCEPTION":
        return ("exception", number(r"excep num \(0x([0-9a-f]+)\)", text),
                number(r"pref ret addr:0x([0-9a-f]+)", text), cycles)
    if name == "EXCEPTION_RET":
        return ("exception-return",)
    if name == "TIMESTAMP":
        return ("timestamp", number(r"TS=0x([0-9a-f]+)", text), cycles)
    if name == "ADDR_NACC":
        return ("no-code", number(r"\( 0x([0-9a-f]+)[ ;]", text))
    if name in ("NO_SYNC", "EO_TRACE"):
        return None
    raise oracle.Failed(f"element without a rule: {name}{text}")


def context_of(text):
    """Security state, context ID and VMID of a PE_CONTEXT element."""
    security = re.search(r"\) (S|N); ", text)
    return (security.group(1).replace("N", "NS") if security else None,
            number(r"CTXTID=0x([0-9a-f]+)", text), number(r"VMID=0x([0-9a-f]+)", text))


def their_lists(text):
    """([(index, hex bytes, kind, fields)], [element]); a range carries the context it ran in."""
    packets, elements, context = [], [], (None, None, None)
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
        if m.group(1) == "PE_CONTEXT":
            context = context_of(m.group(2))
            continue
        element = their_element(m.group(1), m.group(2))
        if element:
            elements.append(element + context if element[0] == "range" else element)
    return packets, elements


# Our listing.


def our_fields(text):
    given = oracle.details(text)
    fields = {}
    for name in ("address", "cid", "vmid", "raw"):
        if name in given:
            fields[name] = int(given[name], 16)
    for name in ("cycles", "exception"):
        if name in given:
            fields[name] = int(given[name])
    for name in ("isa", "sec", "atoms", "reason"):
        if name in given:
            fields[name] = given[name]
    return fields


def our_packets(source, folder):
    """As their packets; bytes outside of packets are only counted."""
    packets = []
    for _, offset, raw, kind, detail in oracle.packets(source, folder):
        if kind == "unsynced":
            packets.append((int(offset), int(oracle.details(detail)["count"]), kind, {}))
        else:
            packets.append((int(offset), raw.lower(), kind, our_fields(detail)))
    return packets


def our_event(kind, given):
    cycles = int(given["cycles"]) if "cycles" in given else None
    if kind == "trace-on":
        reason = given["reason"]
        return ("trace-on", "0/1" if reason in "01" else reason, cycles)
    if kind == "exception":
        return ("exception", int(given["number"]), int(given["return"], 16), cycles)
    if kind == "exception-return":
        return ("exception-return",)
    if kind == "timestamp":
        return ("timestamp", int(given["value"], 16), cycles)
    if kind == "gap" and given["cause"] == "no-code":
        return ("no-code", int(given["address"], 16))
    raise oracle.Failed(f"event without a rule: {kind} {given}")


def our_elements(source, folder):
    """Blocks and events in the order of their positions, with the context in force."""
    context = {"state": None, "context": None, "vmid": None}
    items = [(int(row[1]), 0, row) for row in oracle.events(source, folder)]
    items += [(int(row[1]), 1, row) for row in oracle.blocks(source, folder)]
    items.sort(key=lambda item: item[:2])  # stable: events of one position keep their order
    elements = []
    for _, is_block, row in items:
        if is_block:
            _, _, first, last, count, isa, condition, cycles = row
            elements.append(("range", int(first, 16), int(last, 16), int(count), isa, condition,
                             int(cycles) if cycles else None, context["state"],
                             context["context"], context["vmid"]))
            continue
        kind, given = row[3], oracle.details(row[4])
        if kind in ("state", "trace-on"):
            context["state"] = given["sec"]
        if kind == "state":
            continue
        if kind == "context":
            context["context"] = int(given["cid"], 16)
        elif kind == "vmid":
            context["vmid"] = int(given["vmid"], 16)
        elif not (kind == "gap" and given["cause"] == "no-sync"):
            elements.append(our_event(kind, given))
    return elements


# Comparison.


def size_of(raw):
    return raw if isinstance(raw, int) else len(raw.split())


def join_unsynced(packets):
    """OpenCSD cuts the bytes before the first A-sync at the formatter's frames: count them."""
    joined = []
    for packet in packets:
        if packet[2] != "unsynced":
            joined.append(packet)
        elif joined and joined[-1][2] == "unsynced":
            joined[-1] = (joined[-1][0], joined[-1][1] + size_of(packet[1]), "unsynced", {})
        else:
            joined.append((packet[0], size_of(packet[1]), "unsynced", {}))
    return joined


def packet_differs(ours, theirs, whole_file):
    if ours[1:3] != theirs[1:3] or (whole_file and ours[0] != theirs[0]):
        return True
    # OpenCSD prints instruction set and security state only where the packet gives them
    want = theirs[3]
    have = {name: value for name, value in ours[3].items()
            if name in want or name not in ("isa", "sec")}
    return have != want


def compare(name, ours, theirs, differs, defects):
    """Differences as texts; every entry of `defects` must be met."""
    problems, met = [], set()
    for i in range(max(len(ours), len(theirs))):
        a = ours[i] if i < len(ours) else None
        b = theirs[i] if i < len(theirs) else None
        if a is not None and b is not None and not differs(a, b):
            continue
        if (name, i) in defects and defects[name, i][:2] == (a, b):
            met.add((name, i))
            continue
        problems.append(f"{name} {i}: ours {a}, opencsd {b}")
    for key in set(key for key in defects if key[0] == name) - met:
        problems.append(f"{name} {key[1]}: the defect is not met: {defects[key][2]}")
    return problems


def offsets_add_up(packets):
    position, problems = 0, []
    for offset, raw, kind, _ in packets:
        if offset != position:
            problems.append(f"{kind} at offset {offset}, expected {position}")
        position = offset + size_of(raw)
    return problems


def check_source(report, path, source, trace_id, whole_file, packet_count, range_count):
    name = f"{path.name} {source}"
    their_packets, their_elements = their_lists(listing(path, trace_id))
    defects = DEFECTS[source]
    met = f"{len(defects)} defects of opencsd met"
    packets = our_packets(source, str(path))
    problems = offsets_add_up(packets)
    if len(packets) != packet_count:
        problems.append(f"{len(packets)} packets, expected {packet_count}")
    report.check(f"{name}: packets follow each other without a hole", problems)
    problems = compare("packet", join_unsynced(packets), join_unsynced(their_packets),
                       lambda a, b: packet_differs(a, b, whole_file), defects)
    report.check(f"{name}: packets as in opencsd", problems, f"{len(packets)} packets, {met}")
    elements = our_elements(source, str(path))
    problems = compare("element", elements, their_elements, lambda a, b: a != b, defects)
    count = {kind: sum(1 for e in elements if e[0] == kind) for kind in {e[0] for e in elements}}
    if count.get("range", 0) != range_count:
        problems.append(f"{count.get('range', 0)} ranges, expected {range_count}")
    kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(count.items())) or "nothing"
    report.check(f"{name}: ranges and events as in opencsd", problems, f"{kinds}, {met}")


def main():
    report = oracle.Report()
    for folder, source, *rest in SOURCES:
        path = oracle.capture(folder)
        if path is None:
            report.skip(f"{folder} {source} against opencsd", "capture not found")
        elif not oracle.tool("trc_pkt_lister"):
            report.check(f"{folder} {source} against opencsd", ["trc_pkt_lister is not installed"])
        else:
            try:
                check_source(report, path, source, *rest)
            except oracle.Failed as failed:
                report.check(f"{folder} {source} against opencsd", [str(failed)])
    report.exit()


if __name__ == "__main__":
    main()
