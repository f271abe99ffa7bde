"""Firefox of the system, driven by its own protocol (Marionette): lines of JSON over a socket, no driver needed."""

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
needs_firefox = pytest.mark.skipif(
    FIREFOX is None, reason="this test needs Firefox, which is not installed (Debian: apt install firefox-esr)"
)
WITHIN_S = 120  # only a test that fails waits that long
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
# Nothing is fetched from anywhere but the test.
PREFERENCES = {
    "marionette.port": 0,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.enabled": False,
    "app.update.disabledForTesting": True,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "http://127.0.0.1:9/",
    "browser.startup.page": 0,
}


class Firefox:
    """A window of Firefox."""

    def __init__(self, connection: socket.socket) -> None:
        self._stream = connection.makefile("rwb")
        self._number = 0
        self._read()  # its greeting
        self.call("WebDriver:NewSession", capabilities={})

    def call(self, command: str, **parameters: Any) -> Any:
        self._number += 1
        message = json.dumps([0, self._number, command, parameters]).encode()
        self._stream.write(b"%d:%s" % (len(message), message))
        self._stream.flush()
        _, _, problem, value = self._read()
        assert problem is None, problem
        return value.get("value") if isinstance(value, dict) and set(value) == {"value"} else value

    def _read(self) -> Any:
        size = b""
        while (byte := self._stream.read(1)) != b":":
            assert byte, "Firefox has ended"
            size += byte
        return json.loads(self._stream.read(int(size)))

    def open(self, address: str) -> None:
        self.call("WebDriver:Navigate", url=address)

    def evaluate(self, script: str) -> Any:
        return self.call("WebDriver:ExecuteScript", script=f"return {script}", args=[])

    def until(self, script: str) -> Any:
        """Wait until it is true in the page."""
        deadline = time.monotonic() + WITHIN_S
        while not (found := self.evaluate(script)):
            assert time.monotonic() < deadline, (script, self.evaluate("document.body.innerText"))
            time.sleep(0.05)  # Firefox tells nobody when it has drawn
        return found

    def element(self, selector: str) -> str:
        self.until(f"Boolean(document.querySelector({json.dumps(selector)}))")
        found = self.call("WebDriver:FindElement", using="css selector", value=selector)
        return str(found[ELEMENT])

    def click(self, selector: str) -> None:
        self.call("WebDriver:ElementClick", id=self.element(selector))

    def type(self, selector: str, text: str) -> None:
        self.call("WebDriver:ElementSendKeys", id=self.element(selector), text=text)


@contextmanager
def firefox(directory: Path) -> Iterator[Firefox]:
    """A Firefox of its own, with its profile in this directory."""
    assert FIREFOX is not None
    profile = directory / "profile"
    profile.mkdir()
    lines = [f'user_pref("{name}", {json.dumps(value)});\n' for name, value in PREFERENCES.items()]
    (profile / "user.js").write_text("".join(lines))
    process = subprocess.Popen(
        [FIREFOX, "--headless", "--marionette", "--no-remote", "--profile", str(profile)],
        env={
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(directory),
            "LANG": "C.UTF-8",
            "MOZ_HEADLESS": "1",
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        with socket.create_connection(("127.0.0.1", _port(profile, process))) as connection:
            yield Firefox(connection)
    finally:
        process.terminate()
        process.wait(WITHIN_S)


def _port(profile: Path, process: "subprocess.Popen[bytes]") -> int:
    """Firefox writes it into its profile as soon as it listens."""
    deadline = time.monotonic() + WITHIN_S
    while not (told := profile / "MarionetteActivePort").exists() or not told.read_text():
        assert process.poll() is None and time.monotonic() < deadline, "Firefox did not start"
        time.sleep(0.05)
    return int(told.read_text())
