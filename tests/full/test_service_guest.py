#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The service under a real systemd, in a small virtual machine: its user, its rights, its sockets, what
becomes of a missing probe and of a board file with an error."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench" / "network"))
# pylint: disable=wrong-import-position
import certificates
from chapter import bench_lines, commands
from replay_gdb import ROOT, Failed, Suite, expect, folder, has, lacks, tool

NO_KERNEL = 3
HERE = ROOT / "tests/bench/network/guest"
suite = Suite()

TARGET = "[Unit]\nRequires=session.service\nAfter=session.service\n"
SERVICE = ("[Unit]\nRequires=basic.target\nAfter=basic.target\n[Service]\nType=oneshot\n"
           "ExecStart=/run/out/session.sh\nTimeoutStartSec=1300\n")


def kernel():
    """The kernel, and the files of a guest with its modules."""
    place = ROOT / "build/guest"
    done = subprocess.run([ROOT / "tests/bench/usb/guest/prepare.sh", place], capture_output=True,
                          text=True, timeout=1200)
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


SOCKET_EDITOR = """#!/bin/sh
# What somebody types who was told: %s
printf '[Socket]\\nListenStream=%s\\n' >"$1"
"""


def write_chapter(out):
    """The README's commands, the answers of who edits, and the certificates that it asks for."""
    (out / "readme").write_text("\n".join(bench_lines()) + "\n")
    edit, connect = (next(line for line in commands(comments=True) if word in line)
                     for word in ("systemctl edit", "btraced connect lab-7"))
    port = has(edit, r"# \[Socket\], ListenStream=(\d+)$")[1]
    (out / "socket-editor").write_text(SOCKET_EDITOR % (edit.strip(), port))
    (out / "socket-editor").chmod(0o755)
    (out / "connect").write_text(connect.removeprefix("(gdb) ").strip())
    place = certificates.make()
    certificates.certificate("lab-7", extensions="subjectAltName = DNS:lab-7\n"
                                                 "extendedKeyUsage = serverAuth")
    for where, files in (("certificates", (("ca.pem", "ca.pem"), ("lab-7.pem", "server.pem"),
                                           ("lab-7.key", "server.key"))),
                         ("desk/.config/btraced", (("ca.pem", "ca.pem"), ("alice.pem", "cert.pem"),
                                                   ("alice.key", "key.pem")))):
        (out / where).mkdir(parents=True)
        for source, name in files:
            shutil.copy(place / source, out / where / name)


def boot():
    """The folder with what the guest has written."""
    tool("qemu-system-x86_64")
    tool("systemctl")
    image, initrd = kernel()
    out = folder()
    subprocess.run(["make", "-s", "-C", str(ROOT), "install", f"DESTDIR={out}/root", "PREFIX=/usr/local"],
                   check=True, capture_output=True, timeout=1200)
    write_chapter(out)
    (out / "units").mkdir()
    (out / "units/session.target").write_text(TARGET)
    (out / "units/session.service").write_text(SERVICE)
    shutil.copy(HERE / "session.sh", out)
    khz = int(float(next(line for line in Path("/proc/cpuinfo").read_text().splitlines()
                         if "cpu MHz" in line).split(":")[1]) * 1000)
    command = ["qemu-system-x86_64", "-M", "microvm,pit=on,pic=on,rtc=on,isa-serial=on", "-accel", "tcg",
               "-cpu", "max", "-smp", "1", "-m", "1500", "-nodefaults", "-no-user-config", "-nographic",
               "-no-reboot", "-serial", "stdio", "-kernel", str(image), "-initrd", str(initrd),
               "-append", f"console=ttyS0 quiet tsc_early_khz={khz} tsc=reliable panic=-1 "
               "systemd.default_timeout_start_sec=1200"]
    for name, path, more in (("root", "/", ",readonly=on"), ("out", out, "")):
        command += ["-fsdev", f"local,id={name},path={path},security_model=none,multidevs=remap{more}",
                    "-device", f"virtio-9p-device,fsdev={name},mount_tag={name}"]
    console = out / "console"
    with open(console, "wb") as log:
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=1400,
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


logged = Guest()


@suite.test("service in systemd: the README's commands: the user, the board, the sockets")
def _():
    has(logged("users"), "^btraced:.*nologin$", "systemd-sysusers, and reloads")
    has(logged("users"), r"^uid=\d+\(btraced\) .*\(plugdev\)", "its groups")
    lacks(logged("users"), "Conflict")
    has(logged("checked"), "^/etc/btraced/btraced.conf: good", "--check-config")
    has(logged("enabled"), "^enabled$", "systemctl enable")


@suite.test("service in systemd: the README's commands: over TLS, with a certificate alone")
def _():
    has(logged("edited"), r"^\[Socket\]\nListenStream=3334$", "systemctl edit")
    has(logged("over-tls"), r"Breakpoint 1, main \(\)")
    has(logged("over-tls"), r"^\* client 1 +alice \(.*127.*\) +in control|^\* client \d+ +alice ")
    has(logged("without-certificate"), "the server wants a certificate|--cert")
    lacks(logged("without-certificate"), "^pc ")


@suite.test("service in systemd: the sockets without the service")
def _():
    has(logged("socket"), r"^srw-rw---- 1 root btraced .* /run/btraced\.sock$")
    has(logged("socket"), "^ActiveState=inactive$")


@suite.test("service in systemd: a probe that is missing is looked for again")
def _():
    for line in ("SubState=auto-restart", "ExecMainStatus=4", "socket: active"):
        has(logged("no-probe"), f"^{line}$")
    has(logged("journal"), "^btraced serve: no (CMSIS-DAP probe found|permission to open)")


@suite.test("service in systemd: GDB begins it, and has reverse execution")
def _():
    has(logged("session"), r"Breakpoint 1, main \(\)")
    has(logged("session"), r"^reset_handler \(\)")
    has(logged("session"), r"^\* client 1 +user root, process \d+ .*in control")
    has(logged("session"), "^recording to /var/lib/btraced/rec$")
    for line in ("ActiveState=active", "SubState=running"):
        has(logged("running"), f"^{line}$")


@suite.test("service in systemd: no rights but its own")
def _():
    has(logged("running"), r"^btraced +btraced$")
    has(logged("running"), r"^btraced +qemu-system-arm$")
    has(logged("running"), r"^drwx--S--- \d btraced btraced .* rec$")
    for line in (r"CapEff:\s0+", r"NoNewPrivs:\s1", r"Seccomp:\s2"):
        has(logged("rights"), f"^{line}$")


@suite.test("service in systemd: reload, stop")
def _():
    has(logged("journal"), r"^btraced serve: SIGHUP: /etc/btraced/btraced\.conf is read again$")
    for line in ("Result=success", "ExecMainStatus=0", "ActiveState=inactive", "socket: active"):
        has(logged("stopped"), f"^{line}$")


@suite.test("service in systemd: an error in the board file ends it, and is not tried for ever")
def _():
    has(logged("bad-file"), "^socket: failed$")
    has(logged("journal"), r"^btraced serve: /etc/btraced/btraced\.conf:\d+: neither")


suite.run()
