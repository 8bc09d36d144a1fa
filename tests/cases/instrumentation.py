# SPDX-License-Identifier: BSD-3-Clause
"""ITM, STM and MTB: details of their packets and events stand as in the listings."""

REGISTERS = {'ITMTCR': 0xE80, 'STMTCSR': 0xE80, 'POSITION': 0x000, 'MASTER': 0x004}
# Name of the source, registers, core.
PROTOCOLS = {'ITM': ('ITM_0', {'ITMTCR': 0x10000}, 'Cortex-M4'),
             'STM': ('STM_0', {'STMTCSR': 0xA00007}, 'Cortex-A53'),
             'MTB': ('MTB_0', {}, 'Cortex-M0+')}
NIBBLES = ('STM',)  # protocols whose packets begin at any nibble

TIME = ('stamp', 'stamp-bits', 'time')

# Keys that a packet may have.
PACKETS = {
    'ITM': {
        'sync': (), 'overflow': (), 'page': ('page',),
        'local-time': ('value', 'relation'),
        'global-time-low': ('value', 'bits', 'freq', 'wrap'),
        'global-time-high': ('value', 'bits'),
        'extension': ('value', 'bits', 'source'),
        'software': ('port', 'value', 'bytes'),
        'counters': ('mask',), 'pmu-overflow': ('mask',),
        'exception': ('number', 'name', 'action'),
        'pc-sample': ('address', 'state'),
        'data-pc': ('comparator', 'address'), 'data-match': ('comparator',),
        'data-address': ('comparator', 'value', 'bytes'),
        'data-value': ('comparator', 'value', 'bytes', 'access'),
        'hardware': ('discriminator', 'value', 'bytes'),
        'reserved': (), 'malformed': (), 'unsynced': (), 'incomplete': (),
    },
    'MTB': {'branch': ('from', 'address', 'start'), 'exception': ('from', 'address', 'start'),
            'incomplete': ()},
    'STM': {
        'null': TIME, 'async': (), 'version': ('value',), 'master': ('master',),
        'channel': ('channel',),
        'data': ('master', 'channel', 'value', 'bits', 'marked', *TIME),
        'flag': ('master', 'channel', *TIME),
        'trigger': ('value', *TIME), 'user': ('value', *TIME), 'frequency': ('hertz', *TIME),
        'master-error': ('value',), 'global-error': ('value',),
        'reserved': (), 'malformed': (), 'unsynced': (), 'incomplete': (),
    },
}

EVENTS = {
    'stimulus': ('port', 'master', 'channel', 'value', 'bits', 'marked', 'time'),
    'exception-trace': ('number', 'name', 'action'),
    'pc-sample': ('address', 'state'),
    'counters': ('mask', 'pmu'),
    'watch': ('comparator', 'pc', 'address', 'address-low', 'value', 'bytes', 'access'),
    'local-time': ('value', 'passed', 'relation', 'doubtful'),
    'frequency': ('hertz',),
}

# Values that are names.
WORDS = ('relation', 'action', 'source', 'nibbles')


def pack(case):
    """The bytes of the trace."""
    data = b''.join(p.data for p in case.trace)
    if 'POSITION' in case.regs:  # the RAM as it stood, of which the case has the order in time
        size, at = 16 << (case.regs['MASTER'] & 31), case.regs['POSITION'] & ~7
        ram = data[-at:] + data[:-at] if case.regs['POSITION'] & 4 else data
        return ram + bytes(size - len(ram))
    if case.protocol not in NIBBLES:
        return data
    return bytes(low | high << 4 for low, high in zip(data[::2], data[1::2], strict=True))
