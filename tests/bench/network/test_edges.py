#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/base/loop_time.c, server/monitor/metrics.c, server/net/listener.c and server/cmd/main.c.
"""The server at its edges: few descriptors, pipes in place of files, hosts that are not ours, and how
long the event loop was away."""

import http.client
import os
import random
import resource
import signal
import subprocess
import sys
from pathlib import Path

import certificates

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from live_gdb import board_file  # noqa: E402
from metrics_page import numbers, page  # noqa: E402
from replay_gdb import (BTRACED, DEMO, PATIENCE, Client, Server, Suite, environment, equal,  # noqa: E402
                        expect, folder, frame, has, lacks, logged, wait_for)

suite = Suite()
RECORDING = DEMO / "recording"
SEED = random.SystemRandom().randrange(1 << 32)


def ends(*arguments, files=None):
    """Exit code and messages of a command that does not serve."""
    limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))) if files else None
    done = subprocess.run([BTRACED, *map(str, arguments)], capture_output=True, text=True, preexec_fn=limit,
                          stdin=subprocess.DEVNULL, timeout=PATIENCE, env=environment())
    return done.returncode, done.stderr


@suite.test("edges: with too few descriptors a start ends with a message")
def _():
    board = board_file("virtual-a9")
    for command in (("serve", "-c", board, "--listen", "127.0.0.1:0"), ("record", "-c", board),
                    ("replay", "--listen", "127.0.0.1:0", RECORDING), ("connect", "127.0.0.1:1")):
        for files in (8, 12, 16, 24, 32):
            code, text = ends(*command, files=files)
            equal(code, 1, f"exit code of {command[0]} with {files} descriptors ({text[:300]})")
            has(text, rf"^btraced {command[0]}: only \d+ more files can be open at once.*ulimit -n",
                f"message with {files} descriptors")


@suite.test("edges: a board file that is a pipe or a device, at the start and at a reload")
def _():
    place = folder()
    os.mkfifo(place / "pipe.conf")
    for path in (place / "pipe.conf", "/dev/zero"):
        for command in (("serve", "-c", path, "--check-config"),
                        ("replay", "-c", path, "--listen", "127.0.0.1:0", RECORDING)):
            code, text = ends(*command)
            equal(code, 2, f"exit code of {command[0]} -c {path}")
            has(text, f"cannot read '{path}': it is no regular file")
    conf = place / "lab.conf"
    conf.write_text("[gdb]\nlisten = 127.0.0.1:0\n")
    with Server(RECORDING, "-c", conf) as server:
        conf.unlink()
        os.mkfifo(conf)
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "it is no regular file" in server.stderr, "a reload that is refused")
        with Client(server.port, acks=False) as client:
            has(client.ask("?"), "^[TS]05")


@suite.test("edges: files of [tls] that are pipes")
def _():
    good, place = certificates.make(), folder()
    os.mkfifo(place / "pipe")
    for key in ("ca", "cert", "key", "crl"):
        files = {"ca": good / "ca.pem", "cert": good / "server.pem", "key": good / "server.key", key: place / "pipe"}
        conf = place / "lab.conf"
        conf.write_text("[gdb]\nlisten = tls:127.0.0.1:0\n[tls]\nallow = *\n" +
                        "".join(f"{name} = {path}\n" for name, path in files.items()))
        code, text = ends("replay", "-c", conf, RECORDING)
        equal(code, 2, f"exit code for '{key}' ({text[:300]})")
        has(text, rf"\b{key}\b.*it is no file")


@suite.test("edges: [metrics] listens on TCP of this machine alone")
def _():
    conf = folder() / "lab.conf"
    for where in (f"unix:{conf}.socket", "0.0.0.0:0", "[::]:9333"):
        conf.write_text(f"[gdb]\nlisten = 127.0.0.1:0\n[metrics]\nlisten = {where}\n")
        code, text = ends("replay", "-c", conf, "--listen", "127.0.0.1:0", RECORDING)
        equal(code, 2, f"exit code for {where}")
        has(text, r"lab\.conf:4: listen: '.*' is no TCP address of this machine alone")
    conf.write_text("[gdb]\nlisten = 127.0.0.1:0\n[metrics]\nlisten = [::1]:0\n")
    if not os.path.exists("/proc/net/if_inet6") or "00000000000000000000000000000001" not in \
            Path("/proc/net/if_inet6").read_text():
        print("# no IPv6 on this machine: its address is not tried")
        return
    with Server(RECORDING, "-c", conf) as server:
        port = int(logged(server, r"^numbers at http://\[::1\]:(\d+)/metrics$")[1])
        connection = http.client.HTTPConnection("::1", port, timeout=PATIENCE)
        connection.request("GET", "/metrics")
        equal(connection.getresponse().status, 200, "the page by IPv6")


@suite.test(f"edges: metrics answers names of this machine alone, seed {SEED}")
def _():
    rng = random.Random(SEED)
    conf = folder() / "lab.conf"
    conf.write_text("[gdb]\nlisten = 127.0.0.1:0\n[metrics]\nlisten = 127.0.0.1:0\n")
    ours = ["127.0.0.1", "127.0.0.1:9333", "127.3.2.1:1", "localhost", "localhost:80", "[::1]", "[::1]:9333"]
    strange = ["lab-7", "localhost.evil.example", "127.0.0.1.evil.example:9333", "10.1.0.7", "[2001:db8::1]:9333",
               "[::", "[::1", "::1", "unix:/tmp/x", "localhost:x", "x" * 2000, "127.0.0.1:9333:9333", "[::1]x"]
    strange += ["".join(rng.choices("abcdefghijklm.-:[]@%_", k=rng.randrange(4, 40))) for _ in range(100)]
    with Server(RECORDING, "-c", conf) as server:
        port = int(logged(server, r"^numbers at http://127\.0\.0\.1:(\d+)/metrics$")[1])
        for host, wanted in [*((host, 200) for host in ours), *((host, 403) for host in strange)]:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            connection.request("GET", "/metrics", headers={"Host": host})
            answer = connection.getresponse()
            equal(answer.status, wanted, f"answer to Host: {host!r}")
            equal(b"btraced_" in answer.read(), wanted == 200, f"numbers for Host: {host!r}")
            connection.close()


@suite.test("edges: who waits while there are no descriptors is served as soon as there are")
def _():
    with Server(RECORDING) as server:
        pid = server.process.pid
        taken = len(os.listdir(f"/proc/{pid}/fd"))
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (taken, before[1]))
        clients = [Client(server.port) for _ in range(6)]
        for client in clients:
            client.send(b"$?#3f")
        equal(len(os.listdir(f"/proc/{pid}/fd")), taken, "descriptors at their limit")
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        for client in clients:
            has(client.reply(), "^[TS]05")
            client.close()


@suite.test("edges: how long the event loop was away is in 'monitor status' and in the metrics")
def _():
    conf = folder() / "lab.conf"
    conf.write_text("[gdb]\nlisten = 127.0.0.1:0\n[metrics]\nlisten = 127.0.0.1:0\n")
    with Server(RECORDING, "-c", conf) as server, Client(server.port, acks=False) as client:
        client.start()
        client.send(frame("qRcmd," + b"status".hex()))
        text = ""
        while (answer := client.reply())[:1] == "O" and answer != "OK":
            text += bytes.fromhex(answer[1:]).decode()
        shown = has(text, r"^event loop +away for (\d+)\.(\d) ms at most, (\d+) times for more "
                    r"than 50 ms; at work for (\d+)\.(\d) ms at most$")
        found = numbers(page(server))
        longest, times = (found["btraced_loop_away_" + name] for name in ("longest_microseconds", "long_total"))
        # It never sinks, and what was counted was so long.
        expect(longest // 100 >= int(shown[1]) * 10 + int(shown[2]), f"{longest} us, and before {shown[0]}")
        expect(times >= int(shown[3]), f"{times} times, and before {shown[0]}")
        expect(longest > 0, "the loop has done nothing")
        equal(times > 0, longest > 50000, f"{times} long rounds, the longest of {longest} us")
        work = found["btraced_loop_work_longest_microseconds"]
        expect(work // 100 >= int(shown[4]) * 10 + int(shown[5]) and work > 0, f"{work} us, and before {shown[0]}")
        lacks(server.stderr, "event loop")


suite.run()
