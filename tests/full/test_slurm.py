#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""configs/slurm on a real Slurm: controller, three node daemons and munge of Debian, on this machine and
with ports, folders and a key of their own. A long recording in parts and many short ones, a task that
is killed and queued again; what is merged is what one run says, byte by byte."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench" / "gdb"))
from replay_gdb import BTRACED, PATIENCE, ROOT, Skipped, Suite, equal, expect, folder, tool

suite = Suite()
ELF = ROOT / "tests" / "demo" / "crash.elf"
SCRIPTS = ROOT / "configs" / "slurm"
NODES = 3
REPORTS = {"lcov": "coverage", "autofdo": "feedback", "summary": "decode"}

# What is run in place of btraced: part 5 waits, the first time, until it is killed.
STAND_IN = """#!/bin/sh
case "$*" in
    *"--part 5/"*) [ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || { : >"$OUT/waits"; exec sleep 100000; } ;;
esac
exec "$REAL_BTRACED" "$@"
"""

CONFIG = """ClusterName=btraced
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={dir}/munge.socket,cred_expire=5
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
KillWait=1
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool.%n
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/%n.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/%n.log
SlurmctldParameters=enable_configless
SlurmdParameters=config_overrides
NodeName=n[1-{nodes}] NodeHostname=localhost NodeAddr=127.0.0.1 Port={node_ports} CPUs=1 RealMemory=4000
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count):
    """So many in a row, as Slurm wants those of its nodes."""
    for first in range(26000 + os.getpid() % 4000, 32000, count):
        sockets = [socket.socket() for _ in range(count)]
        try:
            for i, each in enumerate(sockets):
                each.bind(("127.0.0.1", first + i))
            return list(range(first, first + count))
        except OSError:
            pass
        finally:
            for each in sockets:
                each.close()
    raise Skipped("no free ports")


def wait(condition, what):
    end = time.monotonic() + 10 * PATIENCE
    while not condition():
        expect(time.monotonic() < end, f"never came: {what}")
        time.sleep(0.05)


class Cluster:
    def __init__(self):
        if os.geteuid() != 0:
            raise Skipped("a Slurm of its own wants root")
        self.tools = {name: tool(name) for name in
                      ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "sinfo")}
        self.dir = folder()
        self.dir.chmod(0o755)
        (self.dir / "state").mkdir()
        ports = free_ports(1 + NODES)
        config = self.dir / "slurm.conf"
        config.write_text(CONFIG.format(ports=ports, dir=self.dir, nodes=NODES,
                                        node_ports=f"[{ports[1]}-{ports[-1]}]"))
        self.env = {**os.environ, "SLURM_CONF": str(config)}
        self.daemons = []

    def __enter__(self):
        key = self.dir / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        files = {"key-file": key, "socket": self.dir / "munge.socket",
                 "pid-file": self.dir / "munge.pid", "log-file": self.dir / "munge.log",
                 "seed-file": self.dir / "munge.seed"}
        self.start("munged", "--foreground", "--force",
                   *(f"--{name}={path}" for name, path in files.items()))
        wait(files["socket"].exists, "munge")
        self.start("slurmctld", "-D")
        for i in range(1, NODES + 1):
            self.start("slurmd", "-D", "-N", f"n{i}")
        wait(self.stands, "idle nodes")
        return self

    def stands(self):
        """Nodes are there; a daemon that this machine does not let run is no failure of ours."""
        for daemon in self.daemons:
            if daemon.poll() is not None:
                log = self.dir / f"{Path(daemon.args[0]).name}.out"
                self.__exit__()
                raise Skipped(f"{daemon.args[0]} does not run here: {log.read_text()[-300:]}")
        return self.tell("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == str(NODES)

    def start(self, name, *words):
        with open(self.dir / f"{name}.out", "ab") as out:
            self.daemons.append(subprocess.Popen([self.tools[name], *words], env=self.env,
                                                 stdin=subprocess.DEVNULL, stdout=out, stderr=out))

    def tell(self, name, *words):
        done = subprocess.run([self.tools[name], *words], env=self.env, capture_output=True, text=True,
                              timeout=10 * PATIENCE, check=False)
        return done.stdout

    def __exit__(self, *_):
        """The nodes kill what still runs, and end before their controller does."""
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def submit(self, out, parts, *recordings, **env):
        done = subprocess.run([SCRIPTS / "submit.sh", ELF, out, str(parts), *recordings],
                              env={**self.env, "BTRACED": BTRACED, **env}, capture_output=True,
                              text=True, timeout=10 * PATIENCE, check=False)
        equal(done.returncode, 0, f"submit.sh: {done.stderr}")
        return done.stdout.split()

    def finish(self, job, merge):
        """Until both have left the queue. A merge whose array failed would never begin."""
        wait(lambda: not self.tell("squeue", "-h", "-j", job).strip(), f"the array's end {job}")
        wait(lambda: "DependencyNeverSatisfied" in (queue := self.tell("squeue", "-h", "-j", merge))
             or not queue.strip(), "the end of the merge")
        equal(self.tell("squeue", "-h"), "", "queue")


def btraced(*words):
    done = subprocess.run([BTRACED, *map(str, words)], capture_output=True, text=True, check=True,
                          timeout=10 * PATIENCE)
    return done.stdout


def recording(at, times):
    shutil.copytree(ROOT / "tests" / "demo" / "recording", at)
    trace = at / "buffer_0.bin"
    trace.write_bytes(trace.read_bytes() * times)
    return at


def check(out, *recordings):
    for name, command in REPORTS.items():
        if name != "summary" or len(recordings) == 1:
            equal((out / f"merged.{name}").read_text(), btraced(command, "--elf", ELF, *recordings),
                  f"{name}: what one run says")


def in_parts(cluster):
    """A task that is killed while it runs is done again by itself, and nothing else is."""
    out, run = folder() / "counts", recording(folder() / "long", 4000)
    stand_in = folder() / "btraced"
    stand_in.write_text(STAND_IN)
    stand_in.chmod(0o755)
    job, merge = cluster.submit(out, 8, run, BTRACED=str(stand_in), REAL_BTRACED=BTRACED)
    wait((out / "waits").exists, "the task that waits")
    cluster.tell("scontrol", "requeue", f"{job}_4")
    cluster.finish(job, merge)
    check(out, run)


def many_runs(cluster):
    out = folder() / "counts"
    runs = [recording(folder() / f"night{i}", 1 + i % 7) for i in range(24)]
    cluster.finish(*cluster.submit(out, 1, *runs))
    check(out, *runs)


@suite.test("slurm: parts with one killed, and many recordings, merge to what one run says")
def _():
    with Cluster() as cluster:
        in_parts(cluster)
        many_runs(cluster)


suite.run()
