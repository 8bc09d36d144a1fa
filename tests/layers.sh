#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The layers hold: who includes and who calls whom; private headers; no I/O, threads, clocks or
# globals where there must be none. tests/layers.sh [--verbose] [ROOT]: see layout.sh.
#
# A line for each folder. It may use the folders above it in its layer, never those below it, and
# of other layers what the line of its layer names: layers, folders, headers.
exec python3 -B "$(dirname "$0")/layers.py" "$@" <<'TABLE'
layer decoder:
decoder/include/btrace
decoder/base
decoder/port
decoder/program
decoder/disasm
decoder/flow
decoder/etmv1
decoder/etmv2
decoder/etmv3
decoder/etmv4
decoder/ptm
decoder/itm
decoder/stm
decoder/mtb
decoder/stream
decoder/history
decoder/effect
decoder/values
decoder/execute
decoder/counts
decoder/calls
decoder/source
decoder/library

layer drivers: decoder/include/btrace/types.h decoder/base/array.h decoder/base/bytes.h decoder/base/search.h
drivers/base
drivers/target
drivers/probe
drivers/usb
drivers/adi
drivers/probe/cmsis_dap
drivers/probe/ftdi
drivers/probe/orbtrace
drivers/coresight
drivers/cortex_m
drivers/cortex_a
drivers/flash
drivers/elf
drivers/dwarf
drivers/rtos
drivers/ini
drivers/zstd
drivers/snapshot
drivers/perf

# The QEMU plugin: a program of its own, which nobody includes.
layer drivers/virtual: decoder/include/btrace/types.h
drivers/virtual/encoder
drivers/virtual/board

layer protocol: decoder/include/btrace/types.h decoder/base/array.h decoder/base/bytes.h drivers/target
protocol/rsp
protocol/remote
protocol/session

layer server: protocol drivers decoder
server/base
server/net
server/protocols
server/config
server/capture
server/recording
server/history
server/export
server/trace_unit
server/probe
server/access
server/monitor
server/reverse
server/tasks
server/live
server/replay
server/cmd
TABLE
