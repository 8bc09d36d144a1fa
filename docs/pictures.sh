#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The pictures of `btraced report`: those in the README, from the demo's recording: report.png, timeline.png and
# coverage.png; tasks.png in tasks.md, of a run of configs/virtual-m4-tasks.conf. docs/pictures.sh docs/pictures;
# wants chromium, QEMU, and `make all virtual-board`.
set -eu
cd "$(dirname "$0")/.."
out=$(realpath "${1:?usage: docs/pictures.sh FOLDER}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build/btraced report --elf tests/demo/crash.elf --source-map ./=tests/demo/ -o "$work/demo.html" tests/demo/recording
build/btraced run -c virtual-m4-tasks --until stopped_here --record "$work/tasks"
build/btraced report --elf configs/virtual/tasks-m4.elf -o "$work/tasks.html" "$work/tasks"
PYTHONPATH=tests/bench/gdb python3 -B - "$work" "$out" <<'PICTURES'
import sys
from pathlib import Path
from browser import Browser

work, out = Path(sys.argv[1]), Path(sys.argv[2])
with Browser() as browser:
    for page, name, height, script in (
            ("demo", "report", 1500, "scrollTo(0, 0)"),
            ("demo", "timeline", 560, "document.getElementById('timeline').scrollIntoView()"),
            ("demo", "coverage", 760, "openLine(files[0].path, 105)"),
            ("tasks", "tasks", 760, "show(85000, 175000), document.getElementById('timeline').scrollIntoView()")):
        browser.open(work / f"{page}.html")
        browser.picture(1200, height)  # what follows finds the place in a page of this size
        browser.value(script)
        (out / f"{name}.png").write_bytes(browser.picture(1200, height))
        browser.quiet(work / f"{page}.html")
PICTURES
