#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Readable tables of what the benchmarks printed, and their bars.

usage: report.py FILE            FILE: lines of KIND<TAB>NAME=VALUE<TAB>...
       report.py --missed FILE   only KIND<TAB>NAME of the rows that miss a bar and can be measured again
Exit code 1 when a bar is missed, unless BENCH_NO_BARS=1.

What else a machine does can only make a rate worse. So a row that misses a bar may be measured again:
of several measurements the one counts in which OpenCSD was fastest, whatever ours was; of the server's
share in GDB's time that in which GDB was; of a history and a document, which have nobody beside them,
the one that took least time."""

import contextlib
import io
import os
import statistics
import sys

# The bars. Rates in MB/s (10^6 bytes) or millions a second of CPU time.
FULL_RATIO = 10      # times OpenCSD
FULL_RATE = 100      # MB/s, where a byte makes at most DENSE blocks
DENSE = 2            # blocks a byte
FULL_BLOCKS = 80     # million blocks/s, where it makes more
PACKETS_RATE = 300
PACKETS_RATIO = 5
# Of the time of `decode --summary`, by what the row's name has: headers are steps where a header is several
# branches, and most of them are not returns by the return stack.
COVERAGE_TIMES = {"ETMv4": 1 / 1.3, "PTM": 1.05, "ETMv3": 1 / 1.3}
PROFILE_TIMES = {"ETMv4": 1.45, "PTM": 1.75, "ETMv3": 1.25}
COUNTS_MEMORY = 1.5  # times the memory of `decode --summary`
PARTS_TIMES = {"coverage": 1.03, "profile": 1.2}  # CPU time of all parts, of that of one run
FORMATTER_RATE = 1000
FORMATTER_RATIO = 2.8  # against OpenCSD
HALT_MS = 10         # server's time for a document with the default buffer
HALT_SHARE = 10      # % of GDB's own time: the two on one CPU; on two the document alone
REQUEST_TIMES = 1.5  # server's time for a small request against a bare read and write
MEMORY_GROWTH = 1.1  # longest recording against one of 10 MB
TIME_GROWTH = 1.1    # per MB, likewise
VISIT_MS = 100       # to a random position of a recording, 99 % of them
PARALLEL = 1.7       # times as soon with two threads
PORT_RATE = 149      # MB/s of a port, with nothing dropped
PARALLEL_OTHERS = 0.1  # cores that other processes may have had, or the bar does not count
NEWEST_MS = 200      # so old may the newest position be
LIVE_RATE = 44       # MB/s, what a High-Speed probe delivers, with nothing dropped
LIVE_GROWTH = 1.1
QUESTION_MS = 1000   # of the server's time, for an answer
ANSWER_MS = 100      # for others, and for Ctrl-C, whatever one client asks
LOOP_MS = 50         # of processor time in one round of the event loop
SIGTERM_MS = 2000
KNOWN_MS = 1000      # until 256 KiB of RAM are known behind a High-Speed probe at 10 MHz
PIECE_MS = 20        # for a client meanwhile, at any clock
REVERSE_MS = {"reverse-stepi": 5, "a slice ahead": 5, "reverse-stepi, TCP": 5, "reverse-next, GDB": 50,
           "bc over": 1000}  # each of them, but over TCP 99 %
FORWARD_RATE = 20    # million instructions/s

# OpenCSD's full decode on the machine of docs/performance.md, in a calm hour, MB/s: how fast another one
# is, or the same one beside unseen neighbours.
OPENCSD = {"PTM, calls, 64 kB": 1.62, "ETMv3, calls, 64 kB": 3.37, "ETMv4 A64, calls, 64 kB": 3.23}


class Bars:
    """Verdicts; a miss keeps the row, the figure and by how much."""

    def __init__(self):
        self.misses = []
        self.rows = []
        self.kind = ""
        self.count = 0

    def miss(self, row, text):
        self.misses.append(f"{row}: {text}")
        self.rows.append((self.kind, row))

    def least(self, row, what, value, bar, unit=""):
        self.count += 1
        if value < bar:
            self.miss(row, f"{what} {value:.3g}{unit}, bar {bar:g}{unit}: {value / bar:.2f} of it")
            return "!"
        return " "

    def most(self, row, what, value, bar, unit=""):
        self.count += 1
        if value > bar:
            times = f": {value / bar:.2f} times that" if bar else ""
            self.miss(row, f"{what} {value:.3g}{unit}, at most {bar:.3g}{unit}{times}")
            return "!"
        return " "


def read(path):
    rows = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            kind, *fields = line.rstrip("\n").split("\t")
            row = {}
            for field in fields:
                name, _, value = field.partition("=")
                try:
                    row[name] = float(value)
                except ValueError:
                    row[name] = value
            rows.setdefault(kind, []).append(row)
    return rows


LONG = tuple(f"long_{what}{unit}" for unit in ("", "_kb")
             for what in ("decode", "coverage", "profile", "coverage_parts", "profile_parts"))

# Of rows of a kind: what tells one from another, which fields were measured together, and how calm that
# was.
AGAIN = {"decode": (("name",), [(("full", "full_wall", "blocks", "insns", "ocsd_full", "ocsd_blocks"),
                                 lambda row: row["ocsd_full"]),
                                (("packets", "packets_wall", "ocsd_packets"),
                                 lambda row: row["ocsd_packets"])]),
         "counts": (("name",), [(("decode", "coverage", "profile"), lambda row: -row["decode"]),
                                (LONG, lambda row: -row.get("long_decode", 0))]),
         "formatter": (("name",), [(("rate", "wall", "ocsd"), lambda row: row["ocsd"])]),
         "history": (("megabytes",), [(("cpu", "wall", "visit_us", "visit_p99_us", "newest_us"),
                                       lambda row: -row["cpu"])]),
         "gdb": (("name", "code", "buffer"), [(("cold_ms", "server_ms", "socket_ms"),
                                               lambda row: -row["server_ms"]),
                                              (("one_gdb_ms", "one_server_ms"),
                                               lambda row: -row["one_gdb_ms"]),
                                              (("two_gdb_ms", "two_server_ms"),
                                               lambda row: -row.get("two_gdb_ms", 0))])}


def calmest(rows):
    """One row for each that was measured several times, where it was the first time; how many were."""
    again = 0
    for kind, (names, groups) in AGAIN.items():
        found = {}
        for row in rows.get(kind, []):
            found.setdefault(tuple(row.get(name) for name in names), []).append(row)
        for same in found.values():
            again += len(same) > 1
            for fields, calm in groups:
                best = max(same, key=calm)
                same[0] |= {field: best[field] for field in fields if field in best}
        if found:
            rows[kind] = [same[0] for same in found.values()]
    return again


def ratio(a, b):
    return a / b if b else 0.0


def decode(rows, bars):
    print("Full decode, bytes to blocks and events; rates per second of CPU time")
    print("                                        code blocks  insns     ours  (wall)        of"
          "        of     OpenCSD")
    print("stream                                    kB  /byte  /byte     MB/s    MB/s  Mblock/s"
          "  Minsn/s     MB/s     ratio")
    for r in rows:
        name = r["name"]
        if r["blocks_per_byte"] <= DENSE:
            rate = bars.least(name, "full decode", r["full"], FULL_RATE, " MB/s")
            blocks = " "
        else:
            rate = " "
            blocks = bars.least(name, "full decode", r["blocks"], FULL_BLOCKS, " Mblock/s")
        times = ratio(r["full"], r["ocsd_full"])
        mark = bars.least(name, "full decode against OpenCSD", times, FULL_RATIO, " x")
        print(f"{name:38.38}{r['code_bytes'] / 1024:6.0f}{r['blocks_per_byte']:7.2f}"
              f"{r['insns_per_byte']:7.2f} {r['full']:8.1f}{rate}{r['full_wall']:7.1f}"
              f" {r['blocks']:9.1f}{blocks}{r['insns']:8.0f} {r['ocsd_full']:8.2f}"
              f" {times:8.1f}x{mark}".rstrip())


def packets(rows, bars):
    print("Packets alone; rates per second of CPU time")
    print("stream                                    ours MB/s   (wall)   OpenCSD MB/s    ratio")
    for r in rows:
        name = r["name"]
        times = ratio(r["packets"], r["ocsd_packets"])
        rate = bars.least(name, "packets alone", r["packets"], PACKETS_RATE, " MB/s")
        mark = bars.least(name, "packets alone against OpenCSD", times, PACKETS_RATIO, " x")
        print(f"{name:38.38} {r['packets']:12.1f}{rate}{r['packets_wall']:8.1f} "
              f"{r['ocsd_packets']:14.1f} {times:7.1f}x{mark}".rstrip())


def formatter(rows, bars):
    print("Formatter alone; OpenCSD without decoders behind it")
    print("frames                                    ours MB/s   (wall)   OpenCSD MB/s    ratio")
    for r in rows:
        times = ratio(r["rate"], r["ocsd"])
        rate = bars.least(r["name"], "formatter", r["rate"], FORMATTER_RATE, " MB/s")
        mark = bars.least(r["name"], "formatter against OpenCSD", times, FORMATTER_RATIO, " x")
        print(f"{r['name']:38.38} {r['rate']:12.1f}{rate}{r['wall']:8.1f} {r['ocsd']:14.1f} "
              f"{times:7.1f}x{mark}".rstrip())


def times_of(bars_of_units, row):
    return next(times for unit, times in bars_of_units.items() if unit in row["name"])


def counted(rows, bars):
    print("Coverage and profile of a recording, CPU seconds against those of `decode --summary`")
    print("program                                 decode  coverage            profile")
    for r in rows:
        line = f"{r['name']:38.38} {r['decode']:7.3f}"
        for what, bar in ("coverage", times_of(COVERAGE_TIMES, r)), ("profile", times_of(PROFILE_TIMES, r)):
            times = ratio(r[what], r["decode"])
            line += f" {r[what]:9.3f} {times:7.2f}x{bars.most(r['name'], what, times, bar, ' x')}"
        print(line.rstrip())
    for r in rows:
        if "long_decode" in r:
            counted_long(r, bars)


def counted_long(r, bars):
    name, base = r["name"], r["long_decode"]
    print(f"The same of {r['long_mb']:.0f} MB, and the CPU seconds of all parts against those of one run: {name}")
    print(f"{'decode':10}{base:9.3f} s {'':10}{r['long_decode_kb'] / 1024:7.1f} MB")
    for what, bar in ("coverage", times_of(COVERAGE_TIMES, r)), ("profile", times_of(PROFILE_TIMES, r)):
        whole, parts = r[f"long_{what}"], r[f"long_{what}_parts"]
        time = bars.most(name, f"{what}, long", ratio(whole, base), bar, " x")
        memory = ratio(r[f"long_{what}_kb"], r["long_decode_kb"])
        more = bars.most(name, f"memory of {what}, long", memory, COUNTS_MEMORY, " x")
        cut = bars.most(name, f"parts of {what}", ratio(parts, whole), PARTS_TIMES[what], " x")
        print(f"{what:10}{whole:9.3f} s {ratio(whole, base):7.2f}x{time} "
              f"{r[f'long_{what}_kb'] / 1024:7.1f} MB {memory:7.2f}x{more}"
              f"  parts {parts:9.3f} s {ratio(parts, whole):7.2f}x{cut}".rstrip())


def history(rows, bars):
    first = rows[0]
    per_byte = first["insns"] / first["megabytes"] / 1e6
    print("History of a recording: PTM with return stack in ETB frames, "
          f"{per_byte:.1f} instructions a byte")
    print("     MB      CPU s  ms/MB   ratio to   kept   own memory  ratio to  peak with   "
          "random position, us   newest")
    print("                            first row     MB   at end, MB   1st row   file, MB   "
          "median     99 %             us")
    for r in rows:
        per = r["cpu"] / r["megabytes"] * 1e3
        base = first["cpu"] / first["megabytes"] * 1e3
        far = bars.most(f"history of {r['megabytes']:.0f} MB", "random position, 99 %",
                        r["visit_p99_us"] / 1e3, VISIT_MS, " ms")
        print(f"{r['megabytes']:7.0f} {r['cpu']:10.3f} {per:6.2f} {ratio(per, base):9.2f}x"
              f" {r['kept_kb'] / 1024:6.2f} {r['owned_kb'] / 1024:12.1f}"
              f" {ratio(r['owned_kb'], first['owned_kb']):8.2f}x {r['peak_kb'] / 1024:10.1f}"
              f" {r['visit_us']:8.0f} {r['visit_p99_us']:8.0f}{far}{r['newest_us']:14.0f}")
    if len(rows) < 2:
        return
    before, last = min(rows, key=lambda r: abs(r["megabytes"] - 10)), rows[-1]
    name = f"history of {last['megabytes']:.0f} MB"
    bars.most(name, f"memory against {before['megabytes']:.0f} MB",
              ratio(last["owned_kb"], before["owned_kb"]), MEMORY_GROWTH, " x")
    bars.most(name, f"time a MB against {before['megabytes']:.0f} MB",
              ratio(last["cpu"] / last["megabytes"], before["cpu"] / before["megabytes"]),
              TIME_GROWTH, " x")


def parallel(rows, bars):
    print("decode -j N: best of several turns, wall time; * no bar: other processes had more than "
          f"{PARALLEL_OTHERS:g} cores")
    print("           MB  threads   1 thread, s   (CPU)     N, s   (CPU)   sooner   cores of others")
    for r in rows:
        times, mark = ratio(r["one_wall"], r["wall"]), "*"
        if r["others"] <= PARALLEL_OTHERS and r["cores"] >= r["jobs"]:
            mark = bars.least(f"decode -j {r['jobs']:.0f}, {r['protocol']}, {r['megabytes']:.0f} MB",
                              "sooner", times, PARALLEL, " x")
        print(f"{r['protocol']:5} {r['megabytes']:7.0f} {r['jobs']:8.0f} {r['one_wall']:13.2f} {r['one_cpu']:7.2f}"
              f" {r['wall']:8.2f} {r['cpu']:7.2f} {times:7.2f}x{mark} {r['others']:16.2f}")


def halt(rows, bars):
    print("A halt: one history document. Server: CPU time, the first one (windows decoded) and the")
    print("median of several; raw client: until the last byte; GDB: CPU time of its own for `info record`")
    print("after `record btrace bts`; in it: the server's CPU time while GDB does that, code reads included;")
    print("share: of GDB's own. The two on one CPU, and on two: * no bar: most of it is to wake the other CPU")
    print(f"{'on one CPU, ms':>101}{'on two CPUs, ms':>25}")
    print("recording         GDB has      buffer   blocks  document  insns in    server ms       raw"
          "      GDB  in it  share       GDB  in it   share")
    print("                                   kB               kB       GDB   first  median  client")
    for r in rows:
        mark = middle = " "
        size = f"{r['buffer'] / 1024:.0f}" if r["buffer"] else "default"
        name = f"{r['name']}, {size}{' kB' if r['buffer'] else ''} buffer, {r['code']}"
        if not r["buffer"]:
            mark = bars.most(name, "server's time for the first document", r["cold_ms"], HALT_MS, " ms")
            middle = bars.most(name, "server's time for a document", r["server_ms"], HALT_MS, " ms")
        share = 100 * ratio(r["one_server_ms"], r["one_gdb_ms"])
        missed = bars.most(name, "server's share of GDB's own time", share, HALT_SHARE, " %")
        line = (f"{r['name']:18.18}{r['code']:12}{size:>7} {r['blocks']:8.0f}"
                f" {r['document'] / 1024:9.0f} {r['insns']:9.0f} {r['cold_ms']:7.1f}{mark}"
                f"{r['server_ms']:7.1f}{middle}{r['socket_ms']:7.1f}"
                f" {r['one_gdb_ms']:8.1f} {r['one_server_ms']:6.1f} {share:5.1f}%{missed}")
        if "two_gdb_ms" in r:
            share = 100 * ratio(r["two_server_ms"], r["two_gdb_ms"])
            mark = "*"
            if r["code"] == "trusted ELF":  # the document alone
                mark = bars.most(f"{name}, two CPUs", "server's share of GDB's own time", share,
                                 HALT_SHARE, " %")
            line += f" {r['two_gdb_ms']:8.1f} {r['two_server_ms']:6.1f} {share:5.1f}%{mark}"
        print(line.rstrip())


def requests(rows, bars):
    print("Requests one at a time over TCP, 0.4 ms of a busy client between them, as with GDB at a halt; the")
    print("last row: a program that reads and writes, and no more")
    print("                                     on one CPU, us         on two CPUs, us")
    print("recording            request          wall   server CPU      wall   server CPU")
    bare = next((r for r in rows if r["what"] == "read, write"), {})
    for r in rows:
        line = f"{r['name']:20.20} {r['what']:12}"
        for place, cpus in ("one", "one CPU"), ("two", "two CPUs"):
            mine, least = r.get(f"{place}_server_us"), bare.get(f"{place}_server_us")
            if mine is None:
                continue
            mark = " "
            if least and r["what"] == "m, 4 bytes":
                mark = bars.most(f"{r['name']}, {cpus}", "server's time for 4 bytes against a bare loop's",
                                 mine / least, REQUEST_TIMES, " x")
            line += f"{r[f'{place}_wall_us']:9.2f} {mine:12.2f}{mark}"
        print(line.rstrip())


def live(rows, bars):
    print("Live server under load; memory at three times: when its buffers are full, later, at the end")
    print("trace from                 seconds      MB/s   dropped MB   gaps   CPU   memory MB")
    for r in rows:
        mark = " "
        if "45 MB/s" in r["name"]:
            mark = bars.most(r["name"], "dropped", r["dropped"], 0, " bytes")
        if r["name"].startswith("socket, 45"):
            bars.least(r["name"], "rate", r["rate"], LIVE_RATE, " MB/s")
        grown = bars.most(r["name"], "memory at the end against the middle",
                          ratio(r["end_kb"], r["middle_kb"]), LIVE_GROWTH, " x")
        print(f"{r['name']:26.26}{r['seconds']:8.1f} {r['rate']:9.2f} {r['dropped'] / 1e6:12.2f}{mark}"
              f"{r['gaps']:6.0f} {r['cpu']:4.0f}%  {r['start_kb'] / 1024:.1f} "
              f"{r['middle_kb'] / 1024:.1f} {r['end_kb'] / 1024:.1f}{grown}".rstrip())


def port(rows, bars):
    print("A port at 150 MB/s into the live server, by the clock: how long ago the newest decoded byte was due, asked 20")
    print("times a second, and the CPU time of the server and of what sends, in % of a core")
    print(f"* no bar: other processes had more than {PARALLEL_OTHERS} cores")
    print("program                    seconds      MB/s   dropped MB   gaps  age ms: most  99 %  median  server  sends  others")
    for r in rows:
        others = r["others"] > PARALLEL_OTHERS
        mark = "*" if others else " "
        if not others:
            mark = bars.least(r["name"], "rate", r["rate"], PORT_RATE, " MB/s")
            mark += bars.most(r["name"], "dropped", r["dropped"], 0, " bytes")
            mark += bars.most(r["name"], "age of the newest position", r["age_ms"], NEWEST_MS, " ms")
        print(f"{r['name']:26.26}{r['seconds']:8.1f} {r['rate']:9.2f} {r['dropped'] / 1e6:12.2f}{r['gaps']:7.0f}"
              f"{r['age_ms']:14.0f}{r['age99_ms']:6.0f}{r['median_ms']:8.0f}{r['cpu']:8.0f}{r['sender']:7.0f}"
              f"{r['others']:8.2f}{mark}".rstrip())


def endpoint(rows, bars):
    print("A modelled trace endpoint on USB, its port at 45 MB/s: MB/s of the port that came through, and")
    print("the CPU time of capture and decoder, or of a loop that only takes it: the model's part is in both")
    print("client                     seconds      MB/s      lost MB    CPU")
    for r in rows:
        mark = " "
        if r["name"].startswith("ORBTrace"):
            mark = bars.most(r["name"], "lost at the endpoint", r["lost"], 0, " bytes")
            bars.least(r["name"], "rate", r["rate"], LIVE_RATE, " MB/s")
        print(f"{r['name']:26.26}{r['seconds']:8.1f} {r['rate']:9.2f} {r['lost'] / 1e6:12.2f}{mark}"
              f" {r['cpu']:5.1f}%")


def step(rows, _):
    print("A step on the virtual board, client in Python, in the midst of a history")
    print("board                                    steps  median ms   99 % ms")
    for r in rows:
        name = r["name"] + (", history read" if r["history"] else "")
        print(f"{name:40.40}{r['count']:6.0f} {r['median']:10.2f} {r['p99']:9.2f}")


def reverse(rows, bars):
    print("Reverse execution, ms of the server's CPU time. Packets alone (best of three walks); a slice:")
    print("what is worked out between two packets; TCP: with system calls and slices; GDB: all it asks")
    print("history                        what                      count    first   median     99 %      max")
    for r in rows:
        limit = next(ms for what, ms in REVERSE_MS.items() if r["what"] == what or " over" in what
                     and r["what"].startswith(what))
        figure = "max" if "max" in r else "p99"
        mark = bars.most(r["name"], r["what"], r[figure], limit, " ms")
        most = f"{r['max']:9.3f}" if "max" in r else "        -"
        print(f"{r['name']:30.30} {r['what']:22.22}{r['count']:9.0f}{r['first']:9.3f}{r['p50']:9.3f}"
              f"{r['p99']:9.3f}{most}{mark}".rstrip())


def forward(rows, bars):
    print("Execution forwards along a known path, millions of instructions a second of CPU time, beside Unicorn's")
    print("translated code; how much of registers and RAM is known at the end, and as Unicorn has it")
    print("program          insns      rate   Unicorn    ratio   known %")
    for r in rows:
        mark = bars.least(str(r["name"]), "forwards", r["rate"], FORWARD_RATE, " M/s")
        mark += bars.least(str(r["name"]), "known at the end", r["known"], 100, " %")
        print(f"{r['name']:12}{r['insns']:10.0f}{r['rate']:10.1f}{r['emulator']:10.1f}"
              f"{ratio(r['rate'], r['emulator']):9.2f}{r['known']:10.1f}{mark}".rstrip())


def question(rows, bars):
    print("One client asks about 300 million instructions: ms of the server's CPU time that it takes, and")
    print("the longest that registers of another client, and the page of metrics, were waited for")
    print("question                     took     other   metrics")
    for r in rows:
        mark = bars.most(r["name"], "an answer's own time", r["took"], QUESTION_MS, " ms")
        mark += bars.most(r["name"], "answer to another client", r["other"], ANSWER_MS, " ms")
        mark += bars.most(r["name"], "metrics", r["metrics"], ANSWER_MS, " ms")
        print(f"{r['name']:26.26}{r['took']:7.0f}{r['other']:10.1f}{r['metrics']:10.1f}{mark}".rstrip())


def questions(rows, bars):
    for r in rows:
        mark = bars.most("questions", "Ctrl-C", r["ctrl_c"], ANSWER_MS, " ms")
        mark += bars.most("questions", "SIGTERM", r["sigterm"], SIGTERM_MS, " ms")
        mark += bars.most("questions", "a round of the event loop", r["work"], LOOP_MS, " ms")
        print(f"meanwhile: Ctrl-C of another search {r['ctrl_c']:.1f} ms at most, SIGTERM {r['sigterm']:.1f} ms; the "
              f"event loop worked {r['work']:.1f} ms at most in a round, and was away {r['away']:.1f} ms{mark}".rstrip())


def snapshot(rows, bars):
    print("RAM of 256 KiB, read in the background of a halt behind a modelled High-Speed CMSIS-DAP probe: ms until")
    print("it is known, and the longest that a client has waited for an answer")
    print("clock                       known      wait")
    for r in rows:
        mark = bars.most(r["name"], "RAM known", r["known"], KNOWN_MS, " ms") if r["name"] == "10 MHz" else " "
        mark += bars.most(r["name"], "an answer", r["wait"], PIECE_MS, " ms")
        print(f"{r['name']:26.26}{r['known']:7.0f}{r['wait']:10.1f}{mark}".rstrip())


TABLES = [("decode", decode), ("decode", packets), ("counts", counted), ("formatter", formatter),
          ("history", history), ("parallel", parallel), ("gdb", halt), ("requests", requests),
          ("live", live), ("port", port), ("endpoint", endpoint), ("step", step), ("reverse", reverse),
          ("execute", forward),
          ("snapshot", snapshot),
          ("question", question), ("questions", questions)]


def tables(rows, bars):
    for kind, table in TABLES:
        if rows.get(kind):
            print()
            bars.kind = kind
            table(rows[kind], bars)


def machine(rows):
    speeds = [row["ocsd_full"] / OPENCSD[row["name"]] for row in rows.get("decode", [])
              if row["name"] in OPENCSD]
    if speeds:
        print(f"OpenCSD reached {statistics.median(speeds):.2f} of its speed on the machine of "
              "docs/performance.md, in a calm hour: bars without an x are for that one")


def missed(rows, bars):
    """What run.sh measures again."""
    with contextlib.redirect_stdout(io.StringIO()):
        tables(rows, bars)
    for kind, row in dict.fromkeys(bars.rows):
        if kind in AGAIN:
            print(kind, row, sep="\t")


def main():
    rows, bars = read(sys.argv[-1]), Bars()
    again = calmest(rows)
    if sys.argv[1] == "--missed":
        missed(rows, bars)
        return
    for about in dict.fromkeys(f"{name} {value}" for line in rows.get("about", [])
                               for name, value in line.items()):
        print(about)
    tables(rows, bars)
    print()
    if again:
        print(f"{again} rows measured again, since they missed a bar: the calmest measurement counts")
    machine(rows)
    for miss in bars.misses:
        print(f"MISS {miss}")
    print(f"{bars.count - len(bars.misses)} of {bars.count} bars reached"
          + ("; ! marks a figure below its bar" if bars.misses else ""))
    if bars.misses and os.environ.get("BENCH_NO_BARS") != "1":
        sys.exit(1)


if __name__ == "__main__":
    main()
