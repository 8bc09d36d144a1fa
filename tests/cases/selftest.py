#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The reader of case files must refuse what it does not understand. No program is needed.

usage: selftest.py
"""
import os
import sys
import tempfile

from casefile import CaseError, read
from image import assemble

GOOD = '''case good
regs ETMCR=0
code
    .arm
    0x1000: b 0x1000 => EAFFFFFE
trace
    0: 00*5 80  a-sync
    6: 08 00 10 00 00 21  i-sync 0x1000 A32 S reason=1
    12: C0  x2 atom EEEEE
elements
    trace-on 1 0x1000 A32 S
    x10 [0x1000-0x1004) n=1 A32 E
instructions
    0x1000 eafffffe A32 E  b #0x1000
'''

# What is wrong, text of the good case that is replaced, by what.
BAD = [
    ('unknown keyword', 'elements', 'element'),
    ('text outside a section', 'code', '    nop\ncode'),
    ('case without a name', 'case good', 'case'),
    ('case without a trace', GOOD[GOOD.index('trace\n'):], ''),
    ('section given twice', 'instructions', 'elements'),
    ('text behind a section name', 'trace\n', 'trace all\n'),
    ('unknown register', 'ETMCR', 'ETMXR'),
    ('register without a value', 'ETMCR=0', 'ETMCR'),
    ('register that is no number', 'ETMCR=0', 'ETMCR=no'),
    ('unknown dump attribute', 'code', 'dump spice=S'),
    ('wrong offset', '6: 08', '7: 08'),
    ('byte of one digit', '08 00', '8 00'),
    ('bytes in small letters', 'C0', 'c0'),
    ('packet missing', '  a-sync', ''),
    ('unknown packet', 'a-sync', 'b-sync'),
    ('unknown word of a packet', 'reason=1', 'reason=1 colour=2'),
    ('key of another packet', 'x2 atom EEEEE', 'x2 atom EEEEE reason=1'),
    ('key given twice', 'reason=1', 'reason=1 reason=1'),
    ('required key missing', ' reason=1', ''),
    ('security state missing', 'A32 S reason', 'A32 reason'),
    ('unknown instruction set', '0x1000 A32 S reason', '0x1000 A33 S reason'),
    ('unknown atom', 'EEEEE', 'EEEEX'),
    ('unknown element', 'trace-on', 'trace-off'),
    ('word too many in an element', 'trace-on 1 0x1000 A32 S', 'trace-on 1 0x1000 A32 S yes'),
    ('address missing in an element', 'trace-on 1 0x1000', 'trace-on 1'),
    ('block without a count', 'n=1 A32', 'A32'),
    ('unknown condition', 'n=1 A32 E', 'n=1 A32 F'),
    ('unknown cause of a gap', 'trace-on 1 0x1000 A32 S', 'gap bad-luck'),
    ('opcode of five digits', 'eafffffe', 'eafff'),
]
BAD_CODE = [
    ('unknown instruction', 'b 0x1000', 'jump 0x1000'),
    ('another opcode than stated', 'EAFFFFFE', 'EAFFFFFF'),
    ('first statement without an address', '0x1000: b', 'b'),
    ('fill that ends inside an instruction', '0x1000:', '0x1000..0x1005:'),
    ('label that does not exist', 'b 0x1000', 'b nowhere'),
]

GOOD_ETMV4 = '''protocol ETM4 Cortex-A53
case good
regs TRCIDR8=16
code
    .a64
    0x8000: .inst 0xD65F03C0
trace
    0: 00*11 80  a-sync
    12: 01 00  trace-info
    14: 82 00 40 00 00 10  address 0x8000 is=0 el=0 sec=S sf=1
    20: F7  atom E
    21: 34  cancel count=1 mispredict=1
    22: 06 1D  exception type=14 address=return
elements
    count 9; count ?; software 1 0x2A; trigger mask=1
    exception 14 ret 0x8000 to ?
'''
BAD_ETMV4 = [
    ('unknown protocol', 'ETM4 Cortex-A53', 'ETM5 Cortex-A53'),
    ('word behind the core', 'Cortex-A53', 'Cortex-A53 Cortex-A57'),
    ('register of no ETMv4', 'TRCIDR8', 'TRCIDR14'),
    ('packet of another protocol', 'trace-info', 'i-sync'),
    ('address without its instruction set', ' is=0', ''),
    ('unknown security state', 'sec=S', 'sec=T'),
    ('cancel without a count', ' count=1', ''),
    ('exception without the kind of its address', ' address=return', ''),
    ('unknown word for an address', 'address=return', 'address=back'),
    ('count that is no number', 'count 9', 'count many'),
    ('exception level that does not exist', 'software 1', 'software 4'),
    ('trigger without a number', 'mask=1', 'mask'),
    ('exception without a vector', ' to ?', ' to'),
    ('opcode that is no number', '0xD65F03C0', 'return'),
]


def refused(text, folder):
    """True if reading or assembling the file fails as it should."""
    path = os.path.join(folder, 'x.case')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    try:
        for case in read(path):
            for _, code in case.dumps:
                assemble(code, folder)
    except CaseError:
        return True
    return False


def main():
    failed = 0
    with tempfile.TemporaryDirectory(prefix='btraced-case-') as folder:
        tests = [('the good case is read', GOOD, False)]
        tests.append(('the good case of ETMv4 is read', GOOD_ETMV4, False))
        for good, bad in ((GOOD, BAD + BAD_CODE), (GOOD_ETMV4, BAD_ETMV4)):
            for what, old, new in bad:
                assert old in good, what
                tests.append((f'refused: {what}', good.replace(old, new, 1), True))
        for what, text, bad in tests:
            good = refused(text, folder) == bad
            failed += not good
            print(f"{'PASS' if good else 'FAIL'} case: reader: {what}")
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
