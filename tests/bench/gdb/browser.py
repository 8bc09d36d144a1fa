# SPDX-License-Identifier: BSD-3-Clause
"""Debian's chromium without a window, over the pipe of its DevTools protocol: pages from disk, what they
say on the console, what they ask for."""

import base64
import fcntl
import json
import os
import select
import shlex
import subprocess
import time

from replay_gdb import PATIENCE, environment, equal, expect, folder, tool

OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
           "--disable-background-networking", "--disable-component-update", "--disable-sync",
           "--disable-dev-shm-usage", "--hide-scrollbars", "--force-device-scale-factor=1",
           "--host-resolver-rules=MAP * ~NOTFOUND"]


class Browser:
    """One page after the other; events since the page was opened."""

    def __init__(self):
        (read_end, self.out), (self.data, write_end) = os.pipe(), os.pipe()
        # The browser reads file 3 and writes file 4: ours come from above them.
        given = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (read_end, write_end)]
        self.rest, self.sent, self.events, self.session = b"", 0, [], None
        self.process = subprocess.Popen(
            ["bash", "-c", f"exec {tool('chromium')} {shlex.join(OPTIONS)} --user-data-dir={folder()}"
             " about:blank 3<&{} 4>&{} {}<&- {}<&-".format(*given, *given)],
            pass_fds=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
        for end in (read_end, write_end, *given):
            os.close(end)
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.out)  # the browser ends with its pipe
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.data)

    def message(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.data], [], [], max(0, end - time.monotonic()))
            piece = os.read(self.data, 1 << 16) if ready else b""
            expect(piece, "chromium is silent" if not ready else "chromium ended")
            self.rest += piece
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def ask(self, method, **params):
        self.sent += 1
        request = {"id": self.sent, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        while True:
            answer = self.message()
            if answer.get("id") == self.sent:
                expect("error" not in answer, f"{method}: {answer.get('error')}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path):
        self.events.clear()
        self.ask("Page.navigate", url=path.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message())

    def value(self, script):
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True,
                          awaitPromise=True)
        expect("exceptionDetails" not in answer, f"{script}: {answer.get('exceptionDetails')}")
        return answer["result"].get("value")

    def until(self, script, what):
        """What a key or the mouse does may come after the answer."""
        end = time.monotonic() + PATIENCE
        while not self.value(f"Boolean({script})"):
            expect(time.monotonic() < end, f"{what}: not {script}")
            self.value("new Promise(done => setTimeout(done, 10))")

    def press(self, key, **more):
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key,
                     **({"text": key} if kind == "keyDown" and len(key) == 1 else {}), **more)

    def click(self, selector):
        x, y = self.value(f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
                          "e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect();"
                          "return [b.x + Math.min(b.width / 2, 20), b.y + b.height / 2]; })()")
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y)

    def mouse(self, kind, x, y, **more):
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y,
                 **({"button": "left", "clickCount": 1} if kind != "mouseWheel" else {}), **more)

    def picture(self, width, height, dark=False, whole=False):
        """A PNG's bytes."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=whole)
        return base64.b64decode(shot["data"])

    def printed(self):
        """A PDF's bytes."""
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=False)["data"])

    def quiet(self, path):
        """Nothing went wrong, and nothing was asked for but the page."""
        wrong = [event for event in self.events
                 if event.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded",
                                            "Runtime.consoleAPICalled", "Network.loadingFailed")]
        equal(wrong, [], "the browser's console")
        asked = {event["params"]["request"]["url"] for event in self.events
                 if event.get("method") == "Network.requestWillBeSent"}
        equal({url for url in asked if not url.startswith("data:")}, {path.as_uri()},
              "what the page asks for")
