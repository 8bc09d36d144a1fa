# SPDX-License-Identifier: BSD-3-Clause
"""Step Back and Reverse for GDB's own DAP server, of GDB 16 and newer: gdb -i=dap -x dap_reverse.py

Front ends show the two buttons as soon as `supportsStepBack` is told. Step Back is `reverse-next`, on the
disassembly `reverse-stepi`."""

import gdb

try:
    from gdb.dap.events import exec_and_expect_stop
    from gdb.dap.next import _handle_thread_step
    from gdb.dap.server import capability, request, send_gdb, send_gdb_with_response
except ImportError as missing:
    gdb.write(f"GDB {gdb.VERSION} has no DAP server that can be extended: 16 or newer is needed "
              f"({missing})\n", gdb.STDERR)
else:
    @capability("supportsStepBack")
    @request("stepBack", response=False)
    def step_back(*, threadId: int, singleThread: bool = False, granularity: str = "statement",
                  **args):
        _handle_thread_step(threadId, singleThread)
        exec_and_expect_stop("reverse-stepi" if granularity == "instruction" else "reverse-next")

    @request("reverseContinue", on_dap_thread=True)
    def reverse_continue(*, threadId: int, singleThread: bool = False, **args):
        locked = send_gdb_with_response(lambda: _handle_thread_step(threadId, singleThread))
        send_gdb(lambda: exec_and_expect_stop("reverse-continue"))
        return {"allThreadsContinued": not locked}
