# SPDX-License-Identifier: BSD-3-Clause
"""A client of the Debug Adapter Protocol, for tests of debug adapters."""

import json
import queue
import subprocess
import threading

from replay_gdb import PATIENCE, Failed, environment, expect


class Dap:
    """One session with the adapter that the command starts; requests are answered, events kept."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=environment())
        self.seq = 0
        self.messages = queue.Queue()
        self.events = []
        self.responses = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        while True:
            length = 0
            while line := self.process.stdout.readline().strip():
                name, _, value = line.partition(b":")
                length = int(value) if name == b"Content-Length" else length
            if not length:
                break
            self.messages.put(json.loads(self.process.stdout.read(length)))
        self.messages.put(None)

    def take(self):
        try:
            message = self.messages.get(timeout=PATIENCE)
        except queue.Empty:
            raise Failed(f"{self.process.args[0]} is silent") from None
        expect(message, f"{self.process.args[0]} ended")
        if message["type"] == "event":
            self.events.append(message)
        elif message["type"] == "response":
            self.responses[message["request_seq"]] = message

    def send(self, command, **arguments):
        self.seq += 1
        text = json.dumps({"seq": self.seq, "type": "request", "command": command,
                           "arguments": arguments}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(text) + text)
        self.process.stdin.flush()
        return self.seq

    def answer(self, seq):
        while seq not in self.responses:
            self.take()
        response = self.responses.pop(seq)
        expect(response["success"], f"{response['command']}: {response.get('message')}")
        return response.get("body", {})

    def ask(self, command, **arguments):
        return self.answer(self.send(command, **arguments))

    def stopped(self):
        """The next stop; what it says."""
        while True:
            for event in self.events:
                if event["event"] == "stopped":
                    self.events.remove(event)
                    return event["body"]
            self.take()

    def pc(self):
        frame = self.ask("stackTrace", threadId=1, levels=1)["stackFrames"][0]
        return int(frame["instructionPointerReference"], 16)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
