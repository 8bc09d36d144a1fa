#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Debian's pyOCD as a GDB server. It is of 2019 and calls a method of threads by a name that Python 3.9
has taken away; nothing else of it is changed. Its options: pyocd-gdbserver --help."""

import threading

threading.Thread.isAlive = threading.Thread.is_alive

from pyocd.tools.gdb_server import main  # noqa: E402

main()
