# SPDX-License-Identifier: BSD-3-Clause
"""A lab bench and a desk as two network namespaces with a cable between them."""

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
        raise Skipped(f"no network namespaces: ip {words[0]}: {done.stderr.strip()[:100]}")


def inside(name):
    return [tool("ip"), "netns", "exec", name]


def etc(name, file, text):
    """What /etc/FILE is inside."""
    place = Path("/etc/netns") / name
    place.mkdir(parents=True, exist_ok=True)
    (place / file).write_text(text)


class Cable:
    """10.77.0.1 and fd77::1 at the bench, .2, .3 and ::2 at the desk; the same for all tests."""

    laid = False

    @classmethod
    def lay(cls):
        if cls.laid:
            return
        cls.laid = True
        for name in (BENCH, DESK):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", BENCH, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns",
           DESK)
        for name, addresses in ((BENCH, ("10.77.0.1/24", "fd77::1/64")),
                                (DESK, ("10.77.0.2/24", "10.77.0.3/24", "fd77::2/64"))):
            for address in addresses:
                nodad = ["nodad"] if ":" in address else []
                ip("-n", name, "address", "add", address, "dev", "cable", *nodad)
            ip("-n", name, "link", "set", "cable", "up")

    @classmethod
    def take_away(cls):
        for name in (BENCH, DESK):
            subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL, check=False)
            shutil.rmtree(f"/etc/netns/{name}", ignore_errors=True)
