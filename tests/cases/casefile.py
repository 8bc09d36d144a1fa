# SPDX-License-Identifier: BSD-3-Clause
"""Reads a .case file: code, trace bytes with the packets they are, and the elements expected.

Anything that is not understood is an error: a line that is
skipped would be a check that cannot fail.
"""
import re

import etmv4
import instrumentation
import port
from packets import ETM3_PACKETS, PACKETS

ISAS = ('A32', 'T32', 'T32EE', 'Jazelle', 'A64')
SECURITY = ('S', 'NS', 'HYP')
EXCEPTION_NAMES = {1: 'debug', 2: 'SMC', 3: 'HYP', 4: 'async-abort', 5: 'thumbee-check', 8: 'reset',
                   9: 'UND', 10: 'SVC', 11: 'pabt', 12: 'dabt', 13: 'generic', 14: 'IRQ', 15: 'FIQ'}
GAP_CAUSES = ('bad-packet', 'no-code', 'unknown-address', 'desync', 'wire', 'lost-bytes',
              'overwritten', 'no-sync', 'silent', 'filter', 'overflow', 'debug')
REGISTERS = {'ETMCR': 0x000, 'ETMCCR': 0x001, 'ETMIDR': 0x079, 'ETMCCER': 0x07A,
             'ETMTRACEIDR': 0x080, **etmv4.REGISTERS, **instrumentation.REGISTERS}
# Not of the trace unit: see decoder/port/port_cycle.h, etmv1.h, etmv2.h.
SETTINGS = ('PORT_LAYOUT', 'SCTLR', 'HOLD_SINGLE', 'DATA_LATENCY', 'VALUE_ORDER', 'SWP_ADDRESSES',
            'CPRT_VALUES', 'TD_IDLE', 'STATUS_CODES', 'TFO_HEADER', 'TFO_VALUE', 'GROUP_LATENCY',
            'TFO4_CYCLES', 'WAIT_CODE', 'TRIGGER_TFO', 'MISS_TAG0', 'WORD_ORDER', 'PIPESTAT3',
            'ABORT_STATUS', 'WAIT_SYNC')
PORT_REGS = {'ETM1': {'ETMCR': 0x10}, 'ETM2': {'ETMCR': 0x10, 'ETMIDR': 0x41000100}}
# Protocols that are bytes, not cycles of a port: name of the source, registers, core.
BYTE_PROTOCOLS = {
    'PTM': ('PTM_0', {'ETMCR': 0, 'ETMIDR': 0x411CF312, 'ETMCCER': 0x34C01AC2,
                      'ETMTRACEIDR': 0x10}, None),
    'ETM3': ('ETM_0', {'ETMCR': 0, 'ETMIDR': 0x410CF250, 'ETMCCER': 0x344008F2,
                       'ETMTRACEIDR': 0x10}, 'Cortex-A7'),
    **{name: ('ETM_0', etmv4.registers(name, core), core) for name, core in etmv4.CORES.items()},
    **instrumentation.PROTOCOLS,
}
DUMP_ATTRIBUTES = ('space',)

PACKET_TABLES = {'PTM': PACKETS, 'ETM3': ETM3_PACKETS, 'ETM4': etmv4.PACKETS,
                 'ETE': etmv4.PACKETS, **instrumentation.PACKETS}
# In place of a number: known in its low bits only; what follows an exception packet.
ADDRESS_WORDS = ('partial', 'return', 'target', 'none')


class CaseError(Exception):
    """The case file itself is wrong."""


class Packet:
    """One line of a trace section: where, which bytes, what they are."""

    def __init__(self, offset, data, kind, detail):
        self.offset, self.data, self.kind, self.detail = offset, data, kind, detail

    def row(self):
        """As the program lists it: offset, bytes, packet, detail."""
        detail = dict(self.detail)
        if self.kind in ('unsynced', 'incomplete', 'end'):
            detail['count'] = len(self.data)
        if self.kind in ('reserved', 'malformed'):
            detail['header'] = self.data[0]
        text = '' if self.kind == 'unsynced' else self.data.hex(' ').upper()
        return self.offset, text, self.kind, detail


class NibblePacket(Packet):
    """The same where packets begin at any nibble: offset and data count nibbles."""

    def row(self):
        detail = dict(self.detail)
        if self.kind == 'unsynced':
            detail['count'] = len(self.data) // 2
        elif self.kind != 'async':
            detail['nibbles'] = ''.join(f'{nibble:X}' for nibble in self.data)
        return self.offset // 2, '', self.kind, detail


class Case:
    """One test: what the snapshot holds, and what its listings must say."""

    def __init__(self, name, line):
        self.name, self.line = name, line
        self.protocol = 'PTM'
        self.regs = dict(BYTE_PROTOCOLS['PTM'][1])
        self.core = None  # its type, if the protocol does not say
        self.options = []
        self.cycles = None   # ETMv1, ETMv2: the port, see port.py
        self.packets = None
        self.dumps = [({}, [])]  # (attributes, [(line number, statement)])
        self.trace = None
        self.elements = None
        self.instructions = None


def number(text, what='number'):
    """A number as C writes it; `what` names it in the error."""
    try:
        return int(text, 0)
    except ValueError:
        raise CaseError(f"bad {what} '{text}'") from None


def value_of(key, text):
    """Values that are numbers are compared as numbers, names as names."""
    if key in ('isa', 'sec', 'atoms', 'gap', 'cause', 'name', 'access', 'state', 'from-isa',
               'from-sec', *instrumentation.WORDS):
        return text
    if key == 'address' and text in ADDRESS_WORDS:
        return text
    return number(text, key)


def pairs(words, allowed):
    """key=value words to a dictionary, each key once and known."""
    out = {}
    for word in words:
        key, sep, text = word.partition('=')
        if not sep or key not in allowed:
            raise CaseError(f"unknown word '{word}'")
        if key in out:
            raise CaseError(f"'{key}' is given twice")
        out[key] = value_of(key, text)
    return out


def take(words, pattern, what):
    """Removes the next word, which must match."""
    if not words or not re.fullmatch(pattern, words[0]):
        raise CaseError(f"{what} expected, not '{words[0] if words else 'the end of the line'}'")
    return words.pop(0)


SHAPES = {
    'address': r'0x[0-9A-F]+',
    'cid': r'0x[0-9A-F]+',
    'vmid': r'0x[0-9A-F]+',
    'isa': '|'.join(ISAS),
    'sec': '|'.join(SECURITY),
    'atoms': '[EWN]+|-',
}


def parse_packet(words, protocol):
    """`branch 0x18 A32 S exception=14` to kind and detail."""
    kind = words.pop(0)
    table = PACKET_TABLES[protocol]
    if kind not in table:
        raise CaseError(f"unknown packet '{kind}'")
    if protocol in instrumentation.PROTOCOLS:
        return kind, pairs(words, table[kind])
    positional, required, optional = table[kind]
    detail = dict(etmv4.DEFAULTS.get(kind, ()))
    for item in positional:
        key = item.rstrip('?')
        shape = SHAPES[key] + ('|partial' if key == 'address' else '')
        if item.endswith('?') and not (words and re.fullmatch(shape, words[0])):
            continue
        detail[key] = value_of(key, take(words, shape, key))
    detail.update(pairs(words, required + optional))
    if detail.get('sec', 'S') not in (etmv4.SECURITY if table is etmv4.PACKETS else SECURITY):
        raise CaseError(f"unknown security state '{detail['sec']}'")
    for key in required:
        if key not in detail:
            raise CaseError(f"{kind} without '{key}'")
    return kind, detail


def parse_trace_line(text, offset, protocol):
    """`12: 84 86  x3 atom E` gives three packets if x3, else one; checks the offset."""
    if protocol in instrumentation.NIBBLES:
        return parse_nibbles(text, offset, protocol)
    m = re.fullmatch(r'(\d+): ((?:[0-9A-F]{2}(?:\*\d+)?)(?: [0-9A-F]{2}(?:\*\d+)?)*)  +(.*)', text)
    if not m:
        raise CaseError('expected: OFFSET: BYTES  packet')
    if int(m[1]) != offset:
        raise CaseError(f'offset {m[1]}, but the bytes before it are {offset}')
    data = bytearray()
    for token in m[2].split(' '):
        byte, _, times = token.partition('*')
        data += bytes([int(byte, 16)]) * (int(times) if times else 1)
    words = m[3].split()
    repeat = int(words.pop(0)[1:]) if re.fullmatch(r'x\d+', words[0]) else 1
    kind, detail = parse_packet(words, protocol)
    size = len(data)
    return [Packet(offset + i * size, bytes(data), kind, detail) for i in range(repeat)]


def parse_nibbles(text, offset, protocol):
    """`22: F003  version value=3`: nibbles in the order of the stream, offsets count them."""
    m = re.fullmatch(r'(\d+): ([0-9A-F]+(?:\*\d+)?(?: [0-9A-F]+)*)  +(.*)', text)
    if not m or int(m[1]) != offset:
        raise CaseError(f'expected: {offset}: NIBBLES  packet')
    digits = ''
    for token in m[2].split():
        part, _, times = token.partition('*')
        digits += part * int(times or 1)
    kind, detail = parse_packet(m[3].split(), protocol)
    return [NibblePacket(offset, bytes(int(digit, 16) for digit in digits), kind, detail)]


def block(first, end, count, isa, mark, cycles):
    """A run of instructions. E, N: condition of its waypoint; upd, cut: no condition known."""
    return ('block', {'first': first, 'end': end, 'count': count, 'isa': isa,
                      'condition': {'E': 'pass', 'N': 'fail', 'upd': '', 'cut': ''}[mark],
                      'cycles': cycles})


def parse_block(text):
    m = re.fullmatch(r'\[(0x[0-9A-F]+)-(0x[0-9A-F]+)\) n=(\d+) (\w+) (E|N|upd|cut)'
                     r'(?: cycles=(\d+))?', text)
    if not m or m[4] not in ISAS:
        raise CaseError('expected: [FIRST-END) n=COUNT ISA E|N|upd|cut')
    cycles = int(m[6]) if m[6] else None
    return [block(int(m[1], 16), int(m[2], 16), int(m[3]), m[4], m[5], cycles)]


def parse_steps(text):
    """`steps 0x1000 by 8 n=2 A32: E N EE`: one block of two instructions for each letter; `E1 N0`:
    with cycles."""
    m = re.fullmatch(r'steps (0x[0-9A-F]+) by (\d+)(?: n=(\d+))? (\w+): ([EN][EN0-9 ]*)', text)
    if not m or m[4] not in ISAS:
        raise CaseError('expected: steps FIRST by SIZE n=COUNT ISA: E N ...')
    at, size, out = int(m[1], 16), int(m[2]), []
    for mark, cycles in re.findall(r'([EN])(\d*)', m[5]):
        cycles = int(cycles) if cycles else None
        out.append(block(at, at + size, int(m[3] or 1), m[4], mark, cycles))
        at += size
    return out


def parse_trace_on(words):
    """`trace-on 1 0x8000 A32 S`; in data-only mode `trace-on 1 S`."""
    detail = {'reason': int(take(words, '[0-3]', 'reason'))}
    if not (words and re.fullmatch(SHAPES['sec'], words[0])):
        detail['address'] = number(take(words, SHAPES['address'], 'address'))
        detail['isa'] = take(words, SHAPES['isa'], 'isa')
    detail['sec'] = take(words, SHAPES['sec'], 'security state')
    detail.update(pairs(words, ('cycles', 'gap')))
    return 'trace-on', detail


def parse_exception(words):
    """`exception 14 ret 0x1004 to 0x18 [T32]`, `exception return`."""
    if words == ['return']:
        return 'exception-return', {}
    detail = {'number': number(take(words, r'\d+', 'exception number'))}
    detail['name'] = EXCEPTION_NAMES.get(detail['number'], '?')
    take(words, 'ret', "'ret'")
    back = take(words, r'0x[0-9A-F]+|\?', "return address or '?'")
    if back != '?':
        detail['return'] = number(back)
    take(words, 'to', "'to'")
    vector = take(words, r'0x[0-9A-F]+|\?', "vector or '?'")
    if vector == '?':
        detail.update(pairs(words, ('cycles', 'canceled', 'name')))
        return 'exception', detail
    detail['vector'] = number(vector)
    # A32 goes without saying.
    named = words and re.fullmatch(SHAPES['isa'], words[0])
    detail['isa'] = take(words, SHAPES['isa'], 'isa') if named else 'A32'
    detail.update(pairs(words, ('cycles', 'canceled', 'name')))
    return 'exception', detail


def parse_data(words):
    """`data load 0x40000100 value=0x12 bytes=4 back=2`; ? for an address or access not known."""
    detail = {'access': take(words, r'load|store|\?', "'load', 'store' or '?'")}
    address = take(words, r'0x[0-9A-F]+|\?', "address or '?'")
    if address != '?':
        detail['address'] = number(address)
    detail['back'] = 1
    detail.update(pairs(words, ('value', 'bytes', 'back', 'failed')))
    if detail['access'] == '?':
        del detail['access']
        detail['back'] = 0
    return 'data', detail


def parse_gap(event):
    """`gap no-code 0x1008 bytes=4`; a warning has the same form."""
    def parse(words):
        detail = {'cause': take(words, '|'.join(GAP_CAUSES), 'cause')}
        if words and re.fullmatch(SHAPES['address'], words[0]):
            detail['address'] = number(words.pop(0))
        detail.update(pairs(words, ('bytes', 'doubtful')))
        return event, detail
    return parse


def parse_value(event, key, optional=()):
    """Events with one number: `CID=0x11`, `timestamp 0x6F freq=1`."""
    def parse(words):
        detail = {key: number(take(words, SHAPES['address'], key))}
        detail.update(pairs(words, optional))
        return event, detail
    return parse


def parse_word(event, key, pattern):
    """Events with one name, or nothing, behind them."""
    def parse(words):
        detail = {key: take(words, pattern, key)} if key else {}
        pairs(words, ())
        return event, detail
    return parse


def parse_pairs(event):
    """Events whose details stand as the listing has them: `stimulus port=0 value=0x41`."""
    def parse(words):
        return event, pairs(words, instrumentation.EVENTS[event])
    return parse


def parse_count(words):
    """`count 9`: cycles since the count before; ? if the trace unit does not know."""
    text = take(words, r'\d+|\?', "number of cycles or '?'")
    pairs(words, ())
    return 'count', {} if text == '?' else {'cycles': number(text)}


def parse_software(words):
    """`software 1 0xDEADBEEF`: exception level, value."""
    detail = {'el': number(take(words, '[0-3]', 'exception level'))}
    detail['value'] = number(take(words, SHAPES['address'], 'value'))
    pairs(words, ())
    return 'software', detail


def parse_transaction(words):
    """`transaction start=1`."""
    return 'transaction', pairs(words, ('start',))


def parse_trigger(words):
    """`trigger`, `trigger mask=5`: the events that an ETMv4 tells."""
    return 'trigger', pairs(words, ('mask',))


def parse_cycles(words):
    """`cycles 20`: the gap before the latest trace-on, told late."""
    return 'cycles', {'cycles': number(take(words, r'\d+', 'number of cycles'))}


EVENTS = {
    'trace-on': parse_trace_on,
    'exception': parse_exception,
    'data': parse_data,
    'gap': parse_gap('gap'),
    'context': parse_value('context', 'cid'),
    'vmid': parse_value('vmid', 'vmid'),
    'timestamp': parse_value('timestamp', 'value', ('freq', 'cycles')),
    'state': parse_word('state', 'sec', '|'.join(SECURITY)),
    'trigger': parse_trigger,
    'count': parse_count,
    'software': parse_software,
    'transaction': parse_transaction,
    'cycles': parse_cycles,
    'warning': parse_gap('warning'),
    **{event: parse_pairs(event) for event in instrumentation.EVENTS},
}


def parse_element(text):
    """One element to a list of (kind, detail): blocks and events in their order."""
    m = re.fullmatch(r'x(\d+) (.*)', text)
    if m:
        return parse_element(m[2]) * int(m[1])
    if text.startswith('['):
        return parse_block(text)
    if text.startswith('steps '):
        return parse_steps(text)
    words = text.split()
    parser = EVENTS.get(words.pop(0))
    if not parser:
        raise CaseError(f"unknown element '{text}'")
    return [parser(words)]


def parse_instruction(text):
    """`0x1000 e1a00000 A32 - mov r0, r0`, for waypoints E or N in place of -."""
    m = re.fullmatch(r'(0x[0-9A-F]+) ([0-9a-f]{4}|[0-9a-f]{8}) (\w+) ([-EN])'
                     r'(?: cycles=(\d+))? +(.*)', text)
    if not m or m[3] not in ISAS:
        raise CaseError('expected: ADDRESS OPCODE ISA E|N|- TEXT')
    return {'address': int(m[1], 16), 'opcode': m[2], 'size': len(m[2]) // 2, 'isa': m[3],
            'cycles': int(m[5]) if m[5] else None,
            'condition': {'E': 'pass', 'N': 'fail', '-': ''}[m[4]], 'text': ' '.join(m[6].split())}


class Reader:
    """Keeps what the lines of a file have said so far."""

    def __init__(self):
        self.common = Case('', 0)
        self.case, self.section, self.cases = self.common, None, []

    def keyword(self, line, words):
        name, rest = words[0], words[1:]
        self.section = name
        if name == 'case':
            if not rest:
                raise CaseError('case without a name')
            self.finish()
            self.case = Case(' '.join(rest), line)
            self.case.regs = dict(self.common.regs)
            self.case.options = list(self.common.options)
            self.case.protocol = self.common.protocol
            self.case.core = self.common.core
            self.case.dumps = [(dict(a), list(c)) for a, c in self.common.dumps]
            self.cases.append(self.case)
        elif name == 'regs':
            self.case.regs.update(self.registers(rest))
        elif name == 'protocol':
            self.protocol(rest)
        elif name == 'options':
            self.case.options += rest
        elif name == 'dump':
            self.case.dumps.append((self.attributes(rest), []))
        elif name in ('code', 'trace', 'elements', 'instructions', 'cycles', 'packets'):
            if rest:
                raise CaseError(f"text behind '{name}'")
            self.open(name)
        else:
            raise CaseError(f"unknown keyword '{name}'")

    def protocol(self, words):
        """`protocol ETM2.0`: an ETMv1 or ETMv2 with an 8-bit port, to be changed with regs.

        `protocol ETM3`, `protocol ETM3 Cortex-M4`: ETMv3 as its registers say. ETM4 and ETE: the
        registers are those of such a core.
        """
        if words and words[0] in instrumentation.PROTOCOLS and len(words) == 1:
            self.case.protocol = name = words[0]
            self.case.regs, self.case.core = dict(BYTE_PROTOCOLS[name][1]), BYTE_PROTOCOLS[name][2]
            return
        if words and words[0] in ('ETM3', *etmv4.CORES) and len(words) <= 2:
            self.case.protocol = name = words[0]
            self.case.core = words[1] if len(words) == 2 else BYTE_PROTOCOLS[name][2]
            self.case.regs = dict(BYTE_PROTOCOLS['ETM3'][1]) if name == 'ETM3' \
                else etmv4.registers(name, self.case.core)
            return
        if len(words) != 1 or words[0][:4] not in PORT_REGS:
            raise CaseError(f"unknown protocol '{' '.join(words)}'")
        self.case.protocol = words[0]
        self.case.regs = dict(PORT_REGS[words[0][:4]])

    def open(self, name):
        if name == 'code':
            return
        if self.case is self.common:
            raise CaseError(f"'{name}' before the first case")
        if getattr(self.case, name) is not None:
            raise CaseError(f"second '{name}'")
        setattr(self.case, name, [])

    @staticmethod
    def registers(words):
        out = {}
        for word in words:
            name, sep, text = word.partition('=')
            if not sep or name not in (*REGISTERS, *SETTINGS):
                raise CaseError(f"unknown register '{word}'")
            out[name] = number(text, name)
        return out

    @staticmethod
    def attributes(words):
        out = {}
        for word in words:
            name, sep, text = word.partition('=')
            if not sep or name not in DUMP_ATTRIBUTES:
                raise CaseError(f"unknown dump attribute '{word}'")
            out[name] = text
        return out

    def content(self, line, text):
        if self.section == 'code':
            self.case.dumps[0][1].append((line, text))
        elif self.section == 'dump':
            self.case.dumps[-1][1].append((line, text))
        elif self.section == 'trace':
            last = self.case.trace[-1] if self.case.trace else None
            offset = last.offset + len(last.data) if last else 0
            self.case.trace += parse_trace_line(text, offset, self.case.protocol)
        elif self.section == 'cycles':
            for item in text.split('|'):
                self.case.cycles += port.parse_cycle(self.case.protocol, item.strip(),
                                                     len(self.case.cycles))
        elif self.section == 'packets':
            self.case.packets.append(port.parse_packet(text))
        elif self.section == 'elements':
            for item in text.split(';'):
                if item.strip():
                    self.case.elements += parse_element(item.strip())
        elif self.section == 'instructions':
            self.case.instructions.append(parse_instruction(text))
        else:
            raise CaseError(f"text outside a section: '{text}'")

    def finish(self):
        if self.case is self.common:
            return
        if not (self.case.trace if self.case.protocol in BYTE_PROTOCOLS else self.case.cycles):
            raise CaseError(f"case '{self.case.name}' has no trace")


def read(path):
    """All cases of a file. Raises CaseError with the file and line."""
    reader = Reader()
    line = 0
    try:
        with open(path, encoding='utf-8') as file:
            for line, text in enumerate(file, 1):
                text = text.split('#', 1)[0].rstrip() if text.lstrip().startswith('#') \
                    else re.sub(r'\s+# .*$', '', text.rstrip())
                if not text:
                    continue
                if text[0].isspace():
                    reader.content(line, text.strip())
                else:
                    reader.keyword(line, text.split())
        reader.finish()
        if not reader.cases:
            raise CaseError('no case in the file')
    except (CaseError, port.PortError) as error:
        raise CaseError(f'{path}:{line}: {error}') from None
    return reader.cases
