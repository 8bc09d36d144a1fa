# SPDX-License-Identifier: BSD-3-Clause
"""Code sections of a case to memory dumps, and a CoreSight trace snapshot around them.

A statement is `ADDRESS: instruction`, `FIRST..LAST: instruction` (a fill, LAST inclusive), or only
the instruction, which then follows the one before. Later statements overwrite earlier ones, so
ARM and Thumb code, fills and literals may overlap. Branches name their target as a number.
`=> HEX` behind an instruction says which opcode it must assemble to. Behind `.a64` instructions are
words (`.inst 0xD65F03C0`): the assembler is one of AArch32.
"""
import os
import re
import struct
import subprocess

import etmv4
import instrumentation
import port
from casefile import BYTE_PROTOCOLS, REGISTERS, CaseError

AS = ['arm-none-eabi-as', '-mcpu=cortex-a15', '-mfpu=neon', '-o']
STATES = {'.arm': '.arm', '.thumb': '.thumb', '.a64': '.arm'}  # as the assembler calls them
BRANCH = re.compile(r'((?:b|bl|blx|cbz|cbnz|b[a-z]{2}|bl[a-z]{2})(?:\.[nw])?\s+(?:r\d+,\s*)?)'
                    r'(0x[0-9A-Fa-f]+)$')


def statements(lines):
    """(line, text) to (line, state, first or None, last or None, instruction, opcode or None)."""
    state = '.arm'
    for line, text in lines:
        for part in text.split(';'):
            part = part.strip()
            if part in STATES:
                state = STATES[part]
                continue
            part, _, opcode = (x.strip() for x in part.partition('=>'))
            m = re.fullmatch(r'(?:(0x[0-9A-Fa-f]+)(?:\.\.(0x[0-9A-Fa-f]+))?:\s*)?(\S.*)', part)
            if not m:
                raise CaseError(f"line {line}: not a statement: '{part}'")
            first = int(m[1], 16) if m[1] else None
            last = int(m[2], 16) if m[2] else None
            yield line, state, first, last, m[3], opcode or None


def source(items):
    """Assembly text: one section for each stated address, a symbol before each statement."""
    out = ['.syntax unified']
    place = []  # for each statement: address of its section, or None where it continues
    base = None
    for index, (line, state, first, last, text, _) in enumerate(items):
        if first is not None:
            base = (index, first)
            # the padding keeps the alignment that PC-relative operands depend on
            out += [f'.section s{index},"ax",%progbits', state]
            out += [f'.skip {first & 3}'] if first & 3 else []
            out.append(f'b{index}:')
        elif base is None:
            raise CaseError(f'line {line}: the first statement needs an address')
        place.append(base)
        out += [state, f'i{index}:']
        text = BRANCH.sub(lambda m, b=base: f'{m[1]}b{b[0]}+({m[2]}-{b[1]:#x})', text)
        if last is None:
            out.append(text)
        else:
            size = 4 if state == '.arm' or '.w' in text.split()[0] else 2
            count, rest = divmod(last + 1 - first, size)
            if rest or count <= 0:
                raise CaseError(f'line {line}: the fill does not hold whole instructions')
            out += [f'.rept {count}', text, '.endr']
        out.append(f'e{index}:')
    return '\n'.join(out) + '\n', place


def elf_sections(data):
    """Section table of a 32-bit little-endian ELF file: (name, type, content, link)."""
    offset, = struct.unpack_from('<I', data, 32)
    size, count, names = struct.unpack_from('<HHH', data, 46)
    raw = [struct.unpack_from('<10I', data, offset + i * size) for i in range(count)]
    strings = data[raw[names][4]:][:raw[names][5]]

    def name(at):
        return strings[at:strings.index(b'\0', at)].decode()
    return [(name(r[0]), r[1], data[r[4]:r[4] + r[5]] if r[1] != 8 else b'') for r in raw], raw


def symbols(sections, raw):
    """Name to (section index, value) of every symbol."""
    out = {}
    for (_, kind, content), head in zip(sections, raw):
        if kind != 2:
            continue
        strings = sections[head[6]][2]
        for at in range(0, len(content), 16):
            name, value, _, _, _, index = struct.unpack_from('<IIIBBH', content, at)
            text = strings[name:strings.index(b'\0', name)].decode()
            out[text] = (index, value)
    return out


def assemble(lines, folder):
    """Statements to a dictionary of address to byte."""
    items = list(statements(lines))
    if not items:
        return {}
    text, place = source(items)
    path = os.path.join(folder, 'code.o')
    run = subprocess.run(AS + [path], input=text, text=True, capture_output=True, check=False)
    if run.returncode:
        raise CaseError('assembler: ' + run.stderr.strip())
    with open(path, 'rb') as file:
        sections, raw = elf_sections(file.read())
    os.remove(path)
    for name, kind, _ in sections:
        if kind in (4, 9):
            raise CaseError(f'assembler left a relocation in {name}')
    table = symbols(sections, raw)
    memory = {}
    for index, (line, state, _, last, what, opcode) in enumerate(items):
        section, start = table[f'i{index}']
        end = table[f'e{index}'][1]
        code = sections[section][2][start:end]
        at = place[index][1] + start - (place[index][1] & 3)
        made = opcode_text(code, state)
        wanted = (opcode or made).lower()
        if (made[:len(wanted)] if last else made) != wanted:
            raise CaseError(f"line {line}: '{what}' is {made}, not {opcode}")
        memory.update((at + i & 0xffffffff, byte) for i, byte in enumerate(code))
    return memory


def opcode_text(code, state):
    """Opcode as listings write it: a word in ARM state, halfwords in their order in Thumb."""
    if state == '.arm':
        return code[::-1].hex()
    return ''.join(code[i:i + 2][::-1].hex() for i in range(0, len(code), 2))


def runs(memory):
    """Contiguous runs of the memory: (address, bytes)."""
    out, start, data = [], None, bytearray()
    for address in sorted(memory):
        if start is not None and address == start + len(data):
            data.append(memory[address])
            continue
        if start is not None:
            out.append((start, bytes(data)))
        start, data = address, bytearray([memory[address]])
    if start is not None:
        out.append((start, bytes(data)))
    return out


def write(folder, name, text):
    """One file of the snapshot, text or bytes."""
    with open(os.path.join(folder, name), 'wb') as file:
        file.write(text if isinstance(text, bytes) else text.encode())


def write_core(case, folder, core_type):
    """The core's device file with its memory dumps, and the dumps themselves."""
    lines = ['[device]', 'name=cpu_0', 'class=core', f'type={core_type}', '', '[regs]', 'R15=0']
    lines += [f"SCTLR={case.regs['SCTLR']:#x}"] if 'SCTLR' in case.regs else []
    lines.append('')
    count = 0
    for attributes, code in case.dumps:
        for address, data in runs(assemble(code, folder)):
            write(folder, f'mem_{count}.bin', data)
            lines += [f'[dump{count}]', f'file=mem_{count}.bin', f'address={address:#010x}',
                      f'length={len(data):#x}']
            lines += [f'{key}={text}' for key, text in attributes.items()] + ['']
            count += 1
    write(folder, 'cpu_0.ini', '\n'.join(lines))


def write_snapshot(case, folder):
    """A snapshot of one core with one trace source, its bytes as they come (no frames)."""
    name, kind, core, data = 'PTM_0', None, None, None
    if case.protocol == 'PTM':
        minor = case.regs['ETMIDR'] >> 4 & 0xf
        kind, core = f'PFT1.{minor}', 'Cortex-A9' if minor == 0 else 'Cortex-A15'
        data = b''.join(p.data for p in case.trace)
    elif case.protocol == 'ETM3':
        minor = case.regs['ETMIDR'] >> 4 & 0xf
        name, kind, core = 'ETM_0', f'ETM3.{minor}', case.core or BYTE_PROTOCOLS['ETM3'][2]
        data = b''.join(p.data for p in case.trace)
    elif case.protocol in instrumentation.PROTOCOLS:
        name, kind, core = BYTE_PROTOCOLS[case.protocol][0], case.protocol, case.core
        data = instrumentation.pack(case)
    elif case.protocol in etmv4.CORES:
        name, kind, core = 'ETM_0', etmv4.source_type(case.protocol, case.regs), case.core
        data = b''.join(p.data for p in case.trace)
    else:
        name, kind = 'ETM_0', case.protocol
        core, data = 'ARM926EJ-S' if kind[3] == '1' else 'ARM1020E', port.pack(case)[0]
    write_core(case, folder, core)
    regs = [f'{reg}({REGISTERS[reg]:#05x})={value:#010x}' if reg in REGISTERS
            else f'{reg}={value:#x}' for reg, value in case.regs.items() if reg != 'SCTLR']
    write(folder, 'source.ini', '\n'.join(['[device]', f'name={name}', 'class=trace_source',
                                           f'type={kind}', '', '[regs]'] + regs + ['']))
    write(folder, 'trace.bin', data)
    write(folder, 'trace.ini', '[trace_buffers]\nbuffers=buffer0\n\n[buffer0]\nname=BUF_0\n'
          f'file=trace.bin\nformat=source_data\n\n[source_buffers]\n{name}=BUF_0\n\n'
          f'[core_trace_sources]\ncpu_0={name}\n')
    write(folder, 'snapshot.ini', '[snapshot]\nversion=1.0\n\n[device_list]\n'
          'device0=cpu_0.ini\ndevice1=source.ini\n\n[trace]\nmetadata=trace.ini\n')
