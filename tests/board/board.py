# SPDX-License-Identifier: BSD-3-Clause
"""The virtual board for tests: compiles a program, runs it in QEMU with the plugin, reads the truth,
and writes what the board sent as a CoreSight snapshot folder."""

import array
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
PLUGIN = Path(os.environ.get("BTRACED_BOARD", ROOT / "build" / "virtual-board.so"))
TOOLS = ("qemu-system-arm", "arm-none-eabi-gcc", "arm-none-eabi-objcopy", "arm-none-eabi-nm",
         "qemu-system-aarch64", "clang", "ld.lld")


def one_instruction_a_block():
    """The option that QEMU calls differently from version 8.1 on; the old one is gone from 10."""
    text = subprocess.run(["qemu-system-arm", "--version"], capture_output=True, text=True, check=False)
    version = re.search(r"version (\d+)\.(\d+)", text.stdout)
    new = version and tuple(map(int, version.groups())) >= (8, 1)
    return ["-accel", "tcg,one-insn-per-tb=on"] if new else ["-singlestep"]


CR_DATA_ADDRESS = 1 << 3
CR_BROADCAST = 1 << 8
CR_CYCLE_ACCURATE = 1 << 12
CR_TIMESTAMP = 1 << 28
CR_RETURN_STACK = 1 << 29
A9 = {"etmidr": 0x411CF301, "etmccer": 0x00C018EA}
A15 = {"etmidr": 0x411CF312, "etmccer": 0x34C01AC2}
A7 = {"etmidr": 0x410CF250, "etmccer": 0x344008F2}
M4 = {"etmidr": 0x4114F250, "etmccer": 0x18541800}
M3_OLD = {"etmidr": 0x4114F240, "etmccer": 0x18541800}

# TRCCONFIGR of an ETMv4.
V4_BROADCAST, V4_CYCLES, V4_CONTEXT, V4_VMID = 1 << 3, 1 << 4, 1 << 6, 1 << 7
V4_TIMESTAMP, V4_RETURN_STACK = 1 << 11, 1 << 12
A53 = {"trcidr0": 0x28000EA1, "trcidr2": 0x488, "trcdevarch": 0x47704A13}
M7 = {"trcidr0": 0x280006E1, "trcidr2": 4, "trcdevarch": 0x47704A13}


def cr_context_id(code):
    return code << 14


def missing():
    """Name of a tool that is not there, or None."""
    return next((name for name in TOOLS if not shutil.which(name)), None)


class BoardError(Exception):
    pass


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise BoardError(f"{command[0]}: exit status {done.returncode}: {done.stderr[-300:]}")
    return done.stdout


class Machine:
    """A machine of QEMU: how a program for it is compiled, and what its cores are called."""

    def __init__(self, name, core, flags, sources, script, profile="a", variant=""):
        self.name, self.core, self.profile, self.variant = name, core, profile, variant
        self.flags, self.sources, self.script = flags, sources, script
        self.wide = profile == "a64"  # addresses have 64 bits

    def program(self, folder, rounds):
        return Program(folder, rounds, self)

    def compiler(self):
        return ["clang", "-fno-builtin"] if self.wide else \
            ["arm-none-eabi-gcc", "-fno-tree-loop-distribute-patterns"]

    def qemu(self):
        """Program and machine."""
        return ["qemu-system-aarch64", "-M", self.name, "-cpu", "cortex-a53"] if self.wide else \
            ["qemu-system-arm", "-M", self.name]


A_FLAGS = ["-mcpu=cortex-a9", "-marm"]
A_SOURCES = ("start.S", "program.c")
M_SOURCES = ("start_m.S", "program_m.c")
VEXPRESS = Machine("vexpress-a9", "Cortex-A9", A_FLAGS, A_SOURCES, "link.ld")
# The same cores, called by the name of one that has an ETMv3.
VEXPRESS_ETM = Machine("vexpress-a9", "Cortex-A7", A_FLAGS, A_SOURCES, "link.ld")
# A SysTick about each 1500 instructions of 32 ns; only the first has addresses without a device.
MPS2 = Machine("mps2-an385", "Cortex-M3",
               ["-mcpu=cortex-m3", "-mthumb", "-DTICK=1237", "-DHAS_HOLES",
                "-Wl,--defsym=code_base=0"], M_SOURCES, "link_m.ld", "m")
# Handlers most of the time: exceptions in a row without an instruction in between.
MPS2_BUSY = Machine("mps2-an385", "Cortex-M3",
                    ["-mcpu=cortex-m3", "-mthumb", "-DTICK=61", "-DHAS_HOLES",
                     "-Wl,--defsym=code_base=0"], M_SOURCES, "link_m.ld", "m", "-busy")
VEXPRESS_BUSY = Machine("vexpress-a9", "Cortex-A7", [*A_FLAGS, "-DTIMER=301"], A_SOURCES,
                        "link.ld", variant="-busy")
# With floating-point registers in its frames.
MPS2_M7 = Machine("mps2-an500", "Cortex-M7",
                  ["-mcpu=cortex-m7", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16",
                   "-DTICK=1237", "-DHAS_HOLES", "-Wl,--defsym=code_base=0"], M_SOURCES,
                  "link_m.ld", "m")
MPS2_M7_BUSY = Machine("mps2-an500", "Cortex-M7",
                       ["-mcpu=cortex-m7", "-mthumb", "-DTICK=61", "-DHAS_HOLES",
                        "-Wl,--defsym=code_base=0"], M_SOURCES, "link_m.ld", "m", "-busy")
# In Secure state all along.
MPS2_M33 = Machine("mps2-an505", "Cortex-M33",
                   ["-mcpu=cortex-m33", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16",
                    "-DTICK=811", "-DHAS_HOLES", "-Wl,--defsym=code_base=0x10000000",
                    "-Wl,--defsym=data_base=0x38000000"], M_SOURCES, "link_m.ld", "m")
# Called by the name of a core that has an ETMv4 and runs these instruction sets.
VEXPRESS_V4 = Machine("vexpress-a9", "Cortex-A53", A_FLAGS, A_SOURCES, "link.ld", "a", "-v4")
A64_FLAGS = ["--target=aarch64-none-elf", "-mcpu=cortex-a53", "-mgeneral-regs-only", "-fuse-ld=lld",
             "-DTIMER=619"]
A64_SOURCES = ("start_a64.S", "program_a64.c")
VIRT = Machine("virt", "Cortex-A53", A64_FLAGS, A64_SOURCES, "link_a64.ld", "a64")
VIRT_BUSY = Machine("virt", "Cortex-A53", [*A64_FLAGS[:-1], "-DTIMER=151"], A64_SOURCES,
                    "link_a64.ld", "a64", "-busy")
VIRT_SMP = Machine("virt", "Cortex-A53", [*A64_FLAGS, "-DCORES"], A64_SOURCES, "link_a64.ld",
                   "a64", "-smp")
NETDUINO = Machine("netduinoplus2", "Cortex-M4",
                   ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16",
                    "-DTICK=8111", "-Wl,--defsym=code_base=0x08000000"],
                   M_SOURCES, "link_m.ld", "m")


def segments(elf):
    """[(address, bytes)] of what is loaded from a 64-bit ELF file."""
    data = Path(elf).read_bytes()
    at, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    found = []
    for i in range(count):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", data, at + i * size)
        if kind == 1 and length:
            found.append((address, data[offset:offset + length] + bytes(-length % 4)))
    return found


class Program:
    """The machine's program compiled for a number of rounds: ELF file, image of its code."""

    more = ()  # further arguments of QEMU

    def __init__(self, folder, rounds, machine=VEXPRESS):
        self.machine, self.rounds = machine, rounds
        self.elf = Path(folder) / f"{machine.name}{machine.variant}{rounds}.elf"
        code = Path(folder) / f"{machine.name}{machine.variant}{rounds}.bin"
        run([*machine.compiler(), *machine.flags, "-O2", "-g", "-ffreestanding", "-Wall",
             "-Wextra", "-Werror", f"-DROUNDS={rounds}", "-nostdlib",
             f"-Wl,-T,{HERE / machine.script}", "-Wl,-n", "-Wl,--build-id=none", "-o",
             str(self.elf), *[str(HERE / name) for name in machine.sources],
             *([] if machine.wide else ["-lgcc"])])
        if machine.wide:
            self.dumps = segments(self.elf)
            return
        run(["arm-none-eabi-objcopy", "-O", "binary", "-j", ".text", str(self.elf), str(code)])
        self.code = code.read_bytes()
        self.code += bytes(-len(self.code) % 4)  # OpenCSD takes whole halfwords only
        table = run(["arm-none-eabi-nm", str(self.elf)])
        self.symbols = {name: int(value, 16)
                        for value, name in re.findall(r"^(\w+) \w (\w+)$", table, re.MULTILINE)}
        self.base = self.symbols["code_start"]
        self.dumps = [(self.base, self.code)]

    def size_at(self, address, thumb):
        """Bytes of the instruction there."""
        if not thumb or self.machine.wide:
            return 4
        base, code = next((base, code) for base, code in self.dumps
                          if base <= address < base + len(code))
        at = address - base
        half = code[at] | code[at + 1] << 8
        return 4 if half >> 11 >= 0x1D else 2

    def straight(self, first, last, thumb):
        """Instructions from `first` up to the one at `last` as the truth has them, or None."""
        found = []
        while first <= last:
            found.append(first | thumb)
            first += self.size_at(first, thumb)
        return found if found and found[-1] & ~1 == last else None


def qemu(program, arguments, extra=(), deterministic=True):
    """Command line; `arguments`: a dictionary for the plugin."""
    arguments = {"profile": program.machine.profile, **arguments}
    text = ",".join(f"{name}={value}" for name, value in arguments.items())
    timing = ["-icount", "shift=5,sleep=off"] if deterministic else []
    if program.machine.name.startswith("vexpress"):  # QEMU 10 has no silent sound card by itself
        timing += ["-global", "pl041.audiodev=none"]
    return [*program.machine.qemu(), "-display", "none", "-monitor", "none",
            "-serial", "none", "-audiodev", "none,id=none", "-semihosting-config",
            "enable=on,target=native", *timing, *extra, "-kernel", str(program.elf),
            *program.more, "-plugin", f"{PLUGIN},{text}"]


ENVIRONMENT = dict(os.environ, QEMU_AUDIO_DRV="none")


def run_to_end(program, arguments, extra=(), deterministic=True, timeout=60):
    """Runs the program to its end. Returns what it printed."""
    if not PLUGIN.exists():
        raise BoardError(f"{PLUGIN} does not exist: make virtual-board")
    done = subprocess.run(qemu(program, arguments, extra, deterministic), capture_output=True,
                          text=True, env=ENVIRONMENT, timeout=timeout)
    if "virtual-board:" in done.stderr:
        raise BoardError(done.stderr.strip())
    return done.stdout + done.stderr


class Truth:
    """What ran: `ran` (addresses with the Thumb bit), `log` [(index, name, [words])]."""

    def __init__(self, path, core=0, wide=False):
        path = f"{path}.{core}" if core else str(path)
        self.ran = array.array("Q" if wide else "I")
        data = Path(path).read_bytes()
        self.ran.frombytes(data[:len(data) // self.ran.itemsize * self.ran.itemsize])
        if sys.byteorder == "big":
            self.ran.byteswap()
        lines = [line.split() for line in Path(path + ".log").read_text().splitlines()]
        self.log = [(int(words[0]), words[1], words[2:]) for words in lines]

    def events(self, *names):
        return [entry for entry in self.log if entry[1] in names]

    def exceptions(self):
        """[(index, number, preferred return address with the Thumb bit)]"""
        return [(index, int(words[0]), int(words[2], 16))
                for index, _, words in self.events("exception")]

    def chained(self):
        """Numbers of the entries of exceptions() that come straight after another's return."""
        return [i for i, (_, _, words) in enumerate(self.events("exception"))
                if words[-1] == "chained"]


def unit_type(program, arguments):
    """(type in a snapshot, default registers) of the trace unit that the arguments ask for."""
    if arguments.get("protocol", "ptm") == "ptm":
        return "PTM1.1", A15
    if arguments["protocol"] == "etmv4":
        registers = M7 if program.machine.profile == "m" else A53
        return f"ETM4.{arguments.get('trcdevarch', registers['trcdevarch']) >> 16 & 0xf}", registers
    registers = M4 if program.machine.profile == "m" else A7
    return f"ETM3.{arguments.get('etmidr', registers['etmidr']) >> 4 & 0xf}", registers


def source_name(arguments, core=0):
    """Device name of a core's trace unit in a snapshot."""
    return f"{'PTM' if arguments.get('protocol', 'ptm') == 'ptm' else 'ETM'}_{core}"


def unit_registers(arguments, unit, core):
    """{name: value} of a core's trace unit, as a snapshot has them."""
    if arguments.get("protocol") != "etmv4":
        return {"ETMCR": arguments.get("etmcr", 0),
                "ETMIDR": arguments.get("etmidr", unit["etmidr"]),
                "ETMCCER": arguments.get("etmccer", unit["etmccer"]),
                "ETMTRACEIDR": arguments.get("etmtraceidr", 0x10) + core}
    architecture = arguments.get("trcdevarch", unit["trcdevarch"])
    return {"TRCCONFIGR": arguments.get("trcconfigr", 1),
            "TRCTRACEIDR": arguments.get("trctraceidr", 0x10) + core,
            "TRCIDR0": arguments.get("trcidr0", unit["trcidr0"]),
            "TRCIDR1": 0x4100F402 | (architecture >> 16 & 0xF) << 4,
            "TRCIDR2": arguments.get("trcidr2", unit["trcidr2"]),
            "TRCIDR8": arguments.get("trcidr8", 0),
            "TRCDEVARCH": architecture}


def write_snapshot(folder, program, trace, arguments, source_format, cores=1, core_type=None):
    """Snapshot folder for bytes of the board. `arguments`: those of the plugin; `core_type`: for
    those who do not know the machine's."""
    folder = Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    dumps = ""
    for i, (address, code) in enumerate(program.dumps, 1):
        (folder / f"code{i}.bin").write_bytes(code)
        dumps += f"\n[dump{i}]\nfile=code{i}.bin\naddress={address:#x}\nlength={len(code):#x}\n"
    (folder / "trace.bin").write_bytes(trace)
    kind, unit = unit_type(program, arguments)
    names = [source_name(arguments, core) for core in range(cores)]
    devices = []
    for core, name in enumerate(names):
        devices += [f"cpu_{core}", name.lower()]
        (folder / f"cpu_{core}.ini").write_text(
            f"[device]\nname=cpu_{core}\nclass=core\ntype={core_type or program.machine.core}\n\n"
            f"[regs]\nPC=0x0\n{dumps}")
        registers = unit_registers(arguments, unit, core)
        (folder / f"{name.lower()}.ini").write_text(
            f"[device]\nname={name}\nclass=trace_source\ntype={kind}\n\n[regs]\n" +
            "".join(f"{register}={value:#x}\n" for register, value in registers.items()))
    (folder / "snapshot.ini").write_text(
        "[snapshot]\nversion=1.0\n\n[device_list]\n" +
        "".join(f"device{i}={name}.ini\n" for i, name in enumerate(devices)) +
        "\n[trace]\nmetadata=trace.ini\n")
    (folder / "trace.ini").write_text(
        "[trace_buffers]\nbuffers=buffer0\n\n[buffer0]\nname=ETB_0\nfile=trace.bin\n"
        f"format={source_format}\n\n[source_buffers]\n" +
        "".join(f"{name}=ETB_0\n" for name in names) + "\n[core_trace_sources]\n" +
        "".join(f"cpu_{core}={name}\n" for core, name in enumerate(names)))


class Live:
    """A running board: its output is collected, the machine stopped and started by QMP, the trace
    unit asked by the control socket."""

    def __init__(self, folder, program, arguments, extra=()):
        folder = Path(folder)
        self.data = bytearray()
        self.paths = {name: folder / f"{name}.sock" for name in ("out", "control", "qmp")}
        for path in self.paths.values():
            path.unlink(missing_ok=True)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.paths["out"]))
        self.listener.listen(1)
        arguments = {"out": f"unix:{self.paths['out']}",
                     "control": f"unix:{self.paths['control']}", **arguments}
        self.process = subprocess.Popen(
            qemu(program, arguments, ["-S", "-qmp", f"unix:{self.paths['qmp']},server=on,wait=off",
                                      *extra]),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
        self.listener.settimeout(20)
        self.link, _ = self.listener.accept()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.control = self._connect("control").makefile("rw")
        self.qmp = self._connect("qmp").makefile("rw")
        json.loads(self.qmp.readline())
        self.machine("qmp_capabilities")

    def _read(self):
        while True:
            piece = self.link.recv(65536)
            if not piece:
                return
            self.data += piece

    def _connect(self, name):
        for _ in range(200):
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(20)
            try:
                connection.connect(str(self.paths[name]))
                return connection
            except OSError:
                connection.close()
                time.sleep(0.02)
        raise BoardError(f"no {name} socket")

    def machine(self, command, **arguments):
        """A QMP command: cont, stop, quit."""
        self.qmp.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.qmp.flush()
        while True:
            answer = json.loads(self.qmp.readline())
            if "error" in answer:
                raise BoardError(f"QMP {command}: {answer['error']}")
            if "return" in answer:
                return answer["return"]

    def pc(self):
        """Of the first core."""
        text = self.machine("human-monitor-command", **{"command-line": "info registers"})
        return int(re.search(r"R15=(\w+)", text).group(1), 16)

    def ask(self, command):
        """Reply of the control socket to a line, without its line end."""
        self.control.write(command + "\n")
        self.control.flush()
        return self.control.readline().rstrip("\n")

    def executed(self):
        """Instructions that the cores have executed."""
        return int(re.search(r"instructions=(\d+)", self.ask("status")).group(1))

    def run_for(self, instructions):
        """Starts the machine and waits until it has executed so many, or more."""
        goal = self.executed() + instructions
        self.machine("cont")
        limit = time.monotonic() + 20
        while self.executed() < goal:
            if time.monotonic() > limit:
                raise BoardError("the machine does not run")

    def flush(self):
        """Everything pending is in `data` afterwards."""
        words = self.ask("flush").split()
        if words[0] != "ok":
            raise BoardError("flush: " + " ".join(words))
        limit = time.monotonic() + 10
        while len(self.data) < int(words[1]) and time.monotonic() < limit:
            time.sleep(0.005)
        return int(words[1])

    def close(self):
        try:
            self.machine("quit")
            self.process.wait(20)
        except (OSError, ValueError, BoardError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.reader.join(20)
        self.link.close()
        self.listener.close()
