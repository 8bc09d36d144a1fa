#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Completion in bash: every command of the help, the options of each, virtual boards, files."""

import re
import subprocess

from replay_gdb import BTRACED, PATIENCE, ROOT, Suite, environment, equal, expect, run

suite = Suite()
SCRIPT = """source configs/completion/btraced.bash
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _btraced; printf '%s\\n' "${COMPREPLY[@]}\""""


def complete(*words):
    done = subprocess.run(["bash", "-c", SCRIPT, "bash", BTRACED, *words], cwd=ROOT, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, env=environment(),
                          timeout=PATIENCE, check=True)
    equal(done.stderr, "", "messages")
    return sorted(done.stdout.split())


def commands():
    text = run([BTRACED, "--help"]).partition("commands:\n")[2].partition("\n\n")[0]
    return re.findall(r"^  ([a-z]+) ", text, re.MULTILINE)


@suite.test("completion: commands")
def _():
    expect(len(commands()) > 5, "the help has no commands")
    equal(complete(""), sorted([*commands(), "help"]), "commands")
    equal(complete("rep"), ["replay", "report"], "what begins with rep")


@suite.test("completion: the options of each command")
def _():
    for command in commands():
        options = set(re.findall(r"--[a-z-]+", run([BTRACED, command, "--help"])))
        equal(complete(command, "--"), sorted(options), f"options of {command}")


@suite.test("completion: boards and files")
def _():
    equal(complete("serve", "-c", "virtual-a9"), ["virtual-a9", "virtual-a9-smp"], "boards")
    equal(complete("serve", "-c", "README"), ["README.md"], "files")


suite.run()
