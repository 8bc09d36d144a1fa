#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The virtual board against OpenCSD and against our decoder: what they make of its trace must be
what QEMU executed, instruction for instruction, with each exception in its place."""

import array
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import oracle

sys.path.insert(0, str(oracle.ROOT / "tests" / "board"))
import board  # noqa: E402

ROUNDS = 48
LONG_ROUNDS = 300
AT_LEAST = 300_000
LONG_AT_LEAST = 2_000_000
UNDEFINED = 9  # exception number
AT_EXIT = 16  # instructions
LEAST_OF_CORE = 200_000
TAIL = 100  # instructions that may be behind the last waypoint of a run

# name: (arguments of the plugin, snapshot format, further options of the dump)
SETS = {
    "v1.1, plain": ({"format": "raw"}, "source_data", []),
    "v1.1, return stack of 2, ETB": (
        {"format": "etb", "etb": 1 << 22, "returnstack": 2, "etmcr": board.CR_RETURN_STACK},
        "coresight", []),
    "v1.1, cycles, timestamps, context ID, frames": (
        {"format": "frames", "etmcr": board.CR_CYCLE_ACCURATE | board.CR_TIMESTAMP |
         board.cr_context_id(3)}, "coresight", []),
    "v1.1, branch broadcast, DMB and DSB, port with half syncs": (
        {"format": "tpiu", "halfsync": 7, "etmcr": board.CR_BROADCAST,
         "etmccer": board.A15["etmccer"] | 1 << 24}, "coresight", ["-tpiu_hsync"]),
    "v1.0, return stack, timestamps, short context ID, frequent sync": (
        {"format": "frames", "etmsyncfr": 100, **board.A9, "etmcr": board.CR_RETURN_STACK |
         board.CR_TIMESTAMP | board.cr_context_id(1)}, "coresight", []),
}

report = oracle.Report()


# OpenCSD.


def lister_elements(folder, options, trace_id=None, crashes=False):
    """Its elements; those up to where it ends, if it `crashes`."""
    command = ["trc_pkt_lister", "-ss_dir", str(folder), "-decode_only", "-logstdout",
               "-no_time_print", *options]
    with tempfile.TemporaryDirectory() as scratch:  # it always leaves a log where it runs
        done = subprocess.run(command, capture_output=True, text=True, cwd=scratch)
    if done.returncode != 0 and not crashes:
        raise oracle.Failed(f"trc_pkt_lister: exit status {done.returncode}")
    which = r"\w+" if trace_id is None else f"{trace_id:x}"
    return re.findall(rf"ID:{which}; OCSD_GEN_TRC_ELEM_(\w+?)(\(.*)", done.stdout)


def range_of(program, text):
    """(its instructions, or None where the program has others; address of the last; E, N or None)"""
    m = re.search(r"0x([0-9a-f]+):\[0x([0-9a-f]+)\] num_i\((\d+)\) last_sz\((\d)\) "
                  r"\(ISA=(\w+)\)(?: ([EN]) )?", text)
    last = int(m.group(2), 16) - int(m.group(4))
    block = program.straight(int(m.group(1), 16), last, m.group(5) == "T32")
    return block if block and len(block) == int(m.group(3)) else None, last, m.group(6)


def their_run(program, elements):
    """(executed addresses, [(index, exception, preferred return)], [(index, context ID)],
    {address of a waypoint: its E and N}, problems)"""
    ran, exceptions, contexts, atoms, problems, context = [], [], [], {}, [], None
    ranges = {}  # programs loop: most texts of one come again
    for name, text in elements:
        if name == "INSTR_RANGE":
            if text not in ranges:
                ranges[text] = range_of(program, text)
            block, last, atom = ranges[text]
            if not block:
                problems.append(f"range that is not in the program: {text}")
                continue
            ran += block
            atoms.setdefault(last, []).append(atom)
        elif name == "EXCEPTION":
            number = int(re.search(r"excep num \(0x(\w+)\)", text).group(1), 16)
            address = re.search(r"ret addr:0x(\w+)", text)
            exceptions.append((len(ran), number, address and int(address.group(1), 16)))
        elif name == "PE_CONTEXT":
            m = re.search(r"CTXTID=0x(\w+)", text)
            if m and m.group(1) != context:
                context = m.group(1)
                contexts.append((len(ran), int(context, 16)))
        elif name == "ADDR_NACC" or name == "TRACE_ON" and ran:
            problems.append(f"unexpected element {name}{text}")
    return ran, exceptions, contexts, atoms, problems


# Comparison.


def compare_run(truth, ran, least):
    """The decoded run is the truth, but for a tail without waypoints."""
    n = len(ran)
    if list(truth.ran[:n]) != list(ran):
        at = next(i for i, address in enumerate(ran)
                  if i >= len(truth.ran) or truth.ran[i] != address)
        was = f"{truth.ran[at]:#x}" if at < len(truth.ran) else "nothing"
        return [f"instruction {at} of {len(truth.ran)}: decoded {ran[at]:#x}, ran {was}"]
    if len(truth.ran) < least:
        return [f"only {len(truth.ran)} instructions ran"]
    if n < len(truth.ran) - TAIL:
        return [f"only {n} of {len(truth.ran)} instructions decoded"]
    return []


def forgive(truth, ran, exceptions):
    """
    OpenCSD 1.3.3 takes an instruction back only if nothing else stands between its P-header and
    the branch packet, and only if that one instruction is all that its
    queue holds then.
    Returns the places in `ran` of those that it should have taken back.
    """
    missed = []
    for (index, _, words), theirs in zip(truth.events("exception"), exceptions):
        last = theirs[0] - 1
        if words[-1] == "cancelled" and last - len(missed) == index and \
                ran[last] == int(words[2], 16):
            missed.append(last)
    return missed


def without(missed, ran):
    starts = [0] + [place + 1 for place in missed]
    return [address for start, end in zip(starts, missed + [len(ran)])
            for address in ran[start:end]]


def shifted(missed, entries):
    """The entries, whose first member is a place in the run, after without()."""
    return [(entry[0] - sum(place < entry[0] for place in missed), *entry[1:])
            for entry in entries]


def seen_return(program, number, address):
    """A PTM counts an undefined instruction as executed: a decoder stands behind it."""
    plain = address & ~1
    return plain + program.size_at(plain, address & 1) if number == UNDEFINED else plain


def compare_exceptions(program, truth, exceptions, n):
    expected = [(index, number, seen_return(program, number, address))
                for index, number, address in truth.exceptions() if index <= n]
    for ours, theirs in zip(expected, exceptions):
        if ours != theirs:
            return [f"exception (index, number, return) was {ours}, decoded {theirs}"]
    if len(expected) - len(exceptions) not in (0, 1):
        return [f"{len(expected)} exceptions, {len(exceptions)} decoded"]
    return []


def compare_contexts(truth, contexts, size, rounds=ROUNDS):
    """Each new context ID appears with the waypoint that follows the write."""
    full = [(index, int(words[0], 16)) for index, _, words in truth.events("context-id")]
    if [value for _, value in full] != [i << 8 | 0x5A for i in range(rounds)]:
        return [f"the board saw context IDs {full[:3]}, {len(full)} in all"]
    written = [(index, value & (1 << 8 * size) - 1) for index, value in full]
    if size == 1:
        written = written[:1]  # the program changes the other bytes
    seen = [entry for entry in contexts if entry[1]]
    for (wrote, value), (decoded, other) in zip(written, seen):
        if value != other or not wrote <= decoded <= wrote + 8:
            return [f"context ID {value:#x} after {wrote}, decoded {other:#x} after {decoded}"]
    if len(written) - len(seen) not in (0, 1):
        return [f"{len(written)} context IDs written, {len(seen)} decoded"]
    return []


# Instructions that go to the next one in both cases; what they are in rounds 0, 1, 2 ...
CONDITIONS = {"branch_if_one": "NE", "branch_if_not_one": "EN", "call_if_not_one": "EN",
              "isb_executed": "E", "isb_not_executed": "N", "isb_last": "N"}


def check_conditions(program, atoms):
    problems = []
    for name, pattern in CONDITIONS.items():
        seen = "".join(atom or "-" for atom in atoms.get(program.symbols[name] & ~1, []))
        if seen != (pattern * len(seen))[:len(seen)] or len(seen) < ROUNDS:
            problems.append(f"{name}: atoms {seen[:20]}, expected {pattern} repeated")
    return problems


def counters(printed, truth):
    """The program's own counts of what its handlers saw."""
    numbers = [entry[1] for entry in truth.exceptions()]
    expected = {"services": numbers.count(10), "undefined": numbers.count(9),
                "aborts": numbers.count(11) + numbers.count(12),
                "interrupts": numbers.count(14)}
    return [f"the program counted {name}={value}, the board {expected[name]}"
            for name, value in re.findall(r"(\w+) (\d+)", printed)
            if name in expected and int(value) != expected[name]] + \
        ([] if "interrupts" in printed else [f"the program did not end: {printed[:200]}"])


def title(program, arguments):
    return f"{program.machine.core} {board.source_name(arguments)[:3]}"


# Tests.


def run_board(folder, program, arguments, **options):
    arguments = {"out": f"file:{folder}/out.bin", "truth": f"file:{folder}/truth", **arguments}
    printed = board.run_to_end(program, arguments, **options)
    return printed, Path(f"{folder}/out.bin").read_bytes()


def test_opencsd(folder, program, name):
    arguments, source_format, options = SETS[name]
    printed, trace = run_board(folder, program, arguments)
    truth = board.Truth(f"{folder}/truth")
    board.write_snapshot(f"{folder}/snapshot", program, trace, arguments, source_format)
    ran, exceptions, contexts, atoms, problems = their_run(
        program, lister_elements(f"{folder}/snapshot", options))
    problems += counters(printed, truth) + compare_run(truth, ran, AT_LEAST)
    problems += compare_exceptions(program, truth, exceptions, len(ran))
    problems += check_conditions(program, atoms)
    size = (0, 1, 2, 4)[arguments.get("etmcr", 0) >> 14 & 3]
    if size:
        problems += compare_contexts(truth, contexts, size)
    if truth.events("jump"):
        problems.append(f"steps without a rule: {truth.events('jump')[0]}")
    bits = 8 * len(trace) / max(len(ran), 1)
    report.check(f"board, opencsd: {name}", problems,
                 f"{len(ran)} instructions, {len(exceptions)} exceptions, {bits:.2f} bit each")


def our_run(folder, source, extra=()):
    """Executed addresses and events of `btraced decode`."""
    return oracle.path(source, folder, extra), oracle.events(source, folder, extra)


def our_exceptions(events):
    found = []
    for _, index, _, event, text in events:
        if event == "exception":
            given = oracle.details(text)
            back = given.get("return")
            found.append((int(index) - 1, int(given["number"]), back and int(back, 16)))
    return found


def test_ours(folder, program, name, arguments, source_format):
    printed, trace = run_board(folder, program, arguments)
    truth = board.Truth(f"{folder}/truth")
    board.write_snapshot(f"{folder}/snapshot", program, trace, arguments, source_format)
    ran, events = our_run(f"{folder}/snapshot", board.source_name(arguments))
    problems = counters(printed, truth) + compare_run(truth, ran, LONG_AT_LEAST)
    problems += compare_exceptions(program, truth, our_exceptions(events), len(ran))
    problems += [f"unexpected event {row}" for row in events if row[3] == "gap"]
    report.check(f"board, btraced: {name}", problems, f"{len(ran)} instructions")


def test_cores(folder, program, name, arguments, deterministic):
    """Two cores with interrupts of their own: two sources."""
    arguments = {"format": "frames", **arguments}
    _, trace = run_board(folder, program, arguments, extra=["-smp", "2"],
                         deterministic=deterministic)
    board.write_snapshot(f"{folder}/snapshot", program, trace, arguments, "coresight", cores=2)
    judges, counts = ["btraced"], []
    if oracle.tool("trc_pkt_lister"):
        judges.append("opencsd")
    for judge in judges:
        problems = []
        for core in range(2):
            truth = board.Truth(f"{folder}/truth", core, program.machine.wide)
            if judge == "btraced":
                ran, events = our_run(f"{folder}/snapshot", board.source_name(arguments, core))
                counts.append(f"{len(ran)}")
                problems += [f"core {core}: {row}" for row in events if row[3] == "gap"]
            else:
                elements = lister_elements(f"{folder}/snapshot", [], 0x10 + core)
                ran, exceptions, _, _, wrong = their_run(program, elements)
                problems += wrong
                ran = without(forgive(truth, ran, exceptions), ran)
            if not deterministic:
                # One core ends the machine; the other one's thread may run on for a moment when its
                # truth is closed, and trace still taken.
                ran = ran[:max(len(truth.ran), len(ran) - AT_EXIT)]
            problems += compare_run(truth, ran, LEAST_OF_CORE)
            if deterministic and len(truth.exceptions()) < 100:
                problems.append(f"core {core} took {len(truth.exceptions())} exceptions")
        report.check(f"board, {judge}: two cores, {name}", problems,
                     " and ".join(counts) + " instructions")


def test_repeats(folder, program):
    """The same run twice gives the same bytes."""
    arguments = {"format": "tpiu", "etmcr": board.CR_CYCLE_ACCURATE}
    first = run_board(folder, program, arguments)
    report.check("board: a run repeats byte for byte",
                 [] if run_board(folder, program, arguments) == first else ["bytes differ"])


def segments(events):
    """Numbers of the instructions at which trace starts."""
    return [int(row[1]) - 1 for row in events if row[3] == "trace-on"]


def compare_segments(truth, ran, events):
    """Each piece from a trace-on begins where the board says it did; a piece that Debug state ends
    is whole."""
    begins, enabled, halted = [], False, False
    for entry in truth.log:
        enabled = entry[1] == "on" or enabled and entry[1] != "off"
        halted = entry[1] == "debug-entry" or halted and entry[1] != "debug-exit"
        if enabled and not halted and entry[1] in ("on", "overflow", "debug-exit"):
            begins.append(entry)
    ends = [entry[0] for entry in truth.events("debug-entry")]
    starts = segments(events)
    problems, whole = [], 0
    if len(starts) != len(begins):
        return [f"{len(starts)} pieces of trace, {len(begins)} expected"]
    for i, (index, name, _) in enumerate(begins):
        piece = ran[starts[i]:starts[i + 1] if i + 1 < len(starts) else len(ran)]
        if list(truth.ran[index:index + len(piece)]) != piece:
            problems.append(f"piece {i} ({name} at {index}) is not what ran")
        stop = next((entry for entry in truth.log
                     if entry[0] >= index + len(piece) and
                     entry[1] in ("off", "overflow", "debug-entry")), None)
        if stop and stop[1] == "debug-entry":
            whole += 1
            if index + len(piece) != stop[0]:
                problems.append(f"piece {i} ends at {index + len(piece)}, the core at {stop[0]}")
    if whole < 3 or whole > len(ends):
        problems.append(f"{whole} pieces end in Debug state")
    return problems


def steer(live, log):
    """Stops, starts, and control commands; `log`: of the truth. Problems."""
    problems = []
    for step in ("", "off", "on", "", "overflow", ""):
        live.run_for(5000)
        if step:
            reply = live.ask(step)
            if not reply.startswith("ok "):
                problems.append(f"{step}: {reply}")
            live.flush()
        live.machine("stop")
        before = live.flush()
        if before != len(live.data) or live.flush() != before:
            problems.append("a flush of a stopped machine is not the last byte")
        stop = Path(log).read_text().split("\n")[-2]
        if f"debug-entry {live.pc():#010x}" not in stop:
            problems.append(f"stopped at {live.pc():#x}, but the board says '{stop}'")
    reply = live.ask("status")
    if "anomalies=0" not in reply or "overflows=1" not in reply:
        problems.append(f"status: {reply}")
    if live.ask("hello") != "error unknown command":
        problems.append("an unknown command is not refused")
    return problems


def test_live(folder, program, arguments):
    arguments = {"format": "frames", "truth": f"file:{folder}/truth", **arguments}
    live = board.Live(folder, program, arguments)
    try:
        problems = steer(live, f"{folder}/truth.log")
        trace = bytes(live.data)
    finally:
        live.close()
    truth = board.Truth(f"{folder}/truth")
    board.write_snapshot(f"{folder}/snapshot", program, trace, arguments, "coresight")
    ran, events = our_run(f"{folder}/snapshot", board.source_name(arguments))
    problems += compare_segments(truth, ran, events)
    report.check(f"board: {title(program, arguments)}, stop, flush, off, on, overflow", problems,
                 f"{len(ran)} instructions, {len(segments(events))} pieces")


def find_pieces(truth, ran, events):
    """Problems if the pieces between trace-ons do not stand in the truth, in their order."""
    raw, at, problems = truth.ran.tobytes(), 0, []
    starts = segments(events)
    for start, end in zip(starts, starts[1:] + [len(ran)]):
        piece = array.array("I", ran[start:end]).tobytes()
        found = raw.find(piece, at)
        while found >= 0 and found % 4:
            found = raw.find(piece, found + 1)
        if found < 0:
            problems.append(f"instructions {start} to {end} did not run like that")
        else:
            at = found + len(piece)
    return problems


def test_damage(folder, program, name, arguments, most, pieces):
    """Boards that lose trace: what is left is true, and it is less than `most` instructions."""
    _, trace = run_board(folder, program, arguments)
    truth = board.Truth(f"{folder}/truth")
    board.write_snapshot(f"{folder}/snapshot", program, trace, arguments, "coresight")
    ran, events = our_run(f"{folder}/snapshot", board.source_name(arguments))
    problems = find_pieces(truth, ran, events)
    starts = [row[4].split()[0] for row in events if row[3] == "trace-on"]
    if not 1000 < len(ran) < most or not pieces(starts):
        problems.append(f"{len(ran)} instructions, trace-on {starts[:5]}")
    report.check(f"board: {title(program, arguments)}, {name}", problems,
                 f"{len(ran)} instructions, {len(starts)} pieces")


GDB_SESSION = ["break fibonacci", "continue", "continue", "hbreak skip_undefined",
               "watch services", "rwatch undefined", "delete 1", "continue", "continue",
               "continue", "continue", "stepi 300", "continue", "stepi 50", "delete", "continue"]


def test_debugger(folder, program, arguments, session):
    """Breakpoints, watchpoints and steps of GDB: each stop is Debug state and loses nothing."""
    arguments = {"format": "raw", "out": f"file:{folder}/out.bin", "truth": f"file:{folder}/truth",
                 **arguments}
    gdb = f"{folder}/gdb.sock"
    extra = ["-S", "-chardev", f"socket,path={gdb},server=on,wait=off,id=gdb", "-gdb",
             "chardev:gdb"]
    machine = subprocess.Popen(board.qemu(program, arguments, extra), env=board.ENVIRONMENT,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            if Path(gdb).exists():
                break
            time.sleep(0.02)
        commands = ["set confirm off", "set pagination off", f"target remote {gdb}", *session]
        # Its exit status depends on whether it saw the end of the program or of the connection.
        subprocess.run(["gdb-multiarch", "-q", "-nx", "-batch",
                        *[word for command in commands for word in ("-ex", command)],
                        str(program.elf)], timeout=60, capture_output=True)
        machine.wait(30)
    finally:
        machine.kill()
        machine.wait()
    truth = board.Truth(f"{folder}/truth")
    trace = Path(f"{folder}/out.bin").read_bytes()
    board.write_snapshot(f"{folder}/snapshot", program, trace, arguments, "source_data")
    ran, events = our_run(f"{folder}/snapshot", board.source_name(arguments))
    problems = compare_run(truth, ran, 10_000) + compare_segments(truth, ran, events)
    stops = len(truth.events("debug-entry"))
    if machine.returncode != 0 or not truth.events("end"):
        problems.append(f"the program did not end: exit status {machine.returncode}")
    if stops < 50 or truth.events("jump"):
        problems.append(f"{stops} stops, {len(truth.events('jump'))} steps without a rule")
    report.check(f"board: {title(program, arguments)}, a session of GDB", problems,
                 f"{len(ran)} instructions, {stops} stops")


def run_tests(verdicts, tests):
    """Each test is a function and its arguments."""
    for test, *arguments in tests:
        try:
            test(*arguments)
        except (oracle.Failed, board.BoardError, subprocess.TimeoutExpired, OSError) as error:
            verdicts.check(f"{test.__name__} {arguments[2:3]}", [str(error)])


def main():
    lacking = board.missing()
    if lacking:
        report.skip("board", f"{lacking} is not installed")
        report.exit()
    with tempfile.TemporaryDirectory() as folder:
        program = board.Program(folder, ROUNDS)
        long_program = board.Program(folder, LONG_ROUNDS)
        endless = board.Program(folder, 100_000_000)
        tests = [(test_ours, folder, long_program, "v1.1, plain", {"format": "raw"},
                  "source_data"),
                 (test_ours, folder, long_program, "v1.0, return stack, cycles",
                  {"format": "frames", **board.A9,
                   "etmcr": board.CR_RETURN_STACK | board.CR_CYCLE_ACCURATE}, "coresight"),
                 (test_cores, folder, program, "PTM, one host thread", {}, True),
                 (test_cores, folder, program, "PTM, a host thread each", {}, False),
                 (test_repeats, folder, program),
                 (test_live, folder, endless, {}),
                 (test_damage, folder, program, "an ETB that wrapped keeps the end",
                  {"format": "etb", "etb": 4096}, 20_000, lambda on: on == ["reason=0"]),
                 (test_damage, folder, program, "a port that is too slow makes overflows",
                  {"format": "frames", "drop": "on", "rate": 60_000, "fifo": 1024}, 200_000,
                  lambda on: len(on) > 2 and set(on[1:]) == {"reason=2"})]
        if oracle.tool("trc_pkt_lister"):
            tests = [(test_opencsd, folder, program, name) for name in SETS] + tests
        else:
            report.skip("board, opencsd", "trc_pkt_lister is not installed")
        if oracle.tool("gdb-multiarch"):
            tests.append((test_debugger, folder, board.Program(folder, 4), {}, GDB_SESSION))
        else:
            report.skip("board: a session of GDB", "gdb-multiarch is not installed")
        run_tests(report, tests)
    report.exit()


if __name__ == "__main__":
    main()
