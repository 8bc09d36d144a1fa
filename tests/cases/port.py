# SPDX-License-Identifier: BSD-3-Clause
"""Cases of ETMv1 and ETMv2: cycles of a trace port instead of bytes of packets.

A packet's bytes are spread over many cycles, so a case gives both: the `cycles` as the port shows
them, and the `packets` with the number of the cycle in which each begins.
"""
import re

V1_STATUS = ['IE', 'ID', 'IN', 'WT', 'BE', 'BD', 'TR', 'TD']
V2_STATUS = ['IE', 'DE', 'IN', 'DN', 'WT', 'DW', 'TR', 'TD',
             'PTIE', 'PTDE', 'PTIN', 'PTDN', 'PNIE', 'PNDE', 'PNIN', 'PNDN']
PORT_BITS = {0: 4, 1: 8, 2: 16}


class PortError(Exception):
    """The case file is wrong here."""


class Mismatch(Exception):
    """The program's listing is wrong."""


def statuses(protocol):
    return V1_STATUS if protocol.startswith('ETM1') else V2_STATUS


def port_bits(regs):
    bits = PORT_BITS.get(regs['ETMCR'] >> 4 & 7)
    if not bits:
        raise PortError('ETMCR[6:4] is no port size')
    return bits


def parse_cycle(protocol, text, number):
    """`12 IE 80 1`: number (checked), status, TRACEPKT (-- for anything), TRACESYNC if 1.

    `xN` in front of the status repeats the cycle.
    """
    m = re.fullmatch(r'(?:(\d+) )?(?:x(\d+) )?([A-Z]+)(?: ([0-9A-F]{1,4}|--))?(?: ([01]))?',
                     ' '.join(text.split()))
    if not m or m[3] not in statuses(protocol):
        raise PortError(f"not a cycle: '{text}'")
    if m[1] and int(m[1]) != number:
        raise PortError(f"cycle {m[1]} is number {number}")
    if m[5] and protocol.startswith('ETM2'):
        raise PortError('ETMv2 has no TRACESYNC')
    pkt = None if not m[4] or m[4] == '--' else int(m[4], 16)
    return [(statuses(protocol).index(m[3]), pkt, int(m[5] or 0))] * int(m[2] or 1)


def parse_packet(text):
    """`1: 20 00 80 00 00  tfo-packet reason=1`; `-` for a packet without bytes."""
    m = re.fullmatch(r'(\d+): ((?:[0-9A-F]{2} ?)+|-)  +([a-z-]+)((?: [a-z-]+=\S+)*)', text)
    if not m:
        raise PortError('expected: CYCLE: BYTES  packet key=value ...')
    detail = dict(word.split('=') for word in m[4].split())
    return int(m[1]), m[2].replace(' ', '').strip('-'), m[3], normal(detail)


def normal(detail):
    """Numbers as numbers."""
    return {key: int(text, 0) if re.fullmatch(r'0x[0-9A-Fa-f]+|\d+', text) else text
            for key, text in detail.items()}


def status_codes(case):
    """Hexadecimal digit i is the status that PIPESTAT i stands for."""
    return f"{case.regs.get('STATUS_CODES', 0xFEDCBA9876543210):016x}"[::-1]


def words(case):
    """The cycles as numbers: PIPESTAT[2:0], TRACEPKT, and the bit above it.

    The settings STATUS_CODES and PIPESTAT3 say otherwise: see decoder/etmv2/etmv2.h.
    """
    bits = port_bits(case.regs)
    codes = status_codes(case)
    for status, pkt, sync in case.cycles:
        if pkt is None:
            pkt = 0xEEEE & ((1 << bits) - 1)
        if pkt >> bits:
            raise PortError(f'TRACEPKT {pkt:#x} is wider than the port')
        status = codes.index(f'{status:x}')
        if case.regs.get('PIPESTAT3'):
            yield status | pkt << 4
            continue
        yield (status & 7) | pkt << 3 | (sync | status >> 3) << (3 + bits)


def pack(case):
    """Bytes of the capture, and for each cycle its offset and its bytes as listed."""
    bits = port_bits(case.regs)
    all_words = list(words(case))
    per_word = {4: 3, 8: 2, 16: 1}[bits]
    if case.regs.get('PORT_LAYOUT', 0):
        record = {4: 1, 8: 2, 16: 4}[bits]
        data = b''.join(w.to_bytes(record, 'little') for w in all_words)
        starts = [i * record for i in range(len(all_words))]
    else:
        if len(all_words) % per_word:
            raise PortError(f'the last word of the ETB is not full: {len(all_words)} cycles')
        data = b''
        for i in range(0, len(all_words), per_word):
            value = sum(w << k * (bits + 4) for k, w in enumerate(all_words[i:i + per_word]))
            data += value.to_bytes(4, 'little')
        starts = [i // per_word * 4 + i % per_word for i in range(len(all_words))]
    size = {4: 1, 8: 2, 16: 3}[bits]
    return data, [(at, data[at:at + size].hex(' ').upper()) for at in starts]


def listed_status(case, index):
    """Name and detail that the listing must have for a cycle; a trigger hides a status."""
    status, pkt, _ = case.cycles[index]
    names = statuses(case.protocol)
    detail = {}
    if names[status] == 'TR':
        status = int(status_codes(case)[(pkt or 0) & (len(names) - 1)], 16)
        detail['trigger'] = 1
    name = names[status]
    return (name[:2] + '-' + name[2:] if len(name) == 4 else name), detail


def check_cycles(case, rows, places):
    """Every cycle is listed once, in order, or lies in bytes that are told to be skipped."""
    index_of = {at: i for i, (at, _) in enumerate(places)}
    seen, skipped = [], []
    for offset, data, name, detail in rows:
        if name in ('unsynced', 'incomplete'):
            skipped.append((offset, offset + detail['count']))
        if name not in [listed_status(case, i)[0] for i in range(len(case.cycles))] + ['TFO']:
            continue
        index = index_of.get(offset)
        want, wanted = listed_status(case, index) if index is not None else (None, None)
        if index is None or (name != want and (name, want) != ('TFO', 'TD')) \
                or data != places[index][1] or (seen and index <= seen[-1]) \
                or wanted.get('trigger') != detail.get('trigger'):
            raise Mismatch(f'cycle at {offset}: {name} {data} {detail}, expected {want} {wanted}')
        seen.append(index)
    for index, (at, _) in enumerate(places):
        if index not in seen and not any(a <= at < b for a, b in skipped):
            raise Mismatch(f'cycle {index} is neither listed nor skipped')


def packet_line(index, data, kind, detail):
    text = ' '.join(f'{k}={v:#x}' if isinstance(v, int) else f'{k}={v}'
                    for k, v in sorted(detail.items()))
    return f"{index:4}: {data or '-':<36} {kind} {text}".rstrip()


def packet_lines(case, rows, places):
    """The listed packets in the form of the case file, cycles and the end left out."""
    index_of = {at: i for i, (at, _) in enumerate(places)}
    names = {listed_status(case, i)[0] for i in range(len(case.cycles))} | {'TFO'}
    if not rows or rows[-1][2] != 'end':
        raise Mismatch('the last packet is not the end')
    lines = []
    for offset, _, kind, detail in rows[:-1]:
        if kind in names:
            continue
        detail = dict(detail)
        raw = detail.pop('raw', '')
        if offset not in index_of:
            raise Mismatch(f'{kind} at {offset}: no cycle begins there')
        lines.append(packet_line(index_of[offset], raw, kind, detail))
    return lines


def parse_rows(rows):
    """Packet rows of the listing: offset, bytes, name, detail."""
    out = []
    for row in rows:
        detail = {}
        for word in row['detail'].split():
            key, _, text = word.partition('=')
            if key == 'raw':
                detail[key] = text
            else:
                detail.update(normal({key: text}))
        out.append((int(row['offset']), row['bytes'], row['packet'], detail))
    return out
