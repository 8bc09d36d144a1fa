#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Does the layout of the sources keep its limits? tests/layout.sh [--verbose] [ROOT]: a line for
# each limit, and before a line that fails, what offends. --verbose lists it for every line.
# Needs `make all virtual-board library`.
exec python3 -B "$(dirname "$0")/layout.py" "$@"
