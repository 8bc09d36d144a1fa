# SPDX-License-Identifier: BSD-3-Clause
"""Programs of two parts for the virtual board's Cortex-M33: a Secure one, which starts, and a
Non-secure one, linked with the gates that the first one's linker has made."""

from pathlib import Path

import board

SECURE_CODE = 0x10000000  # from here on
GATES = 0x10008000  # where Non-secure code may enter Secure code
FLAGS = ["-mcpu=cortex-m33", "-mthumb", "-mfloat-abi=soft"]
SECURE_FLAGS = ["-mcmse", "-Wl,--cmse-implib", f"-Wl,--section-start=.gnu.sgstubs={GATES:#x}"]
SECURE_SOURCES = ("start_secure.S", "program_secure.c")
NONSECURE_SOURCES = ("start_nonsecure.S", "program_nonsecure.c")


class Machine(board.Machine):
    def __init__(self, tick, variant=""):
        super().__init__("mps2-an505", "Cortex-M33", [*FLAGS, f"-DTICK={tick}"], SECURE_SOURCES,
                         "link_secure.ld", "m", variant)

    def program(self, folder, rounds):
        return Program(folder, rounds, self)


MPS2 = Machine(811, "-two-states")
MPS2_BUSY = Machine(97, "-two-states-busy")


class Program(board.Program):
    """`elf` is the Secure part, `nonsecure` the other one."""

    def __init__(self, folder, rounds, machine=MPS2, level="O2"):
        self.machine, self.rounds = machine, rounds
        stem = Path(folder) / f"{machine.name}{machine.variant}{rounds}{level}"
        self.elf, self.nonsecure = stem.with_suffix(".elf"), stem.with_suffix(".ns.elf")
        gates = stem.with_suffix(".gates.o")
        common = ["arm-none-eabi-gcc", *machine.flags, f"-{level}", "-g", "-ffreestanding",
                  "-fno-tree-loop-distribute-patterns", "-Wall", "-Wextra", "-Werror",
                  f"-DROUNDS={rounds}", "-nostdlib", "-Wl,-n", "-Wl,--build-id=none"]
        board.run([*common, *SECURE_FLAGS, f"-Wl,--out-implib={gates}",
                   f"-Wl,-T,{board.HERE / machine.script}", "-o", str(self.elf),
                   *[str(board.HERE / name) for name in machine.sources], "-lgcc"])
        board.run([*common, f"-Wl,-T,{board.HERE / 'link_nonsecure.ld'}", "-o", str(self.nonsecure),
                   *[str(board.HERE / name) for name in NONSECURE_SOURCES], str(gates), "-lgcc"])
        self.more = ("-device", f"loader,file={self.nonsecure}")
        self.dumps = [self._part(self.elf, ".text"), self._part(self.elf, ".gnu.sgstubs"),
                      self._part(self.nonsecure, ".text")]
        self.base, self.code = self.dumps[0]
        self.symbols = {}
        for elf in (self.nonsecure, self.elf):
            for line in board.run(["arm-none-eabi-nm", str(elf)]).splitlines():
                words = line.split()
                if len(words) == 3:
                    self.symbols[words[2]] = int(words[0], 16)

    def _part(self, elf, section):
        """(address, bytes) of a section."""
        code = Path(f"{elf}{section}.bin")
        board.run(["arm-none-eabi-objcopy", "-O", "binary", "-j", section, str(elf), str(code)])
        headers = board.run(["arm-none-eabi-objdump", "-h", "-j", section, str(elf)])
        address = next(int(line.split()[3], 16) for line in headers.splitlines()
                       if f" {section} " in line)
        data = code.read_bytes()
        return address, data + bytes(-len(data) % 4)
