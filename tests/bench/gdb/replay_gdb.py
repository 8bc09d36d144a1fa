# SPDX-License-Identifier: BSD-3-Clause
"""What the GDB tests share: `btraced replay` as a process, stock GDB in batch mode and over MI, a
raw remote-protocol client, verdict lines."""

import gzip
import os
import queue
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DEMO = ROOT / "tests" / "demo"
BTRACED = os.path.abspath(os.environ.get("BTRACED", str(ROOT / "build" / "btraced")))
GDB = os.environ.get("GDB", "gdb-multiarch")
# Seconds after which something hangs, on however busy a machine; nothing is measured against it.
PATIENCE = int(os.environ.get("BTRACED_PATIENCE", "300"))


class Failed(Exception):
    """The test found what should not be."""


class Skipped(Exception):
    """The test cannot run here."""


class TooLarge(Exception):
    """The test wants a package that is too large for `make deps`: no failure wherever it is missing."""


class Suite:
    """Test functions of one file, in order; run() prints a verdict each and ends the program."""

    def __init__(self):
        self.tests = []

    def test(self, name):
        def add(function):
            self.tests.append((name, function))
            return function
        return add

    @staticmethod
    def verdict(function):
        """PASS, FAIL or SKIP, and why; further lines of the reason begin with #."""
        Server.seen.clear()
        try:
            function()
            return "PASS", ""
        except TooLarge as why:
            return "SKIP", str(why)
        except Skipped as why:
            if os.environ.get("BTRACED_REQUIRE_DATA") != "1":
                return "SKIP", str(why)
            text = str(why)
        except Failed as why:
            text = str(why)
        except (OSError, EOFError, ValueError, KeyError, IndexError,
                subprocess.SubprocessError) as why:
            text = f"{type(why).__name__}: {why}"
        return "FAIL", "\n#   ".join((text.splitlines() or ["no reason"])[:40])

    def run(self):
        chosen = sys.argv[1:]  # parts of names, to run some only
        failed = 0
        for name, function in self.tests:
            if chosen and not any(part in name for part in chosen):
                continue
            word, text = self.verdict(function)
            failed += word == "FAIL"
            if word == "FAIL" and Server.crashed():
                text += "\n#   SERVER CRASHED"  # tests/run.sh: no second attempt for that
            print(f"{word} {name}{text and ': '}{text}", flush=True)
        for server in Server.running:
            server.kill()
        sys.exit(1 if failed else 0)


def complained(text):
    """Whether it has a sanitizer's report."""
    return re.search("Sanitizer|runtime error", text) is not None


def end_of(messages):
    """What a program wrote last, or the whole of a sanitizer's report."""
    report = re.search(r"(ERROR|WARNING): \w*Sanitizer(.|\n)*", messages)
    return report[0][:6000] if report else messages[-600:]


def expect(condition, text):
    if not condition:
        raise Failed(text)


def equal(got, wanted, what):
    if got != wanted:
        raise Failed(f"{what} is {got!r}, not {wanted!r}")


def same_list(got, wanted, what):
    """Like equal(), but names the first difference of two long lists."""
    for number, (ours, theirs) in enumerate(zip(got, wanted), 1):
        if ours != theirs:
            raise Failed(f"{what}: number {number} is {ours!r}, not {theirs!r}")
    equal(len(got), len(wanted), f"{what}: length")


def has(output, pattern, what="output"):
    """The match of a regular expression in GDB's output."""
    match = re.search(pattern, output, re.MULTILINE)
    if not match:
        raise Failed(f"{what} lacks '{pattern}':\n{output.strip()[-1500:]}")
    return match


def logged(program, pattern, what="standard error"):
    """The match in what a program has written to standard error: it may come a moment later than
    the answer to a packet."""
    end = time.monotonic() + PATIENCE
    while not re.search(pattern, program.stderr, re.MULTILINE) and time.monotonic() < end:
        time.sleep(0.05)
    return has(program.stderr, pattern, what)


def lacks(output, pattern, what="output"):
    match = re.search(pattern, output, re.MULTILINE)
    if match:
        raise Failed(f"{what} has '{match[0]}'")


def capture(folder):
    """Path of a folder of captures."""
    data = Path(os.environ.get("BTRACED_DATA", ROOT.parent / "shared" / "data"))
    if not (data / folder / "snapshot.ini").exists():
        raise Skipped(f"capture {folder} not found")
    return data / folder


def tool(name, package=None):
    """Also one of the administrator's, which are not in everybody's PATH. `package` is what `make deps`
    leaves out, and its size."""
    path = shutil.which(name, path=os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin")
    if not path:
        raise TooLarge(f"no program {name}: {package}") if package else Skipped(f"no program {name}")
    return path


def run(command, **options):
    """A program that must succeed; what it printed."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=PATIENCE, **options)
    expect(done.returncode == 0, f"{command[0]} ended with {done.returncode}: {done.stderr[:300]}")
    return done.stdout


_FOLDERS = []


def folder():
    """A temporary folder; it goes when the program ends."""
    _FOLDERS.append(tempfile.TemporaryDirectory(prefix="btraced-test."))
    return Path(_FOLDERS[-1].name)


def environment():
    """The tester's own GDB settings, language and debuginfod stay outside. Freed memory that a
    sanitizer holds back would look like a leak; the library of a test bench comes in front of it."""
    if not _FOLDERS:
        folder()
    asan = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "quarantine_size_mb=1",
                                  "verify_asan_link_order=0"]))
    return dict(os.environ, HOME=_FOLDERS[0].name, LC_ALL="C", DEBUGINFOD_URLS="",
                ASAN_OPTIONS=asan)


# The server.

class Server:
    """`btraced replay`, or another command, on a free port, ended by the `with` statement. That it ends well and
    prints nothing to stdout is part of every test."""

    running = []
    seen = []  # by the test that runs

    def __init__(self, recording, *options, listen="127.0.0.1:0", command=("replay",),
                 environ=(), below=()):
        self.lines = []
        self.ready = threading.Event()
        self.port = None
        expect(os.access(BTRACED, os.X_OK), f"no program {BTRACED}")
        self.process = subprocess.Popen(
            [*below, BTRACED, *command, "--listen", listen, *options, str(recording)],
            env=dict(environment(), **dict(environ)), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        Server.running.append(self)
        Server.seen.append(self)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.ready.wait(PATIENCE)
        if self.port is None:
            self.kill()
            raise Failed("server is not ready: " + "".join(self.lines)[:300])

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)
            if match := re.fullmatch(r"Listening on port (\d+)\n", line):
                self.port = int(match[1])
                self.ready.set()
        self.ready.set()

    @property
    def stderr(self):
        return "".join(self.lines)

    def memory(self):
        """Resident kilobytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)[1])

    @classmethod
    def crashed(cls):
        """Whether one ended by itself badly, or a sanitizer complained."""
        return any(server.process.poll() not in (None, 0, -signal.SIGKILL)
                   or complained(server.stderr) for server in cls.seen)

    def kill(self):
        self.process.kill()

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def stop(self):
        Server.running.remove(self)
        self.terminate()
        try:
            stdout = self.process.stdout.read()
            code = self.process.wait(PATIENCE)
        finally:
            self.kill()
        self.reader.join(PATIENCE)
        expect(code == 0, f"server ended with {code}: {end_of(self.stderr)}")
        equal(stdout, "", "standard output of the server")

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.stop()
        else:
            Server.running.remove(self)
            self.kill()
            self.process.wait()
        self.process.stdout.close()


# GDB.

# A server that gets no time for GDB's two seconds is asked again, and its answers are taken for others.
SETTINGS = ["set confirm off", "set pagination off", "set width 0", "set height 0",
            "set style enabled off", "set debuginfod enabled off", f"set remotetimeout {PATIENCE}"]


class Batch:
    """What GDB printed for each command of a session."""

    def __init__(self, commands, outputs):
        self.commands = commands
        self.outputs = outputs

    def all(self, command):
        return [o for c, o in zip(self.commands, self.outputs) if c == command]

    def __getitem__(self, command):
        """By number, or the first use of a command."""
        if isinstance(command, int):
            return self.outputs[command]
        found = self.all(command)
        expect(found, f"the session has no command '{command}'")
        return found[0]

    @property
    def text(self):
        return "\n".join(self.outputs)


# What GDB 16 words otherwise than 13, as 13 has it: the end of a replay, and a source that is not there.
WORDINGS = ((r"Reached end of recorded history; stopping\.(\n|\\n)(Backward|Following forward) execution [^.]*\.",
             "No more reverse-execution history."),
            (r"(?m)^warning: (\d+\t)(?:\./)?(.*: No such file or directory)$", r"\1\2."))


def in_words_of_13(text):
    for pattern, words in WORDINGS:
        text = re.sub(pattern, words, text)
    return text


def gdb(port, commands, elf=None, connect="target remote", before=()):
    """A session of stock GDB in batch mode. The first command of the result is the connection."""
    commands = list(commands)
    if connect:
        commands = [f"{connect} 127.0.0.1:{port}"] + commands
    line = [tool(GDB), "-q", "-nx", "-batch"]
    for command in SETTINGS + list(before):
        line += ["-ex", command]
    line += ["-ex", r"echo \n@@begin@@\n"]
    for number, command in enumerate(commands):
        line += ["-ex", command, "-ex", rf"echo \n@@{number}@@\n"]
    # GDB 16's log of packets has memory as it is: bytes of any value.
    done = subprocess.run(line + ([str(elf)] if elf else []), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="backslashreplace",
                          env=environment(), timeout=PATIENCE)
    text = in_words_of_13(done.stdout.split("\n@@begin@@\n", 1)[-1])
    outputs = []
    for number, command in enumerate(commands):
        output, mark, text = text.partition(f"\n@@{number}@@\n")
        expect(mark, f"GDB did not survive '{command}': {output[-600:]}")
        outputs.append(output)
    return Batch(commands, outputs)


class Instruction:
    """A row of `record instruction-history`; `raw` is what /r adds: a word or halfwords."""

    ROW = re.compile(r"^(\d+)\t(?:=> |   )(0x[0-9a-f]+)(?: <([^>]*)>)?:\t"
                     r"(?:([0-9a-f]{8}|[0-9a-f]{4}(?: [0-9a-f]{4})?) *\t)?(.*)$")

    def __init__(self, match):
        self.number = int(match[1])
        self.address = int(match[2], 16)
        self.where = match[3] or ""
        self.raw = (match[4] or "").split()
        self.text = match[5].split("\t@ ")[0].strip().replace("\t", " ")


def history(output):
    """The rows of an instruction history; anything else in it is an error."""
    rows = []
    for line in output.splitlines():
        if not line:
            continue
        match = Instruction.ROW.match(line)
        expect(match, f"not an instruction: {line!r}")
        rows.append(Instruction(match))
    return rows


def functions(output):
    """(number, name, first, last) of `record function-call-history /i`."""
    rows = []
    for line in output.splitlines():
        if not line:
            continue
        match = re.match(r"^(\d+)\t(\S+)\tinst (\d+),(\d+)$", line)
        expect(match, f"not a function: {line!r}")
        rows.append((int(match[1]), match[2], int(match[3]), int(match[4])))
    return rows


def record_counts(output):
    """(instructions, functions, gaps) of `info record`."""
    m = has(output, r"^Recorded (\d+) instructions in (\d+) functions \((\d+) gaps\)")
    return int(m[1]), int(m[2]), int(m[3])


def value(output):
    """The number that `p/x` printed."""
    return int(has(output, r"^\$\d+ = (0x[0-9a-f]+)")[1], 16)


class Mi:
    """GDB's machine interface, one command at a time."""

    def __init__(self, elf=None):
        line = [tool(GDB), "-q", "-nx", "--interpreter=mi3"] + ([str(elf)] if elf else [])
        self.process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env=environment())
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.token = 0
        for command in SETTINGS:
            self.command(f'-interpreter-exec console "{command}"')

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def _until(self, pattern):
        seen = []
        while True:
            try:
                line = self.lines.get(timeout=PATIENCE)
            except queue.Empty:
                raise Failed(f"GDB is silent, after: {seen[-5:]}") from None
            expect(line is not None, f"GDB ended, after: {seen[-5:]}")
            seen.append(line)
            if re.match(pattern, line):
                return seen

    def command(self, text):
        """All records up to the result; of a command that runs, up to *stopped."""
        self.token += 1
        self.process.stdin.write(f"{self.token}{text}\n")
        self.process.stdin.flush()
        records = self._until(rf"{self.token}\^")
        if records[-1].startswith(f"{self.token}^running"):
            records += self._until(r"\*stopped")
        return in_words_of_13("\n".join(records))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()


# The raw client.

def frame(payload):
    if isinstance(payload, str):
        payload = payload.encode("latin-1")
    return b"$" + payload + b"#%02x" % (sum(payload) & 0xff)


class Client:
    """The remote protocol by hand."""

    def __init__(self, port, acks=True, window=None):
        """`window`: bytes that the kernel keeps for who does not read; by itself, it is up to all
        that tcp_rmem allows."""
        self.socket = socket.socket()
        self.socket.settimeout(PATIENCE)
        if window:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.data = b""
        self.acks = True
        if not acks:
            equal(self.ask("QStartNoAckMode"), "OK", "QStartNoAckMode")
            self.acks = False

    def send(self, data):
        self.socket.sendall(data)

    def byte(self):
        if not self.data:
            self.data = self.socket.recv(65536)
            if not self.data:
                raise EOFError("the server has closed the connection")
        first, self.data = self.data[:1], self.data[1:]
        return first

    def reply(self):
        """Payload of the next packet, with its checksum checked and escapes undone."""
        while (start := self.byte()) != b"$":
            expect(start in b"+", f"byte {start!r} between packets")
        payload = bytearray()
        while (one := self.byte()) != b"#":
            payload += one
        digits = self.byte() + self.byte()
        equal(int(digits, 16), sum(payload) & 0xff, "checksum")
        if self.acks:
            self.send(b"+")
        expect(b"*" not in payload, "run-length encoded reply")
        return re.sub(rb"}(.)", lambda m: bytes([m[1][0] ^ 0x20]), bytes(payload),
                      flags=re.DOTALL).decode("latin-1")

    def ask(self, packet):
        self.send(frame(packet))
        return self.reply()

    def start(self):
        """The questions of a GDB that connects, and the features in the answer."""
        features = self.ask("qSupported:multiprocess+;swbreak+;hwbreak+;vContSupported+")
        equal(self.ask("Hg0"), "OK", "Hg0")
        has(self.ask("?"), "^T05")
        return features.split(";")

    def chunks(self, document, length):
        """The answers that make up a document, as GDB reads it: until an `l`."""
        answers = []
        offset = 0
        while True:
            answer = self.ask(f"qXfer:{document}:{offset:x},{length:x}")
            answers.append(answer)
            expect(answer[:1] in ("m", "l"), f"{document} at {offset:#x}: {answer[:80]!r}")
            expect(len(answer) - 1 <= length, f"{document}: {len(answer) - 1} bytes for {length}")
            offset += len(answer) - 1
            if answer[0] == "l":
                return answers
            expect(len(answer) > 1, f"{document}: an `m` without data")

    def document(self, document, length=0xffb):
        return "".join(answer[1:] for answer in self.chunks(document, length))

    def blocks(self, annex="all", length=0xffb):
        return blocks(self.document(f"btrace:read:{annex}", length))

    def close(self, reset=False):
        if reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def closed(self):
        """Waits until the server ends the connection; what it still sends is dropped."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionResetError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def blocks(document):
    """(begin, end) in the order of the document, newest first; (1, 0) is a gap."""
    expect(document.startswith('<!DOCTYPE btrace SYSTEM "btrace.dtd">\n<btrace version="1.0">'),
           f"document begins with {document[:60]!r}")
    rest = re.sub(r'<block begin="0x[0-9a-f]+" end="0x[0-9a-f]+"/>', "", document)
    rest = re.sub(r"\s+", " ", rest).strip()
    equal(rest, '<!DOCTYPE btrace SYSTEM "btrace.dtd"> <btrace version="1.0"> </btrace>',
          "document without its blocks")
    return [(int(b, 16), int(e, 16)) for b, e in
            re.findall(r'<block begin="(0x[0-9a-f]+)" end="(0x[0-9a-f]+)"/>', document)]


# Recordings and what really ran.

GAP = (1, 0)


def t32_size(halfword):
    return 4 if halfword >> 11 in (0b11101, 0b11110, 0b11111) else 2


def expand(first, last, isa, code, base):
    """Addresses from `first` to exactly `last`; the code decides on sizes."""
    address, found = first, []
    while address <= last:
        found.append(address)
        if isa == "A":
            address += 4
        else:
            address += t32_size(struct.unpack_from("<H", code, address - base)[0])
    expect(found and found[-1] == last, f"{first:#x} to {last:#x}: no instruction at the end")
    return found


def demo_run():
    """[(address, 'A' or 'T')] of the demo's run, from the emulator."""
    with gzip.open(DEMO / "run.txt.gz", "rt", encoding="ascii") as run_file:
        lines = [line.split() for line in run_file]
    found = [(int(line[1], 16), line[2]) for line in lines if line[0] == "I"]
    expect(len(found) > 1000, f"run.txt.gz has only {len(found)} instructions")
    return found


DEMO_PC = 0x8001044C  # [regs] of the recording
DEMO_BASE = 0x80010000


def demo_code():
    return (DEMO / "recording" / "dump_0.bin").read_bytes()


def copy_recording(source):
    """A copy that the test may change."""
    copy = folder() / "recording"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("*.gz"))
    for path in [copy, *copy.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)
    return copy


def wait_for(condition, what):
    """Polls; used for the other side of a socket only."""
    end = time.monotonic() + PATIENCE
    while not condition():
        expect(time.monotonic() < end, f"{what} never happens")
        time.sleep(0.01)
