#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/config/serve_args.c, server/base/command_line.c.
# Tests server/cmd/main.c, server/cmd/cmd_decode.c, server/cmd/cmd_replay.c and
# server/export/dump.c.
"""The command line: usage, exit codes, messages, formats of listings, the listening port."""

import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess

from live_gdb import CONFIGS, PROGRAMS, Live, board_file, tail_of
from replay_gdb import (BTRACED, DEMO, DEMO_PC, PATIENCE, ROOT, Client, Server, Suite, capture,
                        copy_recording, demo_run, end_of, environment, equal, expect, folder, gdb,
                        has, history, lacks, same_list, wait_for)

RECORDING = str(DEMO / "recording")
COLUMNS = {
    "packets": ["source", "offset", "bytes", "packet", "detail"],
    "instructions": ["core", "index", "address", "opcode", "size", "isa", "cycles", "condition",
                     "text"],
    "blocks": ["core", "index", "first", "last", "count", "isa", "condition", "cycles"],
    "events": ["core", "index", "offset", "event", "detail"],
    "summary": ["source", "key", "value"],
}
COMMANDS = ("serve", "record", "replay", "connect", "decode")
NUMBERS = {"offset", "index", "size", "cycles", "count", "value"}
suite = Suite()
SEED = int(os.environ.get("BTRACED_SEED", "1"))
print(f"# seed {SEED}: BTRACED_SEED", flush=True)


def btraced(*arguments, stdout=subprocess.PIPE):
    """A run that ends by itself: exit code, standard output, standard error."""
    done = subprocess.run([BTRACED, *arguments], stdin=subprocess.DEVNULL, stdout=stdout,
                          stderr=subprocess.PIPE, text=True, env=environment(), timeout=PATIENCE)
    return done.returncode, done.stdout, done.stderr


def refused(code, pattern, *arguments):
    """Nothing on standard output, one line that names the program and what is wrong."""
    got, out, err = btraced(*arguments)
    line = " ".join(arguments)
    equal(got, code, f"exit code of 'btraced {line}' ({err.strip()[:200]})")
    equal(out, "", f"standard output of 'btraced {line}'")
    has(err, pattern, f"message of 'btraced {line}'")
    last = err.splitlines()[-1]
    expect(last.startswith("btraced") and len(err.splitlines()) < 4, f"message {err!r}")
    return err


def listed(listing, form, *arguments):
    code, out, err = btraced("decode", "--" + listing, "--format", form, *arguments, RECORDING)
    equal((code, err), (0, ""), f"exit code and messages of --{listing}")
    return out.splitlines()


# Usage.

@suite.test("cli: --help and --version")
def _():
    code, out, err = btraced("--help")
    equal((code, err), (0, ""), "exit code and messages")
    for word in (*COMMANDS, "--version"):
        expect(word in out, f"the help does not name {word}")
    equal(btraced("-h")[:2], (0, out), "-h")
    code, out, err = btraced("--version")
    equal((code, err), (0, ""), "exit code and messages")
    has(out, r"\Abtraced \d+\.\d+\.\d+\n\Z")
    for command in COMMANDS:
        code, out, err = btraced(command, "--help")
        equal((code, err), (0, ""), "exit code and messages")
        has(out, rf"\Ausage: btraced {command} ")
        equal(btraced(command, "-h")[:2], (0, out), "-h")


@suite.test("cli: without a command the usage goes to standard error")
def _():
    code, out, err = btraced()
    equal((code, out), (2, ""), "exit code and output")
    equal(err, btraced("--help")[1], "usage")


@suite.test("cli: unknown commands and options, missing and surplus arguments")
def _():
    refused(2, "no command 'bogus'", "bogus")
    refused(2, "no command '--bogus'", "--bogus")
    refused(2, "no command ''", "")
    refused(2, "no command 'bogus'", "help", "bogus")
    for command in ("serve", "decode", "probes"):
        equal(btraced("help", command), btraced(command, "--help"), f"help {command}")
    equal(btraced("help"), btraced("--help"), "help")
    for command in ("serve", "record"):
        refused(2, f"^btraced {command}: unrecognized option '--bogus'", command, "--bogus")
        lacks(refused(2, f"^btraced {command}: option requires an argument -- 'c'", command, "-c"),
              "no such")
        refused(2, f"^btraced {command}: no board file: -c BOARD", command)
        refused(2, f"^btraced {command}: a board file is named with -c", command, "virtual-a9")
    refused(2, "no such option here: '--seconds'", "serve", "-c", "virtual-a9", "--seconds", "1")
    refused(2, "no such option here: '--listen'", "record", "-c", "virtual-a9", "--listen", ":0")
    refused(2, "^btraced replay: unrecognized option '--bogus'", "replay", "--bogus", RECORDING)
    for command in ("replay", "serve"):
        lacks(refused(2, "requires an argument", command, "--listen"), "no such")
        refused(2, "--stdio .* takes no --listen", command, "-c", "virtual-a9", "--stdio",
                "--listen", ":0", *([RECORDING] if command == "replay" else []))
    for command in ("replay", "decode"):
        refused(2, f"^btraced {command}: no recording given", command)
        refused(2, f"^btraced {command}: more than one recording given", command, "a", "b")
        refused(2, "too many --elf", command, *["--elf", "x"] * 100, RECORDING)
    refused(2, "--program is given twice, now with 'b'", "serve", "-c", "virtual-m3", "--program", "a", "--program", "b")
    refused(2, "--jobs is given twice, now with '3'", "decode", "-j", "2", "--jobs", "3", RECORDING)
    equal(btraced("decode", "-j", "2", "-j", "2", RECORDING)[0], 0, "exit code of the same value twice")
    code, out, err = btraced("decode", "--bogus", RECORDING)
    equal((code, out), (2, ""), "exit code and output")
    has(err, "unrecognized option '--bogus'")


@suite.test("cli: values of decode's options")
def _():
    refused(2, "format must be text, tsv or json, not 'xml'", "decode", "--format", "xml",
            RECORDING)
    for wrong in ("0", "0x70", "112", "x", "", "16x", "-1", "99999999999999999999"):
        refused(2, f"trace ID is a number .* not '{wrong}'", "decode", "--id", wrong, RECORDING)
    refused(2, "one listing at a time", "decode", "--format", "tsv", "--packets", "--events",
            RECORDING)
    refused(2, "one listing at a time", "decode", "--format", "json", "--summary", "--blocks",
            RECORDING)


@suite.test("cli: values of the options of serve and record")
def _():
    for wrong in ("0", "", "x", "1x", "-1", "86401", "99999999999999999999"):
        refused(2, "--seconds wants a number from 1 to 86400", "record", "-c", "virtual-a9",
                "--record", "x", "--seconds", wrong)
    refused(2, "no folder: --record FOLDER, or .record. dir in .*virtual-a9.conf", "record", "-c",
            "virtual-a9")
    for wrong in ("", "x", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:65536"):
        refused(2, "--listen wants ADDRESS:PORT", "serve", "-c", "virtual-a9", "--listen", wrong)
    refused(4, "cannot use the program '/nonexistent' of core cpu0", "serve", "-c", "virtual-a9",
            "--program", "/nonexistent")
    refused(4, "cannot use the program .* of core cpu0: it is for AArch64, not for a Cortex-M3", "serve",
            "-c", "virtual-m3", "--program", str(PROGRAMS / "crash-a53.elf"))
    refused(4, "cannot record to '/nonexistent/x': No such file", "record", "-c", "virtual-a9",
            "--record", "/nonexistent/x")


@suite.test("cli: boards by name and by file, checked without being started")
def _():
    for board, cores in (("virtual-a9", "1 core"), ("virtual-a9-smp", "2 cores"),
                         ("virtual-m3", "1 core"), (str(CONFIGS / "virtual-m4.conf"), "1 core")):
        code, out, err = btraced("serve", "-c", board, "--check-config")
        equal((code, err), (0, ""), f"exit code and messages for {board}")
        has(out, rf"^/.*\.conf: good: virtual-\S+, {cores}$")
    for path in sorted(CONFIGS.glob("*.conf")):
        cores = len(re.findall(r"^\[core ", path.read_text(), re.MULTILINE))
        code, out, err = btraced("serve", "-c", str(path), "--check-config")
        equal((code, err), (0, ""), f"exit code and messages for {path.name}")
        has(out, rf": good: \S+, {cores} cores?$")
    refused(2, "virtal-a9: no such board in '.*'; did you mean 'virtual-a9'", "serve", "-c",
            "virtal-a9", "--check-config")
    refused(2, "no-such.conf", "record", "-c", "./no-such.conf", "--record", "x")
    refused(2, r"bogus: no such board in .* There is: .*, cortex-m-etb, .*, virtual-a9, ", "serve",
            "-c", "bogus")


@suite.test("cli: record says where the trace is, and how much")
def _():
    place = folder() / "run"
    code, out, err = btraced("record", "-c", str(board_file("virtual-a9")), "--record", str(place),
                             "--seconds", "1")
    equal((code, out), (0, ""), f"exit code and output ({end_of(err)})")
    has(err, rf"^btraced record: recording to {place}$")
    told = has(err, rf"^btraced record: (\d+) bytes of trace in {place}; replay it with: btraced "
                    rf"replay --elf {PROGRAMS / 'crash-a9.elf'} {place}$")
    size = (place / "buffer_0.bin").stat().st_size
    expect(int(told[1]) <= size, f"{told[1]} bytes are told, and {size} are there")


@suite.test("cli: a good board file, and what it names is not there")
def _():
    path = board_file("virtual-m3")
    text = path.read_text()
    elf = str(PROGRAMS / "crash-m3.elf")
    path.write_text(text.replace("= qemu-system-arm", "= no-such-program").replace(elf, "no-such.elf"))
    code, out, err = btraced("serve", "-c", str(path), "--check-config")
    equal((code, err), (0, ""), "exit code and messages")
    has(out, r"^note: the program 'no-such.elf' of core cpu0 is not there yet$")
    has(out, r"^note: the program 'no-such-program' of \[target\] command is not there yet$")
    path.write_text(text.replace("= qemu-system-arm", "= sh").replace(elf, __file__))
    refused(4, "cannot use the program '.*' of core cpu0: not an ELF file$", "serve", "-c", str(path),
            "--check-config")
    wrong = str(PROGRAMS / "crash-a53.elf")
    refused(4, "cannot use the program '.*' of core .*: it is for AArch64, not for a Cortex-M7$", "serve", "-c",
            "virtual-m7", "--program", wrong, "--check-config")


@suite.test("cli: --check-config: a flash algorithm that is cut, or does not fit its RAM")
def _():
    place = folder()
    whole = (PROGRAMS / "flash-m3.flm").read_bytes()
    probe_board = (ROOT / "configs/stm32f4-cmsis-dap.conf").read_text()
    for length in (0, 3, 51, *random.Random(SEED).sample(range(52, len(whole)), 12), len(whole)):
        (place / "flash.flm").write_bytes(whole[:length])
        for ram in ("64", "32K"):
            board = place / "board.conf"
            board.write_text(f"{probe_board}\n[flash]\nalgorithm = flash.flm\nram = 0x20000000+{ram}\n")
            if (length, ram) == (len(whole), "32K"):
                equal(btraced("serve", "-c", str(board), "--check-config")[::2], (0, ""), "exit code and messages")
            else:
                refused(4, r"\[flash\] ram: the flash algorithm needs \d+ bytes" if length == len(whole) else
                        "cannot use '.*flash.flm': ", "serve", "-c", str(board), "--check-config")


@suite.test("cli: --check-config: programs that are cut, empty, or of another core; cores without a trace unit")
def _():
    whole = (PROGRAMS / "crash-m3.elf").read_bytes()
    cut = folder() / "cut.elf"
    sections = int.from_bytes(whole[32:36], "little")  # e_shoff: the last of it, where the linker puts it
    lengths = [0, 1, 15, 16, 51, 52, sections, len(whole) - 1, *random.Random(SEED).sample(range(len(whole)), 12)]
    for length in lengths:
        cut.write_bytes(whole[:length])
        for more in ((), ("--check-config",)):
            refused(4, "cannot use the program .*cut.elf' of core cpu0: "
                    + ("empty" if length == 0 else "truncated"), "serve", "-c", "virtual-m3", "--program",
                    str(cut), *more)
    cut.write_bytes(whole)
    lacks(btraced("serve", "-c", "virtual-m3", "--program", str(cut), "--check-config")[1], "note:")
    cores = {"m3": ("an M profile", "Cortex-M3"), "a9": ("an A profile", "Cortex-A9")}
    for core, (_, name) in cores.items():
        for program, (what, _) in cores.items():
            words = ("serve", "-c", f"virtual-{core}", "--program", str(PROGRAMS / f"crash-{program}.elf"),
                     "--check-config")
            if core == program:
                code, out, err = btraced(*words)
                equal((code, err), (0, ""), "exit code and messages")
                lacks(out, "note:")
            else:
                refused(4, rf"cannot use the program .*: it is for {what}, not for a {name}$", *words)
    board = folder() / "board.conf"
    for sink, core, there in (("etb", "Cortex-M0", True), ("etb", "Cortex-M0+", True), ("etb", "ARM926EJ-S", True),
                              ("etb", "Cortex-M3", False), ("none", "Cortex-M0", False)):
        board.write_text(f"[target]\nconnect = :1\n[trace]\nsink = {sink}\n[core c]\ntype = {core}\n")
        code, out, err = btraced("serve", "-c", str(board), "--check-config")
        equal((code, err), (0, ""), "exit code and messages")
        (has if there else lacks)(out, f"^note: no history of core c: a {re.escape(core)} has ")


@suite.test("cli: all mistakes of a board file in one run")
def _():
    board = folder() / "board.conf"
    board.write_text("[target]\nconect = :1\n[trace]\nsink = etx\n[core c]\ntype = Cortex-M33x\nthread = x\n"
                     "[core d e]\ntype = y\n[history]\nmemory = 1\n")
    for command in (("serve", "--check-config"), ("serve",), ("record", "--record", "x")):
        code, out, err = btraced(command[0], "-c", str(board), *command[1:])
        equal((code, out), (2, ""), "exit code and output")
        equal([int(line) for line in re.findall(rf"^btraced {command[0]}: {board}:(\d+): ", err, re.MULTILINE)],
              [2, 4, 7, 8, 11, 6], "lines with mistakes")
    good, bad = PROGRAMS / "crash-m3.elf", PROGRAMS / "crash-a53.elf"
    board.write_text(f"[target]\nconnect = :1\n[trace]\nsink = etx\n[core c]\ntype = Cortex-M33\nprogram = {bad}\n"
                     f"[core d]\ntype = Cortex-N3\nprogram = {good}\n[core e]\nprogram = {__file__}\n")
    for more, programs in (("--check-config",), ["c", "e"]), ((), []):  # of core d nothing is known
        code, out, err = btraced("serve", "-c", str(board), *more)
        equal((code, out), (2, ""), "exit code and output")
        equal(sorted(map(int, re.findall(rf"^btraced serve: {board}:(\d+): ", err, re.MULTILINE))), [4, 9, 11],
              "lines with mistakes")
        equal(re.findall(r"^btraced serve: cannot use the program '.*' of core (\w+):", err, re.MULTILINE), programs,
              "programs that cannot be used")
    board.write_text("[setup]\n" + "x = y\n" * 10000)
    expect(btraced("serve", "-c", str(board))[2].count("\n") < 100, "as many messages as there are lines")


@suite.test("cli: a GDB server that is not there is waited for, as long as it is told to")
def _():
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    board = folder() / "board.conf"
    text = f"[target]\nconnect = 127.0.0.1:{port}\n%s[trace]\nsink = none\n[core c]\ntype = Cortex-M3\n"
    waits = f"waiting for the GDB server at 127.0.0.1:{port} "
    board.write_text(text % "connect_timeout = 6\n")
    code, _, err = btraced("serve", "-c", str(board), "--listen", ":0")
    equal(code, 4, "exit code")
    expect(err.count(waits) > 1, err)
    has(err, rf"no GDB server answers at 127.0.0.1:{port} .* within 6 s \(connect_timeout\)")
    board.write_text(text % "")
    server = subprocess.Popen([BTRACED, "serve", "-c", str(board), "--listen", ":0"], env=environment(),
                              stderr=subprocess.PIPE, text=True)
    seen = 0
    for line in server.stderr:
        seen += line.startswith(waits)
        if seen == 2:
            break
    equal(server.poll(), None, "the server")
    server.terminate()
    equal(server.wait(PATIENCE), 0, "exit code")
    server.stderr.close()


@suite.test("cli: a folder of recordings, in place of one of them")
def _():
    place = folder()
    for command in ("decode", "replay"):
        lacks(btraced(command, str(place))[2], "give one")
    for name in ("two", "one"):
        shutil.copytree(RECORDING, place / name)
    (place / "neither").mkdir()
    (place / "\x1b[31m").mkdir()
    (place / "\x1b[31m" / "snapshot.ini").touch()
    for command in ("decode", "replay"):
        refused(4, rf"{place}: is no recording, but has 3 in it: \?\[31m, one, two; give one of them$", command,
                str(place))
    for number in range(200):
        (place / f"{number:03}").mkdir()
        (place / f"{number:03}" / "snapshot.ini").touch()
    refused(4, r"has 203 in it: .*, 000, 001, .*, \.\.\.; give one of them$", "decode", str(place))


@suite.test("cli: replay says first how to see values")
def _():
    said = "without values of the past; for values type in GDB: record stop\n    or start with --no-record\n"
    for options, there in (([], True), (["--no-record"], False)):
        server = subprocess.Popen([BTRACED, "replay", *options, "--listen", ":0", RECORDING], env=environment(),
                                  stderr=subprocess.PIPE, text=True)
        text = ""
        for line in server.stderr:
            text += line
            if line.startswith("Listening on port"):
                break
        expect((said in text) == there, text)
        server.terminate()
        server.wait(PATIENCE)
        server.stderr.close()


@suite.test("cli: a board whose target and trace come over TCP, without a control socket")
def _():
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(
            ("127.0.0.1", 0)) as two:
        target, trace = (s.getsockname()[1] for s in (one, two))
    path = board_file("virtual-a9")
    text = path.read_text()
    for old, new in (("connect = unix:$RUN/gdb", f"connect = localhost:{target}"),
                     ("listen = unix:$RUN/trace", f"listen = 127.0.0.1:{trace}"),
                     ("-chardev socket,path=$RUN/gdb,server=on,wait=off,id=gdb -gdb chardev:gdb",
                      f"-gdb tcp:127.0.0.1:{target}"),
                     ("out=unix:$RUN/trace", f"out=tcp:127.0.0.1:{trace}")):
        expect(old in text, f"the board file lacks {old}")
        text = text.replace(old, new)
    text, n = re.subn(r"^control = .*\n", "", text, flags=re.MULTILINE)
    expect(n, "the board file names no control socket")
    path.write_text(text)
    with Live(path) as live:
        s = gdb(live.port, ["record btrace", "tbreak add_value", "continue", "info record",
                            "record instruction-history", live.mark(), "monitor trace status",
                            "monitor trace off"], elf=PROGRAMS / "crash-a9.elf",
                connect="target extended-remote")
        rows = history(s["record instruction-history"])
        has(s["monitor trace status"], r"^last run      complete up to the halt$")
        has(s["monitor trace off"], "^this board has no way to do that: no .trace. control in ")
        tail_of(rows, live.truth(s[live.mark()]), 10)


@suite.test("cli: where replay listens")
def _():
    for wrong in ("", "x", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536",
                  "127.0.0.1:-1", "127.0.0.1:+1", "127.0.0.1: 1", "127.0.0.1:1x",
                  "127.0.0.1:-18446744073709551615", "a" * 300 + ":1"):
        refused(2, "--listen wants ADDRESS:PORT", "replay", "--listen", wrong, RECORDING)
    for open_to_all in ("0.0.0.0:0", "192.0.2.1:0", "[::]:0", "[2001:db8::1]:0", "128.0.0.1:0"):
        refused(2, "not an address of this machine alone", "replay", "--listen", open_to_all,
                RECORDING)
    for name in ("example.org:0", "127.1:0", "*:0"):
        refused(2, "is a name; one to listen on is a number|no name or number", "replay",
                "--listen", name, RECORDING)


# Listening.

@suite.test("cli: who starts it may have closed the standard files")
def _():
    path = folder() / "gdb"
    process = subprocess.Popen(
        ["bash", "-c", 'exec "$@" <&- >&- 2>&-', "closed", BTRACED, "replay", "--listen",
         f"unix:{path}", RECORDING], env=environment())
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE)
            wait_for(lambda: client.connect_ex(str(path)) == 0, "the server")
            client.sendall(b"$?#3f")
            has(client.recv(1).decode(), r"^\+$")
        process.terminate()
        equal(process.wait(PATIENCE), 0, "exit code")
    finally:
        process.kill()


@suite.test("cli: port 0 takes a free port and says which")
def _():
    for listen in ("127.0.0.1:0", ":0", "localhost:0", "127.0.0.2:0"):
        with Server(RECORDING, listen=listen) as server:
            expect(1024 <= server.port <= 65535, f"port {server.port}")
            host = "127.0.0.2" if listen.startswith("127.0.0.2") else "127.0.0.1"
            with socket.create_connection((host, server.port), PATIENCE) as client:
                client.sendall(b"$?#3f")
                has(client.recv(100).decode(), r"^\+")


@suite.test("cli: IPv6 loopback")
def _():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return  # not on this machine; the address is accepted or not by the test above
    with Server(RECORDING, listen="[::1]:0") as server:
        with socket.create_connection(("::1", server.port), PATIENCE) as client:
            client.sendall(b"$?#3f")
            has(client.recv(100).decode(), r"^\+")


@suite.test("cli: a port that is taken is exit code 3")
def _():
    with Server(RECORDING) as server:
        refused(3, rf"cannot listen on 127\.0\.0\.1:{server.port}: address already in use",
                "replay", "--listen", f"127.0.0.1:{server.port}", RECORDING)
        with Client(server.port) as client:
            client.start()
        port = server.port
    # At once afterwards it is free again, though connections were just closed.
    with Server(RECORDING, listen=f"127.0.0.1:{port}") as server:
        equal(server.port, port, "port")


@suite.test("cli: SIGINT and SIGTERM end the server with exit code 0")
def _():
    for number in (signal.SIGINT, signal.SIGTERM):
        server = Server(RECORDING)
        with Client(server.port) as client:
            client.start()
            server.process.send_signal(number)
            client.closed()
        equal(server.process.wait(PATIENCE), 0, "exit code")
        server.stop()


@suite.test("cli: replay takes its ELF file and --odd-thumb")
def _():
    with Server(RECORDING, "--elf", str(DEMO / "crash.elf"), "--odd-thumb") as server:
        with Client(server.port) as client:
            client.start()
            odd = [b for b, _ in client.blocks() if b & 1]
    expect(len(odd) > 100, f"{len(odd)} odd blocks")
    thumb = {a for a, isa in demo_run() if isa == "T"}
    equal({b - 1 for b in odd} - thumb, set(), "odd blocks that are not T32 code")


# Input errors.

@suite.test("cli: recordings and files that are not there or are something else")
def _():
    for command in ("replay", "decode"):
        refused(4, r"/nonexistent: cannot open: No such file or directory", command,
                "/nonexistent")
        refused(4, r"crash\.elf: cannot open: Not a directory \(a recording is a folder\)$", command,
                str(DEMO / "crash.elf"))
        refused(4, r"cannot read 'snapshot\.ini'", command, str(folder()))
        refused(4, r"cannot use '/nonexistent'", command, "--elf", "/nonexistent", RECORDING)
        refused(4, r"not an ELF file", command, "--elf", str(DEMO / "crash.c"), RECORDING)


# File, what is done to it (None: removed), file of the message, a text in its line, message.
DAMAGE = [
    ("buffer_0.bin", None, "trace.ini", "file=buffer_0.bin", "cannot open 'buffer_0.bin'"),
    ("device_0.ini", None, "snapshot.ini", "device0=", "cannot read 'device_0.ini'"),
    ("trace.ini", None, "snapshot.ini", "metadata=", "cannot read 'trace.ini'"),
    ("device_0.ini", ("length=0x638", "length=0xzz"), "device_0.ini", "0xzz",
     "length is not a number: '0xzz'"),
    ("device_0.ini", ("PC=0x8001044C", "PC=zero"), "device_0.ini", "PC=zero",
     "register value is not a number: 'zero'"),
    ("device_0.ini", ("[dump2]", "[dump2"), "device_0.ini", "[dump2", "section header without"),
    ("device_0.ini", ("class=core", "class core"), "device_0.ini", "class core",
     "neither '[section]' nor 'key=value'"),
    ("snapshot.ini", ("version=1.0", "version=7.0"), "snapshot.ini", "version=7.0",
     "version is '7.0'"),
    ("trace.ini", ("format=coresight", "format=other"), "trace.ini", "[buffer0]",
     "buffer format 'other' is not known"),
    ("trace.ini", ("file=buffer_0.bin", "file=../../x"), "trace.ini", "../../x",
     "path '../../x' leaves the folder"),
]


@suite.test("cli: a damaged recording is exit code 4, with file and line")
def _():
    for name, change, place, line, message in DAMAGE:
        copy = copy_recording(RECORDING)
        if change is None:
            (copy / name).unlink()
        else:
            text = (copy / name).read_text()
            expect(change[0] in text, f"{name} lacks {change[0]}")
            (copy / name).write_text(text.replace(*change))
        lines = (copy / place).read_text().splitlines()
        number = next(n for n, text in enumerate(lines, 1) if line in text)
        for command in ("replay", "decode"):
            refused(4, rf"^btraced {command}: ({re.escape(str(copy))}/)?{place}:{number}: "
                       + re.escape(message), command, str(copy))


@suite.test("cli: a trace unit that cannot be decoded is named")
def _():
    copy = copy_recording(RECORDING)
    text = (copy / "device_1.ini").read_text()
    (copy / "device_1.ini").write_text(text.replace("PTM1.1", "XYZ9"))
    for command in ("replay", "decode"):
        has(refused(4, "trace source", command, str(copy)),
            r"^btraced \w+: warning: device_1\.ini: trace of 'PTM_0' is skipped: protocol 'XYZ9'")
    (copy / "device_1.ini").write_text(re.sub(r"ETMIDR.*\n", "", text))
    for command in ("replay", "decode"):
        refused(4, r"device_1\.ini: register ETMIDR is missing", command, str(copy))


@suite.test("cli: an empty and a cut trace buffer are recordings all the same")
def _():
    whole = (DEMO / "recording" / "buffer_0.bin").read_bytes()
    counts = []
    for size in (0, 1, 15, 3000, len(whole)):
        copy = copy_recording(RECORDING)
        (copy / "buffer_0.bin").write_bytes(whole[:size])
        code, out, err = btraced("decode", "--instructions", "--format", "tsv", str(copy))
        equal((code, err), (0, ""), f"exit code and messages with {size} bytes")
        counts.append(len(out.splitlines()) - 1)
        with Server(copy) as server, Client(server.port) as client:
            client.start()
            found = client.blocks()
            expect(not found or found[0][1] == DEMO_PC, f"newest block {found[:1]}")
            equal(bool(found), counts[-1] > 0, f"blocks with {size} bytes")
    equal(counts, sorted(counts), "instructions")
    equal((counts[0], counts[-1]), (0, len(demo_run())), "instructions at the ends")


# Listings.

@suite.test("cli: columns of tsv listings are stable, rows are complete")
def _():
    for listing, columns in COLUMNS.items():
        lines = listed(listing, "tsv")
        equal(lines[0].split("\t"), columns, f"columns of --{listing}")
        expect(len(lines) > 5, f"--{listing} has {len(lines)} lines")
        for line in lines[1:]:
            equal(len(line.split("\t")), len(columns), f"fields of {line!r}")
            for name, text in zip(columns, line.split("\t")):
                expect(name not in NUMBERS or re.fullmatch(r"\d*", text), f"{name} is {text!r}")


@suite.test("cli: json listings parse and say what the tsv ones say")
def _():
    for listing, columns in COLUMNS.items():
        rows = []
        for line in listed(listing, "json"):
            row = json.loads(line)
            expect("" not in row.values(), f"an empty value in {line}")
            equal(sorted(set(row) - set(columns)), [], "other keys")
            equal([k for k in columns if k in row], list(row), "order of keys")
            for name, content in row.items():
                equal(type(content), int if name in NUMBERS else str, f"type of {name}")
            rows.append("\t".join(str(row.get(c, "")) for c in columns))
        same_list(rows, listed(listing, "tsv")[1:], f"--{listing}")


@suite.test("cli: --instructions is what ran; text has as many rows")
def _():
    rows = [line.split("\t") for line in listed("instructions", "tsv")[1:]]
    same_list([(int(r[1]), int(r[2], 16), r[5][0]) for r in rows],
              [(n, a, isa) for n, (a, isa) in enumerate(demo_run(), 1)], "instructions")
    equal(len(listed("instructions", "text")), len(rows), "rows of text")
    code, out, _ = btraced("decode", RECORDING)
    equal((code, out), (0, "\n".join(listed("summary", "text")) + "\n"), "default listing")
    has(out, rf"^PTM_0 +instructions +{len(rows)}$")


@suite.test("cli: --source and --id choose one source")
def _():
    rows = listed("summary", "tsv")
    for choice in (["--source", "PTM_0"], ["--id", "16"], ["--id", "0x10"], ["--id", "020"]):
        equal(listed("summary", "tsv", *choice), rows, " ".join(choice))
    for choice in (["--source", "PTM_9"], ["--source", "ptm_0x"], ["--id", "0x11"]):
        refused(4, r"no such trace source in '.*'.*; it has: PTM_0 \(0x10\)$", "decode", *choice,
                RECORDING)


@suite.test("cli: several sources are headed by their names, in text alone")
def _():
    path = str(capture("tc2-etmv3-ptm"))
    code, out, _ = btraced("decode", path)
    equal(code, 0, "exit code")
    names = re.findall(r"^source (\w+) \(core (\w+)\)$", out, re.MULTILINE)
    expect(("PTM_0", "cpu_3") in names and len(names) >= 2, f"sources {names}")
    code, out, _ = btraced("decode", "--format", "tsv", path)
    rows = [line.split("\t") for line in out.splitlines()]
    equal([len(row) for row in rows], [3] * len(rows), "fields")
    equal(rows.count(COLUMNS["summary"]), 1, "headers")
    equal(list(dict.fromkeys(row[0] for row in rows[1:])), [name for name, _ in names], "sources")
    for choice in (["--source", "PTM_0"], ["--id", "0x13"]):
        code, out, _ = btraced("decode", *choice, "--blocks", path)
        equal(code, 0, "exit code")
        lacks(out, "^source ")


@suite.test("cli: standard output that is full or closed")
def _():
    with open("/dev/full", "w", encoding="ascii") as full:
        code, _, err = btraced("decode", "--instructions", RECORDING, stdout=full)
    equal(code, 1, "exit code")
    has(err, "^btraced decode: cannot write the listing: No space left on device")
    process = subprocess.Popen([BTRACED, "decode", "--instructions", RECORDING],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    process.stdout.read(10)
    process.stdout.close()
    err = process.stderr.read().decode()
    process.stderr.close()
    expect(process.wait(PATIENCE) in (0, 1), f"exit code {process.returncode}")
    lacks(err, "Sanitizer|signal|cannot write|Broken pipe")


suite.run()
