"""A browser for tests: headless Chromium, spoken to by its own protocol over a web socket."""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE = 600.0
"""Seconds until something that must happen counts as not happening; no test measures time."""


def find() -> str | None:
    """The program, or None: tools/browser.sh installs it."""
    given = os.environ.get("JOUNCE_BROWSER")
    return given or next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of a headless browser that draws by software."""

    def __init__(self, width: int = 1280, height: int = 800) -> None:
        program = find()
        assert program is not None
        self._folder = tempfile.mkdtemp(prefix="jounce-browser-")
        self._process = subprocess.Popen(
            [
                program,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--use-gl=angle",
                "--use-angle=swiftshader",
                "--enable-unsafe-swiftshader",
                "--no-first-run",
                "--hide-scrollbars",
                "--disable-background-networking",
                "--disable-component-update",
                "--remote-debugging-port=0",
                f"--user-data-dir={self._folder}",
                f"--window-size={width},{height}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._numbers = itertools.count(1)
        self.events: list[dict[str, Any]] = []
        self._socket: Any = None
        try:
            self._connect()
            size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
            self.call("Emulation.setDeviceMetricsOverride", **size)
            for domain in ("Page", "Runtime", "Network", "Log"):
                self.call(f"{domain}.enable")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the program and remove what it wrote."""
        if self._socket is not None:
            self._socket.close()
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _connect(self) -> None:
        from urllib.request import urlopen

        from websockets.sync.client import connect

        told = Path(self._folder) / "DevToolsActivePort"
        until(lambda: told.exists() and len(told.read_text().splitlines()) == 2)
        port = told.read_text().splitlines()[0]

        def pages() -> list[Any]:
            with urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
                return [page for page in json.load(answer) if page["type"] == "page"]

        page = until(pages)[0]
        self._socket = connect(page["webSocketDebuggerUrl"], max_size=None)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol; events that come meanwhile are kept."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=PATIENCE))
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self.events.append(message)

    def open(self, url: str) -> None:
        """Go to a page and wait until it is loaded."""
        self.call("Page.navigate", url=url)
        until(lambda: self.run("document.readyState") == "complete")

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        result = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """Press and release a key."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code)

    def picture(self, path: Path | None = None) -> bytes:
        """What is seen, as a PNG."""
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        if path is not None:
            path.write_bytes(data)
        return data

    def requested(self) -> set[str]:
        """Addresses that pages asked for."""
        self.run("0")
        kind = "Network.requestWillBeSent"
        sent = [event for event in self.events if event.get("method") == kind]
        return {event["params"]["request"]["url"] for event in sent}


def until(condition: Any) -> Any:
    """Wait until something is true, and return it."""
    end = time.monotonic() + PATIENCE
    while not (value := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.1)
    return value
