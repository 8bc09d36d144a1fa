# SPDX-License-Identifier: BSD-3-Clause
"""A board behind btraced as a resource of labgrid, and the driver that reserves it, starts its server,
and has a port for GDB and a recording. docs/lab-server.md says how it is used.

Board does the work, and needs no labgrid: a lock on the bench PC that ends with the server, the server,
its port, its recording. What comes after it is for labgrid."""

import re
import shlex
import subprocess
import threading
from pathlib import Path

RESERVED = 75  # exit code when somebody else has the board
TAIL = 20      # lines of the server that an error quotes

# On the bench PC. The server ends with whoever has started it: its standard input does not end before.
# The lock may be in a folder of everybody: a link that somebody has put there makes no file elsewhere.
# $1 is the lock, $2 the exit code for "it is taken", the rest the command.
SCRIPT = r"""
[ -e "$1" ] || (set -C; : >"$1") 2>/dev/null
exec 3<&0 9<"$1" || exit 74
flock -n 9 || exit "$2"
shift 2
"$@" </dev/null 3<&- &
server=$!
(cat <&3 >/dev/null; kill "$server") >/dev/null 2>&1 9<&- &
watcher=$!
exec 3<&-
wait "$server"
code=$?
kill "$watcher"
exit "$code"
"""


class BoardError(Exception):
    """The board cannot be had, or its server does not start."""


class Board:
    """One board. `prefix` is a command that runs a shell's command line on the bench PC, such as
    ["ssh", "lab-7"]; without one the board is here."""

    def __init__(self, board, program="btraced", options=(), prefix=(), lock=None, recording=None):
        self.board, self.program, self.options, self.prefix = str(board), program, list(options), list(prefix)
        self.lock = lock or (self.board if "/" in self.board else f"/tmp/btraced-{self.board}.lock")
        self.recording = recording
        self.process, self.port, self.lines = None, None, []

    def command(self, *words):
        """As an argument list of this machine."""
        words = [str(word) for word in words]
        return [*self.prefix, shlex.join(words)] if self.prefix else words

    def start(self):
        """Reserves the board and starts its server. The port where GDB connects, on the bench PC."""
        serve = [self.program, "serve", "-c", self.board, "--listen", "127.0.0.1:0", *self.options]
        if self.recording:
            serve += ["--record", self.recording]
        ready = threading.Event()
        self.port, self.lines = None, []
        self.process = subprocess.Popen(
            self.command("sh", "-c", SCRIPT, "board", self.lock, RESERVED, *serve), stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
        threading.Thread(target=self._read, args=(self.process.stderr, ready), daemon=True).start()
        ready.wait()
        if self.port is None:
            code = self.stop()
            said = "".join(self.lines[-TAIL:]).strip()
            raise BoardError(f"{self.board}: somebody else has this board ({self.lock})" if code == RESERVED
                             else f"{self.board}: the server ended with {code}: {said}")
        return self.port

    def _read(self, stream, ready):
        for line in stream:
            self.lines.append(line)
            if match := re.fullmatch(r"Listening on port (\d+)\s*", line):
                self.port = int(match[1])
                ready.set()
        ready.set()

    def stop(self):
        """Ends the server, which completes its recording, and gives the board back. The exit code."""
        if not self.process:
            return 0
        self.process.stdin.close()
        code = self.process.wait()
        self.process, self.port = None, None
        return code

    def fetch(self, to):
        """Copies the recording into a folder here. The server must have ended."""
        if not self.recording or self.process:
            raise BoardError(f"{self.board}: there is no recording that is complete")
        to = Path(to)
        to.mkdir(parents=True, exist_ok=True)
        pack = subprocess.Popen(self.command("tar", "-C", self.recording, "-cf", "-", "."),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        unpacked = subprocess.run(["tar", "-C", str(to), "-xf", "-"], stdin=pack.stdout, check=False)
        pack.stdout.close()
        if pack.wait() or unpacked.returncode:
            raise BoardError(f"{self.board}: '{self.recording}' cannot be copied")
        return to


try:
    import labgrid
except ImportError:
    labgrid = None

if labgrid:
    import attr
    from labgrid.driver import Driver
    from labgrid.factory import target_factory
    from labgrid.resource.common import NetworkResource, Resource
    from labgrid.util.ssh import sshmanager

    @target_factory.reg_resource
    @attr.s(eq=False)
    class BtracedBoard(Resource):
        """A board file of this machine, by path or by name. `record`: a folder for recordings."""
        board = attr.ib(validator=attr.validators.instance_of(str))
        program = attr.ib(default="btraced", validator=attr.validators.instance_of(str))
        record = attr.ib(default=None, validator=attr.validators.optional(attr.validators.instance_of(str)))

    @target_factory.reg_resource
    @attr.s(eq=False)
    class NetworkBtracedBoard(NetworkResource):
        """The same on `host`, which is reached by SSH."""
        board = attr.ib(validator=attr.validators.instance_of(str))
        program = attr.ib(default="btraced", validator=attr.validators.instance_of(str))
        record = attr.ib(default=None, validator=attr.validators.optional(attr.validators.instance_of(str)))

    @target_factory.reg_driver
    @attr.s(eq=False)
    class BtracedDriver(Driver):
        """Activated: the board is ours, its server runs, and `gdb` is what `target extended-remote`
        takes. Deactivated: the server has ended, and so has the recording."""
        bindings = {"board": {"BtracedBoard", "NetworkBtracedBoard"}}
        options = attr.ib(default=attr.Factory(list), validator=attr.validators.instance_of(list))
        recording = attr.ib(default=None,
                            validator=attr.validators.optional(attr.validators.instance_of(str)))

        def __attrs_post_init__(self):
            super().__attrs_post_init__()
            self._server = None
            self._forwarded = None

        def _remote(self):
            return isinstance(self.board, NetworkResource)

        def on_activate(self):
            folder = f"{self.board.record}/{self.recording}" if self.recording else None
            if self.recording and not self.board.record:
                raise BoardError(f"{self.board.board}: it has no folder for recordings ('record')")
            self._server = Board(self.board.board, self.board.program, self.options,
                                 self.board.command_prefix if self._remote() else (), recording=folder)
            port = self._server.start()
            self._forwarded = (self.board.host, "127.0.0.1", port) if self._remote() else None
            self._port = sshmanager.request_forward(*self._forwarded) if self._forwarded else port

        def on_deactivate(self):
            if self._forwarded:
                sshmanager.remove_forward(*self._forwarded)
            self._server.stop()

        @property
        @Driver.check_active
        def gdb(self):
            """HOST:PORT, on this machine."""
            return f"127.0.0.1:{self._port}"

        def fetch_recording(self, to):
            """The recording, as a folder here. Behind the deactivation."""
            return self._server.fetch(to)
