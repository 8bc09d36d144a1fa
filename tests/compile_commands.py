#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What make would run becomes the compilation database of clangd: compile commands in, JSON out."""
import json
import os
import shlex
import sys

entries = []
for line in sys.stdin:
    try:
        words = shlex.split(line)
    except ValueError:
        continue
    if "-c" in words and words[-3].endswith(".c") and words[-2] == "-o":
        entries.append({"directory": os.getcwd(), "file": words[-3], "arguments": words})
json.dump(entries, sys.stdout, indent=1)
print()
