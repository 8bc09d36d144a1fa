# SPDX-License-Identifier: BSD-3-Clause
"""A target that has recorded everything: GDB's reverse execution over the truth of a run. What stock
GDB does with it is what it should do with reconstructed values."""

import re
import socket
import threading

import bench

CORE = ("".join(f'<reg name="r{i}" bitsize="32" type="uint32"/>' for i in range(13)) +
        '<reg name="sp" bitsize="32" type="data_ptr"/><reg name="lr" bitsize="32" type="int"/>'
        '<reg name="pc" bitsize="32" type="code_ptr"/>')
A_PROFILE = ('<feature name="org.gnu.gdb.arm.core">' + CORE +
             '<reg name="cpsr" bitsize="32" regnum="25"/></feature>')
M_PROFILE = ('<feature name="org.gnu.gdb.arm.m-profile">' + CORE +
             '<reg name="xpsr" bitsize="32" regnum="25"/></feature>')
VFP = ('<feature name="org.gnu.gdb.arm.vfp">' +
       "".join(f'<reg name="d{i}" bitsize="64" type="ieee_double"/>' for i in range(16)) +
       '<reg name="fpscr" bitsize="32" type="int"/></feature>')
VFP_DIGITS = 2 * (16 * 8 + 4)  # the truth has none of them
PSR = 25
BEGIN, END = "T05replaylog:begin;thread:1;", "T05replaylog:end;thread:1;"
STEP, HIT = "T05thread:1;", "T05swbreak:;thread:1;"


class FullRecording:
    """Serves one connection after the other on a port of its own until it is closed."""

    def __init__(self, case):
        self.case, self.memory = case, bench.Memory(case)
        self.position, self.wanted = case.count, None
        self.breakpoints = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()

    # Packets.

    def _serve(self):
        while True:
            try:
                link, _ = self.listener.accept()
            except OSError:
                return
            self.position, self.wanted = self.case.count, None
            self.breakpoints.clear()
            with link:
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                try:
                    self._talk(link)
                except (OSError, EOFError):
                    pass

    def _talk(self, link):
        data = b""
        while True:
            match = re.search(rb"\$([^#]*)#..", data)
            if not match:
                more = link.recv(65536)
                if not more:
                    raise EOFError
                data += more
                continue
            data = data[match.end():]
            packet = match[1].decode("latin-1")
            link.sendall(b"+")
            for answer in self._answers(packet):
                body = answer.encode("latin-1")
                link.sendall(b"$" + body + b"#%02x" % (sum(body) & 0xff))
            if packet[:1] == "D":
                raise EOFError

    def _answers(self, packet):
        if packet.startswith("qRcmd,"):
            text = self._monitor(bytes.fromhex(packet[6:]).decode())
            return ["O" + (text + "\n").encode().hex(), "OK"] if text else ["OK"]
        if packet.startswith("qSupported"):
            return ["PacketSize=4000;qXfer:features:read+;swbreak+;ReverseStep+;ReverseContinue+"]
        if packet.startswith("qXfer:features:read:target.xml:"):
            return [self._description(packet)]
        fixed = {"?": STEP, "qfThreadInfo": "m1", "qsThreadInfo": "l", "qC": "QC1",
                 "qAttached": "1", "vCont?": "vCont;c;C;s;S", "D": "OK"}
        if packet in fixed:
            return [fixed[packet]]
        handlers = {"H": lambda: "OK", "g": self._registers, "p": lambda: self._register(packet),
                    "m": lambda: self._read(packet), "Z": lambda: self._breakpoint(packet),
                    "z": lambda: self._breakpoint(packet), "D": lambda: "OK", "M": lambda: "E01",
                    "X": lambda: "E01", "P": lambda: "E01", "G": lambda: "E01"}
        if packet in ("bs", "bc") or packet.startswith("vCont;"):
            return [self._move(packet)]
        return [handlers[packet[:1]]() if packet[:1] in handlers else ""]

    def _description(self, packet):
        text = ('<?xml version="1.0"?><!DOCTYPE target SYSTEM "gdb-target.dtd"><target>'
                "<architecture>arm</architecture>" +
                (M_PROFILE if self.case.machine.m_profile else A_PROFILE) +
                (VFP if self._has_fpu() else "") + "</target>")
        offset, length = (int(n, 16) for n in packet.split(":")[-1].split(","))
        piece = text[offset:offset + length]
        return ("m" if offset + length < len(text) else "l") + piece

    def _hex(self, number):
        return self.case.reg(self.position, number).to_bytes(4, "little").hex()

    def _registers(self):
        return "".join(self._hex(i) for i in range(17)) + "x" * (VFP_DIGITS * self._has_fpu())

    def _has_fpu(self):
        return self.case.machine.fpu

    def _register(self, packet):
        number = int(packet[1:], 16)
        return self._hex(16 if number == PSR else number) if number < 17 or number == PSR else "E01"

    def byte(self, address):
        """As it was at the position, or None."""
        machine, code = self.case.machine, self.case.code
        if 0 <= address - self.case.base < len(code):
            return code[address - self.case.base]
        if 0 <= address - machine.ram < bench.RAM_SIZE:
            return self.memory.word(self.position, address & ~3) >> 8 * (address & 3) & 0xff
        if machine.m_profile and 0 <= address - bench.FPCCR < len(bench.FLOAT_CONTROL):
            return bench.FLOAT_CONTROL[address - bench.FPCCR]
        return None

    def _read(self, packet):
        address, length = (int(n, 16) for n in packet[1:].split(","))
        found = bytearray()
        for at in range(address, address + length):
            value = self.byte(at)
            if value is None:
                break
            found.append(value)
        return found.hex() or "E01"

    def _breakpoint(self, packet):
        kind, address = packet[1], int(packet.split(",")[1], 16)
        if kind not in "01":
            return ""
        if packet[0] == "Z":
            self.breakpoints.add(address)
        else:
            self.breakpoints.discard(address)
        return "OK"

    # Motion.

    def _monitor(self, text):
        words = text.split()
        if words[0] == "goto":
            self.wanted = int(words[1]) - 1
            return ""
        if words[0] == "where":
            return f"instruction {self.position + 1}, of a full recording"
        return "not here"

    def _step(self, step):
        """False: there is nothing in that direction."""
        if not 0 <= self.position + step <= self.case.count:
            return False
        self.position += step
        return True

    def _move(self, packet):
        if self.wanted is not None:
            self.position, self.wanted = self.wanted, None
            return STEP
        step = -1 if packet in ("bs", "bc") else 1
        if packet == "bs" or packet.startswith("vCont;s"):
            return STEP if self._step(step) or step > 0 else BEGIN
        while self._step(step):
            if self.case.pc(self.position) in self.breakpoints:
                return HIT
        return BEGIN if step < 0 else END
