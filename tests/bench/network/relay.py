# SPDX-License-Identifier: BSD-3-Clause
"""A relay between the server and the GDB server of a board: what passes is recorded."""

import os
import re
import socket
import threading
import time
from pathlib import Path


class Relay:
    """Listens on a socket file, and connects to another for each connection."""

    def __init__(self, listen, target):
        self.target = str(target)
        self.seen = bytearray()  # what the server has sent
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(listen))
        self.listener.listen()
        self.over = False
        threading.Thread(target=self._serve, daemon=True).start()

    def _connect(self):
        """The board may still have to start."""
        while not self.over:
            there = socket.socket(socket.AF_UNIX)
            try:
                there.connect(self.target)
                return there
            except OSError:
                there.close()
                time.sleep(0.05)
        return None

    def _serve(self):
        try:
            while True:
                here, _ = self.listener.accept()
                there = self._connect()
                if there:
                    threading.Thread(target=self._pump, args=(here, there, True), daemon=True).start()
                    threading.Thread(target=self._pump, args=(there, here, False), daemon=True).start()
        except OSError:
            pass

    def _pump(self, source, drain, record):
        try:
            while data := source.recv(65536):
                if record:
                    self.seen += data
                drain.sendall(data)
        except OSError:
            pass
        for end in (source, drain):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def packets(self):
        """The payloads so far."""
        return re.findall(rb"\$([^#]*)#[0-9a-f]{2}", bytes(self.seen), re.DOTALL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over = True
        self.listener.close()


def board_with_relay(board_file, name, **more):
    """A board file whose server is reached through a relay, and the two ends of that."""
    path = board_file(name, replace=[("path=$RUN/gdb", "path=$HERE/board"),
                                     ("connect = unix:$RUN/gdb", "connect = unix:$HERE/relay"),
                                     *more.pop("replace", ())], **more)
    place = Path(path).parent
    assert not os.path.exists(place / "relay")
    return path, place / "relay", place / "board"
