#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Debian's packages: built from the files of the repository alone, held by lintian, installed into a root of their own,
used from there and purged again: nothing is left. The compiler cache is that of who runs this, if there is one."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "bench" / "gdb"))
from replay_gdb import DEMO, PATIENCE, Skipped, Suite, equal, expect, folder, has, lacks, tool  # noqa: E402

PLACE = ROOT / "build/packages"
PACKAGES = ["btraced", "btraced-doc", "libbtrace-dev", "libbtrace0"]
PATH = "/usr/lib/ccache:" + os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
suite = Suite()


def run(*command, cwd=None, patience=PATIENCE, **variables):
    done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=patience,
                          env={**os.environ, "PATH": PATH, "LC_ALL": "C.UTF-8", **variables})
    expect(done.returncode == 0, f"{' '.join(map(str, command))} ended with {done.returncode}: {done.stdout[-1500:]}")
    return done.stdout


def built():
    """The packages, in PLACE."""
    tree = PLACE / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    for old in PLACE.glob("*btrace*"):
        old.unlink()
    names = run("git", "ls-files", "-z", cwd=ROOT).split("\0")
    for name in filter(None, names):
        if (ROOT / name).exists():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    for program in [*tree.glob("configs/virtual/*.elf"), *tree.glob("configs/virtual/*.flm")]:
        program.touch()  # they are not to be made anew
    cache = Path.home() / ".cache/ccache"  # debhelper has a HOME of its own
    cache = os.environ.get("CCACHE_DIR", str(cache if cache.is_dir() else PLACE / "ccache"))
    run("dpkg-buildpackage", "-b", "-us", "-uc", cwd=tree, patience=20 * PATIENCE,
        DEB_BUILD_OPTIONS="parallel=2 noautodbgsym",
        CCACHE_DIR=cache, CCACHE_NOHASHDIR="1")
    shutil.rmtree(tree)
    found = sorted(PLACE.glob("*.deb"))
    equal(sorted(deb.name.split("_")[0] for deb in found), PACKAGES, "packages")
    return found


def dpkg(root, *arguments):
    """In a root that has no other package; its scripts run here, and are told of the root."""
    as_root = [] if os.geteuid() == 0 else ["fakeroot"]
    return run(*as_root, "dpkg", f"--root={root}", "--force-depends", "--force-script-chrootless", "--force-not-root",
               *map(str, arguments))


def files_in(root):
    own = ("var/lib/dpkg", "var/log")
    return [str(path.relative_to(root)) for path in sorted(root.rglob("*"))
            if not str(path.relative_to(root)).startswith(own) and not path.is_dir()]


@suite.test("packages: what they are built with is what the Makefile says")
def _():
    needs = re.search(r"^DEPS_BUILD := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
    control = re.search(r"^Build-Depends: ((?:.*\n )*.*)$", (ROOT / "debian/control").read_text(), re.MULTILINE)[1]
    given = {word.split("(")[0].strip() for word in control.split(",")}
    equal(given, set(needs) - {"gcc", "libc6-dev"} | {"debhelper-compat"}, "Build-Depends")


@suite.test("packages: built, held by lintian, installed, used, purged")
def _():
    for name in ("dpkg-buildpackage", "dpkg-checkbuilddeps", "lintian", *([] if os.geteuid() == 0 else ["fakeroot"])):
        tool(name)
    done = subprocess.run(["dpkg-checkbuilddeps"], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        raise Skipped(done.stderr.strip().splitlines()[-1])
    debs = built()
    tags = run("lintian", "--fail-on", "error,warning", "--allow-root", *map(str, PLACE.glob("*.changes")),
               patience=20 * PATIENCE)
    lacks(tags, r"^[EW]: ")
    root = folder() / "root"
    for name in ("info", "updates", "triggers", "parts"):
        (root / "var/lib/dpkg" / name).mkdir(parents=True)
    for name in ("status", "available"):
        (root / "var/lib/dpkg" / name).touch()
    dpkg(root, "--install", *debs)
    program = root / "usr/bin/btraced"
    for arguments in (["--summary"], ["--instructions"], ["--events"]):
        shown = run(program, "decode", *arguments, DEMO / "recording")
        expect(len(shown) > 100, f"decode {arguments}: {shown}")
        equal(shown, run(ROOT / "build/btraced", "decode", *arguments, DEMO / "recording"), "listing")
    for board in ("virtual-m3", "virtual-a9", "virtual-a53-smp"):
        has(run(program, "serve", "-c", board, "--check-config"), rf"^{root}/.*: good: {board}, \d cores?$")
    run(ROOT / "tests/demo/run.sh", BTRACED=str(program), BOARD="virtual-a9")
    for page in ("usr/share/man/man1/btraced.1.gz", "usr/share/bash-completion/completions/btraced",
                 "usr/share/zsh/vendor-completions/_btraced", "usr/lib/udev/rules.d/60-btraced.rules",
                 "usr/share/doc/btraced-doc/README.md"):
        expect((root / page).exists() or (root / (page + ".gz")).exists() or (root / page[4:]).exists(), f"no {page}")
    dpkg(root, "--purge", *PACKAGES)
    equal(files_in(root), [], "what is left")


suite.run()
