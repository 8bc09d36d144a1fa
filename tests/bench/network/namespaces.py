# SPDX-License-Identifier: BSD-3-Clause
"""A lab bench and a desk as two network namespaces with a cable between them."""

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))

from replay_gdb import PATIENCE, Skipped, tool  # noqa: E402

BENCH, DESK = (f"btraced-{name}-{os.getpid()}" for name in ("bench", "desk"))


def ip(*words):
    done = subprocess.run([tool("ip"), *words], capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        reason = " ".join(done.stderr.split())[:100]
        raise Skipped(f"no network namespaces (root's right, or a container's): ip {words[0]}: {reason}")


def inside(name):
    return [tool("ip"), "netns", "exec", name]


def etc(name, file, text):
    """What /etc/FILE is inside."""
    place = Path("/etc/netns") / name
    place.mkdir(parents=True, exist_ok=True)
    (place / file).write_text(text)


def check(name):
    """Programs run inside: a container may allow the namespace and refuse what `ip` mounts in it."""
    ip("netns", "exec", name, "true")


class Cable:
    """10.77.0.1 and fd77::1 at the bench, .2, .3 and ::2 at the desk; the same for all tests."""

    laid = False
    refused = None  # why it cannot be: the first test asks, the others are told

    @classmethod
    def lay(cls):
        if cls.refused:
            raise Skipped(cls.refused)
        if cls.laid:
            return
        try:
            cls.pull()
        except Skipped as why:
            cls.refused = str(why)
            raise
        cls.laid = True

    @classmethod
    def pull(cls):
        for name in (BENCH, DESK):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
            check(name)
        ip("-n", BENCH, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns",
           DESK)
        for name, addresses in ((BENCH, ("10.77.0.1/24", "fd77::1/64")),
                                (DESK, ("10.77.0.2/24", "10.77.0.3/24", "fd77::2/64"))):
            for address in addresses:
                nodad = ["nodad"] if ":" in address else []
                ip("-n", name, "address", "add", address, "dev", "cable", *nodad)
            ip("-n", name, "link", "set", "cable", "up")

    @classmethod
    def cut(cls):
        """What the desk sends arrives nowhere, and it hears nothing: no end of a connection either."""
        ip("-n", DESK, "link", "set", "cable", "down")

    @classmethod
    def mend(cls):
        ip("-n", DESK, "link", "set", "cable", "up")

    @classmethod
    def take_away(cls):
        for name in (BENCH, DESK):
            with contextlib.suppress(Skipped):
                ip("netns", "delete", name)
            shutil.rmtree(f"/etc/netns/{name}", ignore_errors=True)
