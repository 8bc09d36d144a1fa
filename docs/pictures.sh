#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The pictures of `btraced report` in the README, from the demo's recording: report.png, timeline.png and
# coverage.png. docs/pictures.sh docs/pictures; wants chromium, and `make`.
set -eu
cd "$(dirname "$0")/.."
out=$(realpath "${1:?usage: docs/pictures.sh FOLDER}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build/btraced report --elf tests/demo/crash.elf --source-map ./=tests/demo/ -o "$work/demo.html" tests/demo/recording
PYTHONPATH=tests/bench/gdb python3 -B - "$work/demo.html" "$out" <<'PICTURES'
import sys
from pathlib import Path
from browser import Browser

page, out = Path(sys.argv[1]), Path(sys.argv[2])
with Browser() as browser:
    browser.open(page)
    for name, height, script in (
            ("report", 1500, "scrollTo(0, 0)"),
            ("timeline", 560, "document.getElementById('timeline').scrollIntoView()"),
            ("coverage", 760, "openLine(files[0].path, 105)")):
        browser.picture(1200, height)  # what follows finds the place in a page of this size
        browser.value(script)
        (out / f"{name}.png").write_bytes(browser.picture(1200, height))
    browser.quiet(page)
PICTURES
