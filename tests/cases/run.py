#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests decoder/source/detail.c, source.c, source_etmv3.c, source_itm.c, source_mtb.c, source_stm.c, source_etmv4.c, source_port.c, source_ptm.c,
# source_registers.c and server/protocols/source_device.c.
"""Runs the corner cases: assembles, writes a snapshot, decodes it, compares the listings.

usage: run.py [--one FILE]... [--keep FOLDER] [--self-test]
BTRACED_FULL=1: a third of the cases, drawn anew in each run (BTRACED_SEED), under the sanitizers.

Prints `PASS case: NAME` or `FAIL case: NAME: why` and a diff; exits 1 if anything failed. The
program is build/btraced of this tree, or the one that $BTRACED names.
"""
import argparse
import difflib
import glob
import os
import random
import subprocess
import sys
import tempfile

import etmv4
import instrumentation
import port
from casefile import BYTE_PROTOCOLS, CaseError, number, read, value_of
from image import write_snapshot

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.environ.get('BTRACED', os.path.join(HERE, '..', '..', 'build', 'btraced'))
TIME_LIMIT = 60  # seconds; a case takes milliseconds
WIDTH = 150  # of a line in a printed diff

COLUMNS = {
    'packets': ['source', 'offset', 'bytes', 'packet', 'detail'],
    'instructions': ['core', 'index', 'address', 'opcode', 'size', 'isa', 'cycles', 'condition',
                     'text'],
    'blocks': ['core', 'index', 'first', 'last', 'count', 'isa', 'condition', 'cycles'],
    'events': ['core', 'index', 'offset', 'event', 'detail'],
}
CONDITIONS = ('pass', 'fail', '')
# Which packet an event of each kind may come from.
ORIGINS = {
    'trace-on': ('i-sync',),
    'exception': ('branch',),
    'exception-return': ('exception-return',),
    'context': ('context-id', 'i-sync'),
    'vmid': ('vmid',),
    'state': ('branch', 'i-sync', 'atom'),
    'timestamp': ('timestamp',),
    'trigger': ('trigger',),
    'data': ('data', 'data-placeholder', 'data-out-of-order', 'data-not-traced'),
    'cycles': ('cycle-count',),
}


class Mismatch(Exception):
    """The program's output is wrong: a reason in one line, and perhaps more lines to show."""

    def __init__(self, why, text=''):
        super().__init__(why)
        self.text = text

    def lines(self):
        return self.text.splitlines()


class Difference(Mismatch):
    """Two listings differ. The diff is made when it is shown: it may be slow."""

    def __init__(self, what, want, got):
        super().__init__(f'{what} differ')
        self.want, self.got = want, got

    def lines(self):
        return difflib.unified_diff(self.want, self.got, 'expected', 'program', lineterm='', n=2)


def source_of(case):
    return BYTE_PROTOCOLS[case.protocol][0] if case.protocol in BYTE_PROTOCOLS else 'ETM_0'


def listing(case, folder, what):
    """Rows of one listing as dictionaries."""
    command = [PROGRAM, 'decode', f'--{what}', '--format', 'tsv', '--source', source_of(case),
               *case.options, folder]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT,
                             check=False)
    except subprocess.TimeoutExpired:
        raise Mismatch(f'--{what} does not end') from None
    if run.returncode:
        raise Mismatch(f'--{what}: exit status {run.returncode}', run.stderr)
    lines = run.stdout.split('\n')
    if lines.pop() != '' or not lines:
        raise Mismatch(f'--{what}: no output, or the last line has no end', run.stdout[-200:])
    if lines[0].split('\t') != COLUMNS[what]:
        raise Mismatch(f"--{what}: header is '{lines[0]}'")
    rows = []
    for line in lines[1:]:
        cells = line.split('\t')
        if len(cells) != len(COLUMNS[what]):
            raise Mismatch(f"--{what}: {len(cells)} columns in '{line}'")
        rows.append(dict(zip(COLUMNS[what], cells)))
    return rows


def number_or_none(text):
    return number(text) if text else None


def parse_detail(text):
    """`key=value ...` of a listing; numbers as numbers."""
    out = {}
    for word in text.split():
        key, sep, value = word.partition('=')
        if not sep or key in out:
            raise Mismatch(f"bad detail '{text}'")
        out[key] = value_of(key, value)
    return out


def show_detail(detail):
    """Numbers in hexadecimal where they are addresses and the like, keys in one order."""
    words = []
    for key in sorted(detail):
        value = detail[key]
        plain = not isinstance(value, int) or key in ('cycles', 'count', 'reason', 'number',
                                                      'exception', 'bits', 'bytes', 'freq')
        words.append(f'{key}={value}' if plain else f'{key}={value:#x}')
    return ' '.join(words)


def compare(what, want, got):
    """Lists of lines; raises if they differ."""
    if want != got:
        raise Difference(what, want, got)


def packet_lines(rows):
    return [f'{offset:4}: {data:<36} {kind} {show_detail(detail)}'.rstrip()
            for offset, data, kind, detail in rows]


def listed(packet):
    """A packet as the listing has it: of long ones 64 bytes, a mark, and the count in words."""
    offset, data, kind, detail = packet.row()
    size = len(data.split())
    if size > 64:
        data = data[:64 * 3 - 1] + ' ...'
        detail = dict(detail, count=size) if kind == 'a-sync' else detail
    return offset, data, kind, detail


def check_packets(case, rows):
    got = []
    for row in rows:
        if row['source'] != source_of(case):
            raise Mismatch(f"packet of source '{row['source']}'")
        shared = case.protocol in instrumentation.NIBBLES  # bytes: by two packets
        got.append((number(row['offset']), '' if shared else row['bytes'], row['packet'],
                    parse_detail(row['detail'])))
    compare('packets', packet_lines(listed(p) for p in case.trace), packet_lines(got))


def check_port(case, rows):
    """ETMv1, ETMv2: cycles and packets."""
    got = port.parse_rows(rows)
    places = port.pack(case)[1]
    port.check_cycles(case, got, places)
    if case.packets is not None:
        compare('packets', [port.packet_line(*p) for p in case.packets],
                port.packet_lines(case, got, places))


def block_line(detail):
    mark = {'pass': 'E', 'fail': 'N', '': '-'}[detail['condition']]
    cycles = '' if detail['cycles'] is None else f" cycles={detail['cycles']}"
    return (f"[{detail['first']:#x}-{detail['end']:#x}) n={detail['count']} {detail['isa']} "
            f'{mark}{cycles}')


def element_lines(elements):
    return [block_line(detail) if kind == 'block' else f'{kind} {show_detail(detail)}'.rstrip()
            for kind, detail in elements]


def got_instructions(rows):
    """Instruction rows with numbers for numbers; their index must count from 1."""
    out = []
    for place, row in enumerate(rows, 1):
        if row['core'] != 'cpu_0' or number(row['index']) != place:
            raise Mismatch(f"instruction {place} is listed as {row['core']} {row['index']}")
        if row['condition'] not in CONDITIONS or len(row['opcode']) != 2 * number(row['size']):
            raise Mismatch(f'instruction {place} contradicts itself: {row}')
        out.append({'address': number(row['address']), 'opcode': row['opcode'],
                    'size': number(row['size']), 'isa': row['isa'],
                    'cycles': number_or_none(row['cycles']), 'condition': row['condition'],
                    'text': ' '.join(row['text'].split())})
    return out


def got_blocks(rows, instructions):
    """Block rows as (index, 'block', detail); they must cut the instruction listing exactly."""
    out, index = [], 1
    for row in rows:
        count = number(row['count'])
        if row['core'] != 'cpu_0' or number(row['index']) != index or count < 1:
            raise Mismatch(f'instruction {index} should begin a block, not {row}')
        part = instructions[index - 1:index - 1 + count]
        if len(part) != count:
            raise Mismatch(f'the block at {index} has {count} instructions, {len(part)} are listed')
        end = part[0]['address']
        for insn in part:
            if insn['address'] != end or insn['isa'] != row['isa']:
                raise Mismatch(f"instruction {insn['address']:#x} does not fit the block {row}")
            end = insn['address'] + insn['size']
        last = part[-1]
        if (number(row['first']), number(row['last'])) != (part[0]['address'], last['address']) \
                or row['condition'] != last['condition'] \
                or any(insn['condition'] for insn in part[:-1]):
            raise Mismatch(f'blocks and instructions differ at {index}: {row}')
        out.append((index, 'block', {
            'first': number(row['first']), 'end': end, 'count': count, 'isa': row['isa'],
            'condition': row['condition'], 'cycles': number_or_none(row['cycles'])}))
        index += count
    if index != len(instructions) + 1:
        raise Mismatch(f'{len(instructions)} instructions are listed, {index - 1} are in blocks')
    return out


def got_events(case, rows):
    """Event rows as (index, kind, detail); each must come from a packet that can cause it."""
    if case.protocol not in BYTE_PROTOCOLS:
        return port_events(case, rows)
    starts = {p.row()[0]: p.kind for p in case.trace}
    origins = etmv4.ORIGINS if case.protocol in etmv4.CORES else \
        {} if case.protocol in instrumentation.PROTOCOLS else ORIGINS
    out, before = [], (0, 0)
    for row in rows:
        index, offset, kind = number(row['index']), number(row['offset']), row['event']
        if row['core'] != 'cpu_0' or (index, offset) < before:
            raise Mismatch(f'event out of order: {row}')
        before = (index, offset)
        if offset not in starts or starts[offset] not in origins.get(kind, (starts[offset],)):
            raise Mismatch(f'event {kind} at offset {offset}: no packet there that can cause it')
        out.append((index, kind, parse_detail(row['detail'])))
    return out


def port_events(case, rows):
    """As got_events(): what waited for a late packet is told with that packet's place."""
    starts = {at for at, _ in port.pack(case)[1]}
    out, before = [], 0
    for row in rows:
        index, offset = number(row['index']), number(row['offset'])
        if row['core'] != 'cpu_0' or index < before or offset not in starts:
            raise Mismatch(f'event out of order, or not at a cycle: {row}')
        before = index
        out.append((index, row['event'], parse_detail(row['detail'])))
    return out


def merge(blocks, events):
    """Blocks and events in the order of the history: an event goes before its instruction."""
    items = [(i, 0, k, d) for i, k, d in events] + [(i, 1, k, d) for i, k, d in blocks]
    items.sort(key=lambda item: item[:2])
    return [(kind, detail) for _, _, kind, detail in items]


def check_elements(case, listings):
    instructions = got_instructions(listings['instructions'])
    blocks = got_blocks(listings['blocks'], instructions)
    events = got_events(case, listings['events'])
    ends = {index for index, _, _ in blocks} | {len(instructions) + 1}
    for index, kind, _ in events:
        if index not in ends:
            raise Mismatch(f'event {kind} stands inside a block, before instruction {index}')
    if case.elements is not None:
        compare('elements', element_lines(case.elements), element_lines(merge(blocks, events)))
    if case.instructions is not None:
        compare('instructions', instruction_lines(case.instructions),
                instruction_lines(instructions))


def instruction_lines(rows):
    return [f"{r['address']:#x} {r['opcode']} {r['isa']} "
            f"{ {'pass': 'E', 'fail': 'N', '': '-'}[r['condition']]}"
            f"{'' if r['cycles'] is None else ' cycles=' + str(r['cycles'])} {r['text']}"
            for r in rows]


def decode(case, folder):
    write_snapshot(case, folder)
    return {what: listing(case, folder, what) for what in COLUMNS}


def check(case, listings):
    if case.protocol in BYTE_PROTOCOLS:
        check_packets(case, listings['packets'])
    else:
        check_port(case, listings['packets'])
    check_elements(case, listings)


def expectations(case):
    """Every single expected line, as (list it stands in, its place)."""
    for rows in (case.trace, case.packets, case.elements, case.instructions):
        for place in range(len(rows or [])):
            yield rows, place


def self_test(case, listings):
    """Each expected line is left out in turn: the comparison must notice every time.

    Of long lists (a loop) every n-th line.
    """
    places = list(expectations(case))
    for rows, place in places[::1 + len(places) // 200]:
        line = rows.pop(place)
        try:
            check(case, listings)
        except (Mismatch, port.Mismatch):
            continue
        finally:
            rows.insert(place, line)
        raise Mismatch(f'nothing notices that expected line {place + 1} is missing')


def run_case(name, case, options):
    """Prints the result of one case; true if it passed."""
    try:
        with tempfile.TemporaryDirectory(prefix='btraced-case-') as scratch:
            folder = scratch
            if options.keep:
                folder = os.path.join(options.keep, name.replace('/', '_').replace(' ', '_'))
                os.makedirs(folder, exist_ok=True)
            listings = decode(case, folder)
            check(case, listings)
            if options.self_test:
                self_test(case, listings)
    except (Mismatch, CaseError, port.Mismatch, port.PortError) as error:
        print(f'FAIL case: {name}: {error}')
        for line in error.lines() if isinstance(error, Mismatch) else ():
            print('    ' + (line if len(line) < WIDTH else line[:WIDTH] + '...'))
        return False
    print(f'PASS case: {name}')
    return True


def main():
    parser = argparse.ArgumentParser(description='corner cases of the decoder')
    parser.add_argument('--one', action='append', metavar='FILE', help='only this file')
    parser.add_argument('--keep', metavar='FOLDER', help='keep the snapshots here')
    parser.add_argument('--self-test', action='store_true',
                        help='also show that each expected line is needed')
    options = parser.parse_args()
    if not os.access(PROGRAM, os.X_OK):
        print(f"FAIL case: no program '{PROGRAM}': build it, or name one in BTRACED")
        return 1
    files = options.one or sorted(glob.glob(os.path.join(HERE, '*.case')))
    failed = 0 if files else 1
    drawn = os.environ.get('BTRACED_FULL') and not options.one
    seed = int(os.environ.get('BTRACED_SEED', random.SystemRandom().randrange(1 << 32)))
    draw = random.Random(seed)
    if drawn:
        print(f'# BTRACED_SEED={seed}', flush=True)
    for path in files:
        stem = os.path.splitext(os.path.basename(path))[0]
        try:
            cases = read(path)
        except (CaseError, OSError) as error:
            print(f'FAIL case: {stem}: {error}')
            failed += 1
            continue
        for case in cases:
            name = f'{stem}: {case.name}'
            if drawn and draw.randrange(3):
                continue
            failed += not run_case(name, case, options)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
