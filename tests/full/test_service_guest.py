#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The service under a real systemd, in a small virtual machine: its user, its rights, its sockets, what
becomes of a missing probe and of a board file with an error."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
# pylint: disable=wrong-import-position
from replay_gdb import ROOT, Failed, Suite, expect, folder, has, tool

NO_KERNEL = 3
HERE = ROOT / "tests/lab/guest"
suite = Suite()

TARGET = "[Unit]\nRequires=session.service\nAfter=session.service\n"
SERVICE = ("[Unit]\nRequires=basic.target\nAfter=basic.target\n[Service]\nType=oneshot\n"
           "ExecStart=/run/out/session.sh\nTimeoutStartSec=400\n")


def kernel():
    """The kernel, and the files of a guest with its modules."""
    place = ROOT / "build/guest"
    done = subprocess.run([ROOT / "tests/usb/guest/prepare.sh", place], capture_output=True,
                          text=True, timeout=600)
    if done.returncode == NO_KERNEL:
        must = os.environ.get("BTRACED_REQUIRE_GUEST") == "1"
        print(f"{'FAIL' if must else 'SKIP'} service in systemd: Debian's kernel package cannot be "
              "downloaded")
        sys.exit(int(must))
    expect(done.returncode == 0, f"prepare.sh: {done.stderr[-300:]}")
    files = folder()
    subprocess.run(f"zcat {place}/initrd | cpio -id --quiet", shell=True, cwd=files, check=True)
    shutil.copy(HERE / "init", files / "init")
    initrd = folder() / "initrd"
    subprocess.run(f"find . | cpio --quiet -o -H newc -R 0:0 | gzip -1 >{initrd}", shell=True,
                   cwd=files, check=True)
    return place / "vmlinux", initrd


def boot():
    """The folder with what the guest has written."""
    tool("qemu-system-x86_64")
    tool("systemctl")
    image, initrd = kernel()
    out = folder()
    subprocess.run(["make", "-s", "-C", str(ROOT), "install", f"DESTDIR={out}/root", "PREFIX=/run/bt"],
                   check=True, capture_output=True, timeout=300)
    (out / "units").mkdir()
    (out / "units/session.target").write_text(TARGET)
    (out / "units/session.service").write_text(SERVICE)
    shutil.copy(HERE / "session.sh", out)
    khz = int(float(next(line for line in Path("/proc/cpuinfo").read_text().splitlines()
                         if "cpu MHz" in line).split(":")[1]) * 1000)
    command = ["qemu-system-x86_64", "-M", "microvm,pit=on,pic=on,rtc=on,isa-serial=on", "-accel", "tcg",
               "-cpu", "max", "-smp", "1", "-m", "1500", "-nodefaults", "-no-user-config", "-nographic",
               "-no-reboot", "-serial", "stdio", "-kernel", str(image), "-initrd", str(initrd),
               "-append", f"console=ttyS0 quiet tsc_early_khz={khz} tsc=reliable panic=-1"]
    for name, path, more in (("root", "/", ",readonly=on"), ("out", out, "")):
        command += ["-fsdev", f"local,id={name},path={path},security_model=none,multidevs=remap{more}",
                    "-device", f"virtio-9p-device,fsdev={name},mount_tag={name}"]
    console = out / "console"
    with open(console, "wb") as log:
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=500,
                       check=False)
    if not (out / "done").exists():
        raise Failed(f"the guest did not end: {console.read_text(errors='replace')[-1500:]}")
    return out


class Guest:
    """Boots once."""

    out = None

    def __call__(self, name):
        self.out = self.out or boot()
        return (self.out / name).read_text()


said = Guest()


@suite.test("service in systemd: the user, and the sockets without the service")
def _():
    has(said("users"), "^Creating user 'btraced'", "systemd-sysusers")
    has(said("socket"), r"^srw-rw---- 1 root btraced .* /run/btraced\.sock$")
    has(said("socket"), "^ActiveState=inactive$")


@suite.test("service in systemd: a probe that is missing is looked for again")
def _():
    for line in ("SubState=auto-restart", "ExecMainStatus=4", "socket: active"):
        has(said("no-probe"), f"^{line}$")
    has(said("journal"), "^btraced serve: no (CMSIS-DAP probe found|permission to open)")


@suite.test("service in systemd: GDB begins it, and has the past")
def _():
    has(said("session"), r"Breakpoint 1, main \(\)")
    has(said("session"), r"^reset_handler \(\)")
    has(said("session"), r"^\* client 1 +127.* in control")
    has(said("session"), "^recording to rec$")
    for line in ("ActiveState=active", "SubState=running"):
        has(said("running"), f"^{line}$")


@suite.test("service in systemd: no rights but its own")
def _():
    has(said("running"), r"^btraced +btraced$")
    has(said("running"), r"^btraced +qemu-system-arm$")
    has(said("running"), r"^drwxr-s--- \d btraced btraced .* rec$")
    for line in (r"CapEff:\s0+", r"NoNewPrivs:\s1", r"Seccomp:\s2"):
        has(said("rights"), f"^{line}$")


@suite.test("service in systemd: reload, stop")
def _():
    has(said("journal"), r"^btraced serve: SIGHUP: /etc/btraced/btraced\.conf is read again$")
    for line in ("Result=success", "ExecMainStatus=0", "ActiveState=inactive", "socket: active"):
        has(said("stopped"), f"^{line}$")


@suite.test("service in systemd: an error in the board file ends it, and is not tried for ever")
def _():
    has(said("bad-file"), "^socket: failed$")
    has(said("journal"), r"^btraced serve: /etc/btraced/btraced\.conf:\d+: neither")


suite.run()
