# SPDX-License-Identifier: BSD-3-Clause
"""Packets of PTM and ETMv3 as a case names them. ETMv1 and ETMv2: port.py; ETMv4: etmv4.py."""

# Positional words of a packet, then the keys that it must have, then those that it may have.
PACKETS = {
    'a-sync': ((), (), ()),
    'i-sync': (('address', 'isa', 'sec'), ('reason',), ('cycles', 'cid')),
    'atom': (('atoms',), (), ('cycles',)),
    'branch': (('address', 'isa', 'sec?'), (), ('exception', 'cycles')),
    'waypoint-update': (('address', 'isa'), (), ()),
    'trigger': ((), (), ()),
    'context-id': (('cid',), (), ()),
    'vmid': (('vmid',), (), ()),
    'timestamp': ((), ('raw', 'bits'), ('value', 'freq', 'cycles')),
    'exception-return': ((), (), ()),
    'ignore': ((), (), ()),
    'reserved': ((), (), ()),
    'malformed': ((), (), ()),
    'unsynced': ((), (), ()),
    'incomplete': ((), (), ()),
}

DATA_KEYS = ('tag', 'address', 'bits', 'be', 'value')
ETM3_PACKETS = {
    'a-sync': ((), (), ()),
    'i-sync': (('address?', 'isa?', 'sec'), ('reason',),
               ('cycles', 'cid', 'state', 'from', 'from-isa', 'from-sec')),
    'atom': (('atoms',), (), ()),
    'branch': (('address', 'isa', 'sec?'), (), ('exception', 'inline', 'cancel', 'resume')),
    'cycle-count': ((), ('cycles',), ()),
    'context-id': (('cid',), (), ()),
    'vmid': (('vmid',), (), ()),
    'timestamp': ((), ('raw', 'bits'), ('value', 'freq')),
    'data': ((), (), DATA_KEYS),
    'data-placeholder': ((), ('tag',), DATA_KEYS),
    'data-out-of-order': ((), ('tag',), DATA_KEYS),
    'data-not-traced': ((), (), DATA_KEYS),
    **{kind: ((), (), ()) for kind in ('trigger', 'ignore', 'exception-entry', 'exception-return',
                                       'store-failed', 'data-suppressed', 'end', 'reserved',
                                       'malformed', 'unsynced', 'incomplete')},
}
