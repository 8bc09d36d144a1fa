#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests protocol/session/gdb_pass.c, server/live/live_monitor.c, server/recording/record_place.c and
# server/base/log.c. Tests server/live/live_question.c.
"""A client in control of a virtual board is after a shell, or a file, of the machine that serves it:
by the commands of QEMU's monitor, semihosting of the guest, packets of the protocol and made-up ones.
A relay before QEMU records what passes. BTRACED_SEED=N makes the same packets again. Recordings go to their
place, names and texts of clients move nobody's cursor, and nobody stops the server by not reading its log."""

import os
import pwd
import random
import re
import string
import shutil
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from live_gdb import Live, Wire, board_file, recording, symbol, PROGRAMS  # noqa: E402
import certificates  # noqa: E402
from relay import Relay, board_with_relay  # noqa: E402
from replay_gdb import (BTRACED, DEMO, PATIENCE, ROOT, Client, Suite, environment, equal, expect, folder,  # noqa: E402
                        frame, has, lacks, wait_for)

suite = Suite()
SEED = int(os.environ.get("BTRACED_SEED") or time.time_ns() & 0xffffffff)
BOARDS = sorted(path.stem for path in (ROOT / "configs").glob("virtual-*.conf"))
REFUSED = r"is no command of btraced .*is not\s+passed to the target's own GDB server"

# What the relay may see: packets that touch cores, in their own letters.
GOOD = re.compile(
    rb"[!?g]|[px][0-9a-f,]+|m[0-9a-f]+,[0-9a-f]+|[GP][0-9a-fx=]+|[MX][0-9a-f]+,[0-9a-f]+:.*"
    rb"|[Zz][0-4],[0-9a-f]+,[0-9a-f]+|[csCS][0-9a-f;]*|b[cs]|R[0-9a-f]+|[HT][gc]?[0-9a-fA-Fp.-]+|vCont\?"
    rb"|vCont;[0-9a-fA-FcCsSrtp.,:;-]+|vMustReplyEmpty|qSupported(:[\w+=;:.?-]*)?|qAttached(:[0-9a-f]+)?"
    rb"|qC|qCRC:[0-9a-f,]+|qOffsets|qTStatus|qSymbol:[0-9a-fA-F]*:[0-9a-fA-F]*|q[fs]ThreadInfo"
    rb"|qThreadExtraInfo,[0-9a-fp.-]+|qSearch:memory:.*|qXfer:(features:read:[\w.-]+|(memory-map|threads):read:)"
    rb":[0-9a-f]+,[0-9a-f]+|QStartNoAckMode|qRcmd,[0-9a-f]+|vFlash.*|F-?[0-9a-f,C-]+|D(;[0-9a-f]+)?", re.DOTALL)


def passed_well(relay):
    """What has reached QEMU are packets that touch cores, and commands of the list."""
    bad = [p for p in relay.packets() if not GOOD.fullmatch(p)]
    expect(not bad, f"reached QEMU: {bad[:3]}")
    commands = [bytes.fromhex(p[6:].decode()).decode() for p in relay.packets() if p[:6] == b"qRcmd,"]
    for command in commands:
        has(command, r"^(info|system_reset|help)\b")


def monitor_attacks(goal):
    return (f"migrate -d \"exec:touch {goal}\"", f"migrate -d exec:touch${{IFS}}{goal}",
            f"logfile {goal}", f"screendump {goal}", f"pmemsave 0 16 \"{goal}\"",
            f"memsave 0 16 \"{goal}\"", f"dump-guest-memory {goal}", f"savevm {goal}",
            f"chardev-add file,id=x,path={goal}", f"gdbserver unix:{goal},server=on,wait=off",
            f"object_add memory-backend-file,id=m,size=4096,mem-path={goal},share=on",
            f"nbd_server_start unix:{goal}", f"drive_add 0 file={goal}", "quit", "device_add x",
            f"  logfile {goal}", f"info version\nlogfile {goal}", f"info `touch {goal}`",
            f"info version;logfile {goal}", f"system_reset | touch {goal}", f"!touch {goal}",
            f"$__import__('os').system('touch {goal}')", f"exec touch {goal}", f"[exec touch {goal}]",
            f"reset [exec touch {goal}]", f"reset ; exec touch {goal}", "", "\x01logfile x")


def hexed(text):
    return text.encode().hex()


def packet_attacks(goal):
    return (f"vFile:open:{hexed(goal)},601,1ff", "vFile:setfs:0", f"vFile:unlink:{hexed(goal)}",
            f"vRun;{hexed('/bin/sh')};{hexed('-c')};{hexed('touch ' + goal)}", "vRun;",
            "qXfer:exec-file:read:1:0,fff", "qXfer:exec-file:read::0,fff", "qXfer:auxv:read::0,fff",
            f"qXfer:features:read:{goal}:0,fff", "qXfer:osdata:read:processes:0,fff",
            f"QTSave:{hexed(goal)}", "QTStart", "QTinit", "qqemu.sstepbits", "qqemu.PhyMemMode",
            "Qqemu.PhyMemMode:1", f"Qqemu.made-up:{hexed(goal)}", f"A{2 * len(goal)},0,{hexed(goal)}",
            f"QSetWorkingDir:{hexed('/')}", f"QEnvironmentHexEncoded:{hexed('PATH=/x')}",
            f"qRcmd:{hexed('logfile ' + goal)}", f"qRcmd,{hexed('logfile ' + goal)}0", "jThreadsInfo")


def attack(live, relay, goal):
    with Wire(live) as wire:
        expect(not any("exec-file" in word or "QTSave" in word for word in wire.features), wire.features)
        for command in monitor_attacks(goal):
            said = wire.monitor(command)
            expect(not os.path.exists(goal), f"'{command}' has made {goal}")
            expect("monitor" in said or "plain words" in said, f"'{command}': {said!r}")
        has(wire.monitor(f"logfile {goal}"), "^'logfile' " + REFUSED)
        for packet in packet_attacks(goal):
            answer = wire.ask(packet)
            expect(answer in ("", "E01"), f"'{packet}': {answer!r}")
            expect(not os.path.exists(goal), f"'{packet}' has made {goal}")
        has(wire.ask("vAttach;1234"), "^T")
        expect(b"vAttach;1234" not in relay.packets(), "vAttach")
        has(wire.monitor("info version"), r"^\d+\.\d+")
        has(wire.monitor("system_reset"), "^$")
        has(wire.ask("?"), "^T")
    passed_well(relay)


def each(boards, name):
    def add(function):
        for board in boards:
            suite.test(f"attack: {board}: {name}")(lambda board=board: function(board))
        return function
    return add


def bad_names(outside):
    """Names of recordings that are paths, or more."""
    return (f"{outside}/x", "/tmp/x", "..", "../x", "x/../../y", ".x", "-x", "a/b", "x" * 65,
            "x\ny", "x\x1b[2J", "~", "$HOME", "link/x", "x y", "\xc3\xa4")


def evil_commands():
    evil = "\x1b]0;title\x07\x1b[2Jnosuch\r\x08\x9b31m"
    return (evil, "trace " + evil, "record start " + evil, "when " + evil, "goto " + evil,
            "history " + evil, "reset " + evil, "trace filter include " + evil, "explain " + evil)


@each(BOARDS, "monitor, packets, recordings: nothing reaches QEMU, a file or the log")
def _(board):
    path, here, there = board_with_relay(board_file, board)
    outside = folder()
    with Relay(here, there) as relay, Live(path, environ=(("BTRACED_LOG", "debug"),)) as live:
        attack(live, relay, str(outside / "goal"))
        with Wire(live) as wire:
            for name in bad_names(outside):
                has(wire.monitor(f"record start {name}"), "^not recording: a recording has a name, not a path")
            for text in evil_commands():
                lacks(wire.monitor(text), CONTROLS)
        equal(os.listdir(outside), [], "files outside")
    lacks(live.stderr, CONTROLS)


# What a guest asks for by semihosting, and the instruction that asks.
SYS_OPEN, SYS_SYSTEM = 0x01, 0x12
TRAPS = {"m": "abbe", "a9": "563412ef", "a53": "00005ed4"}  # bkpt 0xab, svc 0x123456, hlt #0xf000
RAM = {"virtual-a9": 0x60100000, "virtual-a9-smp": 0x60100000, "virtual-m3": 0x20002000,
       "virtual-m4": 0x20002000, "virtual-m4-tasks": 0x20008000, "virtual-m7": 0x20002000, "virtual-m33": 0x38002000,
       "virtual-a53": 0x40100000, "virtual-a53-smp": 0x40100000}


def semihosting(wire, board, number, text):
    """The guest asks; the answer of GDB is that it cannot. Returns what GDB was asked."""
    at = RAM[board]
    kind = board.split("-")[1]
    word = 8 if kind == "a53" else 4
    trap = TRAPS["m" if kind[0] == "m" else kind]
    block = {SYS_SYSTEM: (at + 0x40, len(text)), SYS_OPEN: (at + 0x40, 4, len(text))}[number]
    pack = lambda n: struct.pack("<Q" if word == 8 else "<I", n)
    code = bytes.fromhex(trap) + (b"\xfe\xe7" if kind[0] == "m" else b"")  # and a loop
    for where, data in ((at, code), (at + 0x20, b"".join(map(pack, block))),
                        (at + 0x40, text.encode() + b"\0")):
        equal(wire.ask(f"M{where:x},{len(data):x}:{data.hex()}"), "OK", "M")
    equal(wire.ask("Hgp1.1"), "OK", "Hg")
    for reg, value in ((0, number), (1, at + 0x20), (32 if word == 8 else 15, at)):
        equal(wire.ask(f"P{reg:x}={pack(value).hex()}"), "OK", f"P{reg}")
    wire.send(frame("vCont;s:p1.1"))
    asked = []
    while (answer := wire.reply())[:1] in ("F", "O"):
        if answer[:1] == "F":
            asked.append(answer)
            wire.send(frame("F-1,1"))
    has(answer, "^[TS]", "after the step")
    return asked


def semihosting_attack(board, goal, **more):
    with Live(board_file(board, **more)) as live, Wire(live) as wire:
        asked = semihosting(wire, board, SYS_SYSTEM, f"touch {goal}")
        asked += semihosting(wire, board, SYS_OPEN, str(goal) + ".open")
        # The board does one thing after the other: what it was asked to do is done.
        has(wire.ask("?"), "^[TS]")
    return asked


@each(BOARDS, "semihosting of the guest asks GDB, and does nothing itself")
def _(board):
    goal = folder() / "goal"
    asked = semihosting_attack(board, goal)
    expect(not goal.exists() and not Path(f"{goal}.open").exists(), "the guest has made a file")
    has("\n".join(asked), "^Fsystem,", "asked of GDB")
    has("\n".join(asked), "^Fopen,", "asked of GDB")


@suite.test("attack: a board file that leaves semihosting to QEMU: the same guest makes the files")
def _():
    goal = folder() / "goal"
    sandbox = ("-sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny ", "")
    equal(semihosting_attack("virtual-m4", goal, replace=[("target=gdb", "target=native"), sandbox]),
          [], "asked of GDB")
    expect(goal.exists() and Path(f"{goal}.open").exists(), "this test proves nothing")


@each(BOARDS, "QEMU runs in its sandbox")
def _(board):
    with Live(board_file(board)) as live:
        states = [Path(f"/proc/{pid}/status").read_text() for pid in live.children()]
        expect(states, "no QEMU")
        for state in states:
            has(state, r"^Seccomp:\s+2$")


@suite.test(f"attack: 100 made-up packets, BTRACED_SEED={SEED}: none passes")
def _():
    rng = random.Random(SEED)
    path, here, there = board_with_relay(board_file, "virtual-m4")
    letters = string.ascii_letters + string.digits + ":;,._-+=/~!?&%@ "
    starts = ("q", "Q", "v", "qXfer:", "vFile:", "Qqemu.", "qqemu.", "QT", "qT", "j", "_", "A", "I", "i",
              "t", "b", "B", "d", "r", "vCtrl", "qRcmd", "vRun", "g", "m", "Z9", "H", "T", "P", "c", "s")
    with Relay(here, there) as relay, Live(path) as live, Wire(live) as wire:
        for _ in range(100):
            packet = rng.choice(starts) + "".join(rng.choices(letters, k=rng.randrange(1, 40)))
            if GOOD.fullmatch(packet.encode()):
                continue
            before = len(relay.packets())
            answer = wire.ask(packet)
            expect(answer[:1] in ("", "E", "O", "l"), f"'{packet}': {answer!r}")
            equal([p for p in relay.packets()[before:] if not GOOD.fullmatch(p)], [], packet)
        has(wire.ask("g"), "^[0-9a-f]{100}")
        passed_well(relay)


@suite.test("attack: [target] monitor: none, words, all; a reload changes it")
def _():
    goal = folder() / "log"
    path, here, there = board_with_relay(board_file, "virtual-m4",
                                         replace=[("[trace]\n", "monitor = none\n[trace]\n")])
    with Relay(here, there) as relay, Live(path) as live, Wire(live) as wire:
        has(wire.monitor("info version"), r"none is passed .*\[target\] monitor = none")
        has(wire.monitor("help"), "^nothing else goes to the target's own GDB server$")
        for allowed, command, pattern in (
                ("info, stop", "info version", r"^\d+\.\d+"), ("info, stop", "system_wakeup", REFUSED),
                ("info, stop", "info version;x", "with plain words only"),
                ("all", f"logfile {goal}", "^$")):
            text = path.read_text()
            path.write_text(re.sub(r"^monitor = .*$", f"monitor = {allowed}", text, flags=re.MULTILINE))
            wire.monitor("reload")
            has(wire.monitor(command), pattern)
        expect(goal.exists(), "'all' lets everything pass")
        has(wire.monitor("help"), "^everything else goes to the target's own GDB server$")


@suite.test("attack: [target] monitor: each kind of server has its own words")
def _():
    # Words of one kind; those that do more than halt, run, reset and show are of none.
    words = {"openocd": {"mdw 0 1", "targets"}, "qemu": {"info version", "system_reset"},
             "pyocd": {"go", "regs"}, "jlink": {"memU32 0", "waithalt", "go", "regs"}}
    never = {"shutdown", "load_image x", "arm semihosting enable", "migrate x", "exec x", "flash x", "init", "reset2"}
    path = board_file("virtual-m4", replace=[("[trace]\n", "monitor = none\n[trace]\n")])
    text = path.read_text()
    with Live(path) as live, Wire(live) as wire:
        for kind in (None, *words):
            path.write_text(text.replace("monitor = none\n", f"monitor = {kind}\n" if kind else ""))
            has(wire.monitor("reload"), "monitor has changed")
            mine = words[kind or "qemu"]  # the program that is started says which one it is
            for command in sorted(set().union(*words.values(), never)):
                answer = wire.monitor(command)
                equal("is not passed to the target's own GDB server" in answer, command not in mine,
                      f"refusal of '{command}' with {kind}: {answer}")


@suite.test("attack: [target] user: the board's program is somebody else's, and serves all the same")
def _():
    place = folder()
    place.chmod(0o755)
    for file in (ROOT / "build" / "virtual-board.so", PROGRAMS / "crash-a9.elf"):
        shutil.copy(file, place)
        (place / file.name).chmod(0o755)
    text = (ROOT / "configs" / "virtual-a9.conf").read_text()
    text = text.replace("$PLUGIN", str(place / "virtual-board.so")).replace("$DIR/virtual", str(place))
    path = place / "board.conf"

    def write(user):
        path.write_text(text.replace("[target]\n", f"[target]\nuser = {user}\n"))
    write("no-such-user")
    done = subprocess.run([BTRACED, "serve", "-c", path, "--listen", "127.0.0.1:0"], capture_output=True, text=True,
                          timeout=PATIENCE, env=environment(), check=False)
    equal(done.returncode, 4, "exit code for a user that is not there")
    has(done.stderr, r"\[target\] user: this machine has no user 'no-such-user'")
    write("nobody")
    if os.geteuid() != 0:
        done = subprocess.run([BTRACED, "serve", "-c", path, "--listen", "127.0.0.1:0"], capture_output=True,
                              text=True, timeout=PATIENCE, env=environment(), check=False)
        equal(done.returncode, 4, "exit code of a start that is not root's")
        has(done.stderr, r"\[target\] user: only root can start a program as 'nobody'")
        return
    nobody = str(pwd.getpwnam("nobody").pw_uid)
    with Live(path) as live, Wire(live) as wire:
        [board] = live.children()
        status = Path(f"/proc/{board}/status").read_text()
        equal(has(status, r"^Uid:\s+(.*)$")[1].split(), [nobody] * 4, "users of the board's program")
        expect("0" not in has(status, r"^G(?:id|roups):\s*(.*)$")[1].split(), "it is in root's group")
        wire.run_to_main(PROGRAMS / "crash-a9.elf")
        equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
        expect(len(wire.blocks()) > 1, "no history")


@suite.test("attack: recordings: names only, below [record] dir, and no symbolic links")
def _():
    outside = folder()
    with Live(board_file("virtual-m4")) as live, Wire(live) as wire:
        place = recording(live, "")
        place.mkdir()
        (place / "link").symlink_to(outside)
        (place / "dangling").symlink_to(outside / "new")
        (place / "file").write_text("")
        for name in bad_names(outside):
            has(wire.monitor(f"record start {name}"), "^not recording: a recording has a name, not a path")
        for name in ("link", "dangling", "file"):
            has(wire.monitor(f"record start {name}"), f"^not recording: '{name}' is there, and is no folder")
        equal(sorted(os.listdir(outside)), [], "files outside of the place")
        equal(sorted(os.listdir(place)), ["dangling", "file", "link"], "files in the place")
        for where in ("run.1", "run.1/0001", "run.1/0002"):
            has(wire.monitor("record start run.1"), f"^recording to {place}/?{where}$")
            has(wire.monitor("record stop"), "bytes of trace; replay it with")
            expect((place / where / "snapshot.ini").exists(), "no recording")


def limits(name, **keys):
    path = board_file(name)
    lines = "".join(f"{key} = {value}\n" for key, value in keys.items())
    path.write_text(path.read_text().replace("start = no\n", "start = no\n" + lines))
    return path


@suite.test("attack: recordings: max_count, keep_free, and a run that max_size ends")
def _():
    with Live(limits("virtual-m4", max_count=2, max_size="64K")) as live, Wire(live) as wire:
        has(wire.monitor("record start a"), "^recording to ")
        wire.run_to_main(PROGRAMS / "crash-m4.elf")
        wire.send(frame("vCont;c"))
        said = ""
        while "max_size" not in said:
            answer = wire.reply()
            expect(answer[:1] == "O", answer)
            said += bytes.fromhex(answer[1:]).decode()
        has(said, r"recording to '.*/a' has ended: it is as long as \[record\] max_size allows; what was written")
        wire.send(b"\x03")
        while wire.reply()[:1] == "O":
            pass
        has(wire.monitor("record stop"), "max_size allows$")
        size = (recording(live, "a") / "buffer_0.bin").stat().st_size
        expect(0 < size <= 64 << 10, f"{size} bytes")
        has(wire.monitor("record start b"), "^recording to ")
        has(wire.monitor("record stop"), "bytes of trace")
        has(wire.monitor("record start c"), r"^not recording: there are 2 recordings, which is \[record\] max_count$")
    with Live(limits("virtual-m4", keep_free="1000000G")) as live, Wire(live) as wire:
        has(wire.monitor("record start a"), "^not recording: .*as full as .*keep_free allows$")
        expect(not recording(live, "a").exists(), "a folder is left")
    path = board_file("virtual-m4")
    path.write_text(re.sub(r"^\[record\]\n.*\n.*\n", "", path.read_text(), flags=re.MULTILINE))
    with Live(path) as live, Wire(live) as wire:
        has(wire.monitor("record start a"), r"^not recording: the board file names no place .*\[record\] dir$")


def found(wire, question):
    """The answer without the lines that say how far it is: whether they come is the clock's matter."""
    return re.sub(r"^\.\.\. \d+ of \d+ parts of the history\n", "", wire.monitor(question), flags=re.MULTILINE)


@suite.test("attack: questions over a long history are slices: others are served, Ctrl-C ends one")
def _():
    path = board_file("virtual-a9")
    path.write_text(path.read_text().replace("[gdb]", "[gdb]\nothers = observe"))
    elf = PROGRAMS / "crash-a9.elf"
    with Live(path) as live, Wire(live) as wire:
        main = symbol(elf, "main")
        wire.run_to(main)
        before = found(wire, "history 200")
        has(before, "wake_second_core")
        # A loop of one block: `b .`. What was before is found behind it.
        equal(wire.ask(f"M{main:x},4:feffffea"), "OK", "M")
        equal(wire.ask("Pf=" + struct.pack("<I", main).hex()), "OK", "P")
        wire.run_for(live, 20_000_000)
        after = found(wire, "history 200")
        lines = [{" ".join(line.split()) for line in text.splitlines()} for text in (before, after)]
        equal(sorted(lines[0] - lines[1]), [], "lines of before that are missing behind the loop")
        places = re.findall(r"^instruction (\d+), ", found(wire, "when main"), re.MULTILINE)
        equal(len(places), 10, "places")
        has(found(wire, "when stopped_here"), "^not in the history: instructions 1 to ")
        # Asked at once, and broken off: the answer comes all the same, and the next one is right.
        for _ in range(5):
            wire.send(frame("qRcmd," + b"history 1000".hex()) + b"\x03")
            while (answer := wire.reply()) != "OK":
                expect(answer[:1] == "O", answer)
        equal(found(wire, "history 200"), after, "the answer behind those that were broken off")
        # Who goes away while it is answered hurts nobody.
        for _ in range(5):
            with Client(live.port, acks=False) as other:
                other.ask("qSupported")
                other.ask("?")
                other.send(frame("qRcmd," + b"history 1000".hex()))
        equal(found(wire, "history 200"), after, "the answer behind those who have left")


@suite.test("attack: who asks questions and does not read the answers is dropped between two of them")
def _():
    path = board_file("virtual-a9")
    path.write_text(path.read_text().replace("[gdb]", "[gdb]\nothers = observe") + "[limits]\nmemory = 64K\n")
    with Live(path) as live, Wire(live) as wire:
        wire.run_to_main(PROGRAMS / "crash-a9.elf", idle=True)
        wire.run_for(live, 300_000)
        for question in ("history 1000", "help"):
            seen = live.stderr.count("is dropped: it has left")
            with Client(live.port, acks=False, window=4096) as other:
                other.ask("qSupported")
                other.ask("?")
                other.send(frame("qRcmd," + question.encode().hex()) * 1000)
                wait_for(lambda: live.stderr.count("is dropped: it has left") > seen, f"the end of '{question}'")
            has(wire.ask("g"), "^[0-9a-f]{128}", f"registers behind '{question}'")


CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]"


@suite.test("attack: control characters of a client reach no log and no console")
def _():
    evil = evil_commands()[0]
    path = board_file("virtual-m4")
    path.write_text(path.read_text().replace("[gdb]", "[gdb]\nothers = observe"))
    with Live(path, environ=(("BTRACED_LOG", "debug"),)) as live:
        with Wire(live) as wire, Client(live.port, acks=False) as other:
            for text in evil_commands():
                said = wire.monitor(text)
                expect(said, f"no answer to {text!r}")
                lacks(said, CONTROLS)
            wire.ask(f"qSupported:{evil}")
            other.send(frame("qSupported") + frame("?"))
            other.send(evil.encode() + b"$\x1b[2J#00+")
            said = ""
            other.send(frame("qRcmd," + b"clients".hex()))
            while "in control" not in said:
                answer = other.reply()
                if answer[:1] == "O" and answer != "OK":
                    said += bytes.fromhex(answer[1:]).decode()
            lacks(said, CONTROLS)
            # It goes to QEMU with plain words only.
            has(wire.monitor("info " + evil), "with plain words only")
        wait_for(lambda: "client 2" in live.stderr, "the log")
    lacks(live.stderr, CONTROLS)


@suite.test("attack: control characters in a certificate's name reach no log and no other client")
def _():
    place = certificates.make()
    certificates.certificate("evil", subject="/CN=eve\x1b[2Jx",
                             extensions="extendedKeyUsage = clientAuth")
    path = board_file("virtual-m4")
    path.write_text(path.read_text().replace("[gdb]", "[gdb]\nothers = observe") +
                    f"[tls]\nca = {place}/ca.pem\ncert = {place}/server.pem\nkey = {place}/server.key\n"
                    'allow = *\n')
    with Live(path, "--listen", "tls:127.0.0.1:0") as live:
        ports = lambda: re.findall(r"^Listening on port (\d+)$", live.stderr, re.MULTILINE)
        wait_for(lambda: len(ports()) == 2, "two ports")
        plain, tls = map(int, ports())
        with certificates.TlsClient(tls, "evil") as eve:
            has(eve.ask("qSupported"), "PacketSize")
            with Client(plain, acks=False) as other:
                other.ask("qSupported")
                said = ""
                other.send(frame("qRcmd," + b"clients".hex()))
                while "in control" not in said:
                    answer = other.reply()
                    if answer[:1] == "O" and answer != "OK":
                        said += bytes.fromhex(answer[1:]).decode()
                has(said, r"eve\?\[2Jx")
                lacks(said, CONTROLS)
    has(live.stderr, r"eve\?\[2Jx")
    lacks(live.stderr, CONTROLS)


def start_logging_to(end, path):
    """The server with `end` as its standard error."""
    return subprocess.Popen([BTRACED, "replay", "--listen", "127.0.0.1:0", path], stderr=end,
                            stdin=subprocess.DEVNULL, env=dict(environment(), BTRACED_LOG="debug"))


def port_of(read):
    said = b""
    while not (match := re.search(rb"^Listening on port (\d+)\n", said, re.MULTILINE)):
        data = read()
        expect(data, f"ended: {said[-300:]}")
        said += data
    return int(match[1])


def unread_log(here, there, read):
    process = start_logging_to(there, DEMO / "recording")
    os.close(there)
    try:
        port = port_of(read)
        with Client(port, acks=False) as client:
            has(client.ask("qSupported"), "PacketSize")
            for _ in range(3000):  # two lines each: more than any buffer takes
                has(client.ask("g"), "^[0-9a-f]{100}")
            said = b""
            while not (match := re.search(rb"^btraced: (\d+) lines of the log were lost\n", said, re.MULTILINE)):
                client.ask("qC")
                data = read()
                expect(data, "the log has ended")
                said += data
            expect(int(match[1]) > 100, match[0])
            client.send(frame("qRcmd," + b"status".hex()))
            text = ""
            while (answer := client.reply()) != "OK":
                text += bytes.fromhex(answer[1:]).decode()
            has(text, r"^log +\d+ lines were lost")
            equal([line for line in said.split(b"\n")[1:-1] if not re.match(rb"btraced|\S.*[<>:]", line)], [],
                  "torn lines")
            os.close(here)  # and now nobody is there
            for _ in range(300):
                has(client.ask("g"), "^[0-9a-f]{100}")
        process.terminate()
        equal(process.wait(PATIENCE), 0, "exit code")
    finally:
        process.kill()


@suite.test("attack: a log that nobody reads stops nothing, and says how many lines were lost: a pipe")
def _():
    here, there = os.pipe()
    unread_log(here, there, lambda: os.read(here, 65536))


@suite.test("attack: a log that nobody reads stops nothing: a socket, as the journal's")
def _():
    here, there = (end.detach() for end in socket.socketpair())
    unread_log(here, there, lambda: os.read(here, 65536))


suite.run()
