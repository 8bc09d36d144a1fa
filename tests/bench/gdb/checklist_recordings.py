# SPDX-License-Identifier: BSD-3-Clause
"""The recordings that the checklist is tested on, one server each, and ways to look at them."""

import re
import xml.etree.ElementTree

from replay_gdb import (DEMO, DEMO_BASE, DEMO_PC, GAP, Server, copy_recording, demo_code, demo_run,
                        equal, expand, gdb)

ELF = DEMO / "crash.elf"
RUN = demo_run()
servers = {}


def serve(name, recording, *options):
    """One server a recording, for all tests."""
    if name not in servers:
        servers[name] = Server(recording(), *options)
        servers[name].__enter__()
    return servers[name]


def demo():
    return serve("demo", lambda: DEMO / "recording")


def add_device(copy, number, text):
    (copy / f"device_{number}.ini").write_text(text)
    ini = (copy / "snapshot.ini").read_text()
    ini = ini.replace("\n\n[trace]", f"\ndevice{number}=device_{number}.ini\n\n[trace]")
    (copy / "snapshot.ini").write_text(ini)


def make_cores():
    """The demo with two more cores: cpu_1 that nothing traced, and cpu_2, whose trace unit wrote
    nothing into the buffer."""
    copy = copy_recording(DEMO / "recording")
    core = (copy / "device_0.ini").read_text()
    add_device(copy, 2, core.replace("cpu_0", "cpu_1"))
    add_device(copy, 3, core.replace("cpu_0", "cpu_2").replace("0x8001044C", "0x80010020"))
    add_device(copy, 4, (copy / "device_1.ini").read_text().replace("PTM_0", "PTM_1")
               .replace("0x00000010", "0x00000011"))
    trace = (copy / "trace.ini").read_text()
    trace = trace.replace("PTM_0=ETB_0", "PTM_0=ETB_0\nPTM_1=ETB_0")
    trace = trace.replace("cpu_0=PTM_0", "cpu_0=PTM_0\ncpu_2=PTM_1")
    (copy / "trace.ini").write_text(trace)
    return copy


def cores():
    """Threads 1 cpu_0, 2 cpu_2, 3 cpu_1: cores with trace come first."""
    return serve("cores", make_cores)


HOLE = (0x8001032E, 0x80010370)  # put_number, which calls itself


def make_hole():
    """The demo without the code of one function: trace that cannot be followed."""
    copy = copy_recording(DEMO / "recording")
    code = demo_code()
    (copy / "dump_0.bin").write_bytes(code[:HOLE[0] - DEMO_BASE])
    (copy / "dump_9.bin").write_bytes(code[HOLE[1] - DEMO_BASE:])
    text = re.sub(r"(file=dump_0\.bin\naddress=\S+\nlength=)\S+",
                  rf"\g<1>{HOLE[0] - DEMO_BASE:#x}", (copy / "device_0.ini").read_text())
    text += (f"\n[dump9]\nfile=dump_9.bin\naddress={HOLE[1]:#x}\n"
             f"length={DEMO_BASE + len(code) - HOLE[1]:#x}\n")
    (copy / "device_0.ini").write_text(text)
    return copy


def make_pc(pc):
    """The demo, halted elsewhere."""
    copy = copy_recording(DEMO / "recording")
    text = (copy / "device_0.ini").read_text().replace(f"PC={DEMO_PC:#010X}".replace("X", "x", 1),
                                                       f"PC={pc:#x}")
    (copy / "device_0.ini").write_text(text)
    return copy


def hole():
    return serve("hole", make_hole)


def session(server, *commands, **options):
    return gdb(server.port, commands, elf=ELF, **options)


def conf(client):
    """The size in the configuration document; None without <bts>."""
    root = xml.etree.ElementTree.fromstring(client.document("btrace-conf:read:"))
    equal((root.tag, root.get("version")), ("btrace-conf", "1.0"), "root of the configuration")
    children = [(c.tag, list(c.attrib)) for c in root]
    if not children:
        return None
    equal(children, [("bts", ["size"])], "content of the configuration")
    return int(root[0].get("size"), 0)


def ran(found, isas):
    """Addresses of a list of blocks, oldest first; gaps stay as they are."""
    addresses = []
    for begin, end in reversed(found):
        if (begin, end) == GAP:
            addresses.append(GAP)
        else:
            addresses += expand(begin, end, isas[begin], demo_code(), DEMO_BASE)
    return addresses


ISAS = dict(RUN + [(DEMO_PC, "A")])
