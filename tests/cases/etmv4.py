# SPDX-License-Identifier: BSD-3-Clause
"""Cases of ETMv4 and ETE: registers, packets, and which packet an event comes from.

Packets have the names and details that `btraced decode --packets` gives them.
"""

# By word number: offset / 4.
REGISTERS = {'TRCCONFIGR': 0x004, 'TRCTRACEIDR': 0x010, 'TRCIDR8': 0x060, 'TRCIDR0': 0x078,
             'TRCIDR1': 0x079, 'TRCIDR2': 0x07A, 'TRCDEVARCH': 0x3EF}
COMMON = {'TRCCONFIGR': 0, 'TRCTRACEIDR': 0x10, 'TRCIDR8': 0}
# A Cortex-A53: context IDs, VMIDs of one byte; a Cortex-M33: neither; ETE as ETMv4, but no COMMOPT.
A_PROFILE = {**COMMON, 'TRCIDR0': 0x28000EA1, 'TRCIDR1': 0x4100F400, 'TRCIDR2': 0x488,
             'TRCDEVARCH': 0x47704A13}
M_PROFILE = {**COMMON, 'TRCIDR0': 0x280006E1, 'TRCIDR1': 0x4100F420, 'TRCIDR2': 0x004,
             'TRCDEVARCH': 0x47724A13}
ETE = {**A_PROFILE, 'TRCIDR1': 0x4100FFF0, 'TRCDEVARCH': 0x47705A13}
CORES = {'ETM4': 'Cortex-A53', 'ETE': 'Cortex-A510'}
SECURITY = ('S', 'NS', 'root', 'realm')

CONTEXT = ('el', 'sec', 'sf', 'vmid', 'cid')
# Positional words, then the keys that a packet must have, then those that it may have.
PACKETS = {
    'trace-info': ((), (), ('info', 'uncommitted', 'threshold')),
    'atom': (('atoms',), (), ()),
    'address': (('address',), ('is',), CONTEXT),
    'source-address': (('address',), ('is',), ()),
    'context': ((), (), CONTEXT),
    'exception': ((), ('type', 'address'), ('pending',)),
    'cycle-count': ((), (), ('cycles', 'commit')),
    'commit': ((), ('count',), ()),
    'cancel': (('atoms?',), ('count',), ('mispredict',)),
    'mispredict': (('atoms?',), (), ()),
    'q': ((), (), ('count', 'address', 'is')),
    'timestamp': ((), ('value',), ('cycles',)),
    'event': ((), ('mask',), ()),
    'instrumentation': ((), ('el', 'value'), ()),
    'transaction': ((), ('start',), ()),
    **{kind: ((), (), ()) for kind in (
        'a-sync', 'trace-on', 'exception-return', 'function-return', 'discard', 'overflow',
        'resync', 'timestamp-marker', 'branch-future-flush', 'data-sync-marker', 'conditional',
        'ignore', 'reserved', 'malformed', 'unsynced', 'incomplete')},
}
# Details that a packet always has, and that go without saying when they are 0.
DEFAULTS = {'trace-info': {'info': 0, 'uncommitted': 0, 'threshold': 0}}

# Others come from any packet.
ORIGINS = {
    'trace-on': ('address', 'source-address'),
    'exception': ('exception',),
    'exception-return': ('exception-return',),
    'context': ('address', 'context'),
    'vmid': ('address', 'context'),
    'state': ('address', 'context'),
    'timestamp': ('timestamp',),
    'trigger': ('event',),
    'count': ('cycle-count',),
    'software': ('instrumentation',),
    'transaction': ('transaction',),
}


def minor(regs):
    """Of the architecture: from TRCDEVARCH, or where that is absent from TRCIDR1."""
    return regs['TRCDEVARCH'] >> 16 & 0xF if regs['TRCDEVARCH'] else regs['TRCIDR1'] >> 4 & 0xF


def source_type(protocol, regs):
    """What a snapshot calls such a trace unit."""
    return f"{'ETMv4' if protocol == 'ETM4' else 'ETE'}.{minor(regs)}"


def registers(protocol, core):
    """Of a trace unit of that core, until a case says otherwise."""
    if protocol == 'ETE':
        return dict(ETE)
    return dict(M_PROFILE if core.startswith('Cortex-M') else A_PROFILE)
