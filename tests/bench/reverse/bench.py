# SPDX-License-Identifier: BSD-3-Clause
"""Programs for reverse debugging: compiled, run in QEMU with all that the core did written down, and
made into recordings with the registers and the memory of the halt."""

import array
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "board"))
import secure  # noqa: E402
HERE = Path(__file__).resolve().parent
BOARD = Path(os.environ.get("BTRACED_BOARD", ROOT / "build" / "virtual-board.so"))
TRUTH = ROOT / "build" / "reverse-truth.so"
ENGINE = ROOT / "build" / "reverse-engine"
TOOLS = ("qemu-system-arm", "arm-none-eabi-gcc", "arm-none-eabi-nm", "arm-none-eabi-objcopy")
LEVELS = ("O0", "O1", "O2", "Os")
RAM_SIZE = 0x4000
STATE = 17  # words of a state: r0-r15, PSR
SYSTEM = 40  # bytes of an enum truth_system
WIDE_SYSTEM = 8 * 94  # of an enum truth_wide
WIDE_STATE = 34  # of 64 bits: x0-x30, SP, PC, PSTATE
STORE, FRAME = 1, 2  # flags of an access
FPCCR = 0xE000EF34  # GDB wants it, and FPCAR behind it, for frames with floating-point registers
FLOAT_CONTROL = bytes.fromhex("000000c000000000")


class BenchError(Exception):
    pass


def missing():
    """What is not there, or None."""
    for path in (BOARD, TRUTH, ENGINE):
        if not path.exists():
            return f"{path.name} is not built: make reverse"
    return next((f"no program {name}" for name in TOOLS if not shutil.which(name)), None)


def run(command, timeout=60):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          timeout=timeout, env=dict(os.environ, QEMU_AUDIO_DRV="none"))
    if done.returncode != 0:
        raise BenchError(f"{command[0]}: exit status {done.returncode}: {done.stderr[-400:]}")
    return done.stdout


class Machine:
    """A machine of QEMU, the trace unit of its core, and how programs for it are compiled."""

    def __init__(self, qemu, core, ram, flags, sources, script, plugin, unit, registers):
        self.qemu, self.core, self.ram = qemu, core, ram
        self.flags, self.sources, self.script = flags, sources, script
        self.plugin, self.unit, self.registers = plugin, unit, registers
        self.m_profile = core.startswith("Cortex-M")
        self.fpu = "-mfloat-abi=hard" in flags  # its registers are in frames
        self.wide = qemu.startswith("virt,")
        self.state, self.pc_at = (WIDE_STATE, 32) if self.wide else (STATE, 15)


COMMON = ("main.c", "calls.c", "data.c")
A9 = Machine("vexpress-a9", "Cortex-A9", 0x60040000,
             ["-mcpu=cortex-a9", "-mno-unaligned-access", "-mfloat-abi=soft", "-DINPUT=0x1000005c"],
             ("start_a.S", *COMMON), "a9.ld",
             {"etmcr": 0x20000000, "etmidr": 0x411CF301, "etmccer": 0x00C018EA}, "PTM1.0",
             ("PTM_0", {"ETMCR": 0x20000000, "ETMIDR": 0x411CF301, "ETMCCER": 0x00C018EA}))
TRAPS = Machine("vexpress-a9", "Cortex-A9", A9.ram, A9.flags, ("start_traps.S", *COMMON), "a9.ld",
                A9.plugin, A9.unit, A9.registers)
A53_UNIT = {"TRCCONFIGR": 0x1001, "TRCIDR0": 0x28000EA1, "TRCIDR2": 0x488}
A53 = Machine("virt,secure=on,virtualization=on", "Cortex-A53", 0x400a0000,
              ["--target=aarch64-none-elf", "-mcpu=cortex-a53", "-mgeneral-regs-only", "-mstrict-align", "-fno-unwind-tables",
               "-fno-asynchronous-unwind-tables"], (), "a53.ld",
              {"protocol": "etmv4", "profile": "a64", **{name.lower(): value for name, value in A53_UNIT.items()}}, "ETM4.0",
              ("ETM_0", {**A53_UNIT, "TRCIDR1": 0x4100F402}))
M4 = Machine("netduinoplus2", "Cortex-M4", 0x20000000,
             ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-DTICK=1237",
              "-DINPUT=0xe000e018",
              "-Wl,--defsym=code_base=0x08000000"],
             ("board_m.c", *COMMON), "m.ld",
             {"protocol": "etmv3", "profile": "m", "etmcr": 0, "etmidr": 0x4114F250,
              "etmccer": 0x18541800}, "ETM3.5",
             ("ETM_0", {"ETMCR": 0, "ETMIDR": 0x4114F250, "ETMCCER": 0x18541800}))
M3 = Machine("mps2-an385", "Cortex-M3", 0x20000000, ["-mcpu=cortex-m3", "-mthumb", "-DTICK=617",
              "-DINPUT=0xe000e018",
              "-Wl,--defsym=code_base=0"],
             ("board_m.c", *COMMON), "m.ld", M4.plugin, "ETM3.5", M4.registers)


def etmv4(qemu, core, flags, ram, minor, extra):
    """A Cortex-M with an ETMv4: traces no data, has a return stack."""
    unit = {"TRCCONFIGR": 0x1001, "TRCIDR0": 0x280006E1, "TRCIDR2": 4,
            "TRCDEVARCH": 0x47704A13 | minor << 16}
    plugin = {"protocol": "etmv4", "profile": "m", **{n.lower(): v for n, v in unit.items()}}
    return Machine(qemu, core, ram, [*flags, "-mthumb", "-DINPUT=0xe000e018", *extra],
                   ("board_m.c", *COMMON), "m.ld", plugin, f"ETM4.{minor}",
                   ("ETM_0", {**unit, "TRCIDR1": 0x4100F402 | minor << 4, "TRCIDR8": 0}))


M7 = etmv4("mps2-an500", "Cortex-M7", ["-mcpu=cortex-m7", "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"],
           0x20000000, 0, ["-DTICK=1237", "-Wl,--defsym=code_base=0"])
M33 = etmv4("mps2-an505", "Cortex-M33",
            ["-mcpu=cortex-m33", "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"], 0x38000000, 2,
            ["-DTICK=811", "-Wl,--defsym=code_base=0x10000000",
             "-Wl,--defsym=data_base=0x38000000"])
KINDS = {"a32": (A9, ["-marm"]), "t32": (A9, ["-mthumb"]), "mixed": (A9, ["-marm", "-DMIXED"]),
         "m3": (M3, []), "m4": (M4, ["-DHAS_FPU"])}
# Not among the figures of docs/values.md.
V4_KINDS = {"m7": (M7, ["-DHAS_FPU"]), "m33": (M33, ["-DHAS_FPU"])}

# Exceptions of all kinds: for a debugger, most handlers are where its callers end.
TRAP_KINDS = {"traps": (TRAPS, ["-marm"]), "traps-mixed": (TRAPS, ["-marm", "-DMIXED"])}


class Case:
    """One build of the program: `kind` of KINDS and those below, optimisation level, number of rounds."""

    more, more_truth = (), {}  # arguments of QEMU, of the plugin that knows the truth
    more_code = ()             # (address, bytes)
    patience = 60              # seconds that a run may take
    promises = ()              # how exceptions stack all the time, for the engine; None: it changes

    def __init__(self, folder, kind, level, rounds=1, sources=None, build=None):
        self.machine, extra = build or (KINDS | V4_KINDS | TRAP_KINDS)[kind]
        self.kind, self.level = kind, level
        self.name = f"{kind}-{level}"
        self.folder = Path(folder) / f"{self.name}-{rounds}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.elf = self.folder / f"{self.name}.elf"
        target = HERE / "target"
        sources = [str(target / name) for name in sources or self.machine.sources]
        flags = [*self.machine.flags, *extra, f"-{level}", "-gdwarf-4", "-ffreestanding", "-Wall", "-Wextra", "-Werror",
                 f"-DROUNDS={rounds}", f"-I{target}", f"-Wa,-I{target}"]
        if self.machine.wide:
            self._compile_wide(flags, sources, target / self.machine.script)
        else:
            run(["arm-none-eabi-gcc", *flags, "-fno-tree-loop-distribute-patterns", "-nostdlib",
                 f"-Wl,-T,{target / self.machine.script}", "-Wl,-n", "-Wl,--build-id=none", "-o", str(self.elf), *sources, "-lgcc"])
        tools = "llvm-" if self.machine.wide else "arm-none-eabi-"
        self.symbols = {}
        for line in run([f"{tools}nm", str(self.elf)]).splitlines():
            words = line.split()
            if len(words) == 3:
                self.symbols[words[2]] = int(words[0], 16) & ~1
        self.base = self.symbols["code_start"]
        code = self.folder / "code.bin"
        run([f"{tools}objcopy", "-O", "binary", "-j", ".text", str(self.elf), str(code)])
        self.code = code.read_bytes()

    def _compile_wide(self, flags, sources, script):
        objects = []
        for source in sources:
            objects.append(str(self.folder / f"{Path(source).stem}.o"))
            run(["clang", *flags, "-fno-builtin", "-Wno-unused-command-line-argument", "-Wno-unused-function", "-c", source, "-o", objects[-1]])
        linked = [flag[4:] for flag in flags if flag.startswith("-Wl,")]
        run(["ld.lld", "-n", "--build-id=none", *linked, "-T", str(script), *objects, "-o", str(self.elf)])

    def execute(self):
        """Runs it; `states` and `accesses` afterwards say what happened."""
        machine, out = self.machine, self.folder
        board = {"out": f"file:{out}/trace.bin", "format": "raw", "truth": f"file:{out}/path",
                 **machine.plugin}
        truth = {"states": out / "states", "accesses": out / "accesses", "ram": out / "ram.bin",
                 "base": f"{machine.ram:x}", "size": f"{RAM_SIZE:x}",
                 "halt": f"{self.symbols['halt_here']:x}", **self.more_truth}
        if machine.m_profile and not self.more_truth.get("twostates") or machine.wide:
            truth["system"] = out / "system"
        plugins = []
        for path, options in ((BOARD, board), (TRUTH, truth)):
            text = ",".join(f"{name}={value}" for name, value in options.items())
            plugins += ["-plugin", f"{path},{text}"]
        quiet = ["-global", "pl041.audiodev=none"] if machine.qemu == "vexpress-a9" else []
        wide = ["qemu-system-aarch64", "-cpu", "cortex-a53"] if machine.wide else ["qemu-system-arm"]
        run([*wide, "-M", machine.qemu, "-display", "none", "-monitor", "none",
             "-serial", "none", "-audiodev", "none,id=none", *quiet, "-semihosting-config",
             "enable=on,target=native", "-icount", "shift=5,sleep=off", *secure.board.one_instruction_a_block(),
             "-kernel", str(self.elf), *self.more, *plugins], self.patience)
        self.load()
        self.write_recording()
        return self

    def load(self):
        number = "Q" if self.machine.wide else "I"
        self.states = array.array(number, (self.folder / "states").read_bytes())
        self.count = len(self.states) // self.machine.state - 1  # instructions that ran; the last one did not
        self.accesses = list(struct.iter_unpack("<IIHHQ", (self.folder / "accesses").read_bytes()))
        self.ram = (self.folder / "ram.bin").read_bytes()
        path = array.array(number, (self.folder / "path").read_bytes())
        if sys.byteorder == "big":
            raise BenchError("little-endian hosts only")
        self._leave_out(path)
        for position in range(self.count):
            thumb = 0 if self.machine.wide else self.psr(position) >> (24 if self.machine.m_profile else 5) & 1
            if position >= len(path) or path[position] != self.pc(position) | thumb:
                raise BenchError(f"{self.name}: the two plugins disagree at {position}")
        if len(path) > self.count + 1:
            raise BenchError(f"{self.name}: the run goes on after its end")

    def _leave_out(self, path):
        """Instructions that began and gave an exception instead are not in the path. What they had stored by then was."""
        thumb = 24 if self.machine.m_profile else 5
        self.abandoned = {}  # position of the handler: SP in front of the instruction
        kept, numbers, dropped, size = array.array(path.typecode), {}, {}, self.machine.state
        for position in range(self.count + 1):
            number = len(kept) // size
            here = self.pc(position) | (0 if self.machine.wide else self.psr(position) >> thumb & 1)
            if position < self.count and number < len(path) and path[number] != here:
                if self.pc(position + 1) == self.pc(position) and self.reg(position + 1, 13) != self.reg(position, 13):
                    raise BenchError(f"{self.name}: the path lacks an instruction that ran, at {position}")
                dropped[position] = number
                self.abandoned[number] = self.reg(position, 13)
                continue
            numbers[position] = number
            kept.extend(self.states[position * size:(position + 1) * size])
        if not dropped:
            return
        self.states, self.count = kept, len(kept) // size - 1
        self.accesses = [(numbers[a[0]], *a[1:]) if a[0] in numbers else (dropped[a[0]], *a[1:3], a[3] | FRAME, a[4])
                         for a in self.accesses if a[0] in numbers or a[3] & STORE]
        if (system := self.folder / "system").exists():
            old, one = system.read_bytes(), WIDE_SYSTEM if self.machine.wide else SYSTEM
            system.write_bytes(b"".join(old[one * position:one * (position + 1)] for position in numbers))
        (self.folder / "states").write_bytes(kept.tobytes())
        (self.folder / "accesses").write_bytes(
            b"".join(struct.pack("<IIHHQ", *a) for a in self.accesses))

    def reg(self, position, number):
        return self.states[position * self.machine.state + number]

    def pc(self, position):
        return self.reg(position, self.machine.pc_at)

    def psr(self, position):
        return self.reg(position, self.machine.pc_at + 1)

    def write_recording(self):
        """A snapshot folder: trace, code, registers and memory as they are at the halt."""
        machine = self.machine
        self.recording = place = self.folder / "recording"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        shutil.copy(self.folder / "trace.bin", place / "trace.bin")
        (place / "code.bin").write_bytes(self.code)
        (place / "ram.bin").write_bytes(self.ram)
        names = [*(f"R{i}" for i in range(13)), "SP", "LR", "PC",
                 "xPSR" if machine.m_profile else "CPSR"]
        if machine.wide:
            names = [*(f"X{i}" for i in range(31)), "SP", "PC", "CPSR"]
        registers = "".join(f"{name}={self.reg(self.count, i):#010x}\n"
                            for i, name in enumerate(names))
        unit, values = machine.registers
        (place / "core.ini").write_text(
            f"[device]\nname=cpu_0\nclass=core\ntype={machine.core}\n\n[regs]\n{registers}\n"
            f"[dump1]\nfile=code.bin\naddress={self.base:#x}\nlength={len(self.code):#x}\n\n"
            f"[dump2]\nfile=ram.bin\naddress={machine.ram:#x}\nlength={len(self.ram):#x}\n")
        (place / "unit.ini").write_text(
            f"[device]\nname={unit}\nclass=trace_source\ntype={machine.unit}\n\n[regs]\n" +
            "".join(f"{name}={value:#x}\n" for name, value in values.items()) +
            f"{'TRC' if 'TRCCONFIGR' in values else 'ETM'}TRACEIDR=0x10\n")
        if machine.m_profile:
            (place / "float.bin").write_bytes(FLOAT_CONTROL)
            with open(place / "core.ini", "a", encoding="ascii") as file:
                file.write(f"\n[dump3]\nfile=float.bin\naddress={FPCCR:#x}\nlength=8\n")
        for number, (address, code) in enumerate(self.more_code, 4):
            (place / f"code{number}.bin").write_bytes(code)
            with open(place / "core.ini", "a", encoding="ascii") as file:
                file.write(f"\n[dump{number}]\nfile=code{number}.bin\naddress={address:#x}\n"
                           f"length={len(code):#x}\n")
        (place / "snapshot.ini").write_text(
            "[snapshot]\nversion=1.0\n\n[device_list]\ndevice0=core.ini\ndevice1=unit.ini\n\n"
            "[trace]\nmetadata=trace.ini\n")
        (place / "trace.ini").write_text(
            "[trace_buffers]\nbuffers=buffer0\n\n[buffer0]\nname=buffer\nfile=trace.bin\n"
            f"format=source_data\n\n[source_buffers]\n{unit}=buffer\n\n"
            f"[core_trace_sources]\ncpu_0={unit}\n")


TWO_STATES = (0x38000000, 0x28200000)  # memory of Secure and of Non-secure state


class TwoStates(Case):
    """The virtual board's program with a Secure and a Non-secure part. `ram`: the memory that is
    written down, of either."""

    kind = "two-states"

    def __init__(self, folder, level, rounds, ram):
        self.machine = Machine(M33.qemu, M33.core, ram, [], (), "", M33.plugin, M33.unit,
                               M33.registers)
        self.level = level
        self.name = f"{self.kind}-{level}-{ram:x}"
        self.folder = Path(folder) / f"{self.name}-{rounds}"
        self.folder.mkdir(parents=True, exist_ok=True)
        program = secure.Program(self.folder, rounds, secure.MPS2_BUSY, level)
        self.elf, self.nonsecure, self.more = program.elf, program.nonsecure, program.more
        self.symbols = {name: value & ~1 for name, value in program.symbols.items()}
        (self.base, self.code), *self.more_code = program.dumps
        self.more_truth = {"twostates": 1}


class Memory:
    """The program's memory at any position, from what was loaded and each store since."""

    def __init__(self, case):
        base = case.machine.ram
        self.base, self.words = base, {}
        for index, address, size, flags, value in case.accesses:
            if not flags & STORE or not base <= address < base + RAM_SIZE:
                continue
            position = index if flags & FRAME else index + 1
            for at in range(address & ~3, address + size, 4):
                self._store(at, position, address, size, value)
        for at in range(base, base + RAM_SIZE, 4):
            last = self.word(case.count, at)
            there = int.from_bytes(case.ram[at - base:at - base + 4], "little")
            if last != there:
                raise BenchError(f"{case.name}: stores do not add up at {at:#x}: {last:#x}, "
                               f"{there:#x}")

    def _store(self, at, position, address, size, value):
        positions, values = self.words.setdefault(at, ([0], [0]))
        word = bytearray(values[-1].to_bytes(4, "little"))
        for i in range(4):
            if address <= at + i < address + size:
                word[i] = value >> 8 * (at + i - address) & 0xff
        positions.append(position)
        values.append(int.from_bytes(word, "little"))

    def word(self, position, at):
        """The aligned word as it is before instruction `position` runs."""
        if at not in self.words:
            return 0
        positions, values = self.words[at]
        low, high = 0, len(positions)
        while low < high:
            middle = (low + high) // 2
            if positions[middle] <= position:
                low = middle + 1
            else:
                high = middle
        return values[low - 1]
