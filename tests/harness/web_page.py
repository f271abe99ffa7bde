"""`robota web` in a process of its own, and a browser without a screen: what it sends and gets, byte by byte."""

import http.client
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.harness.cli import EXECUTABLE, Robota, clean_environment

SILENT_S = 60  # only a test that fails waits that long


class Reply:
    """A response with its whole body."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.text = response.read().decode()

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class EventReader:
    """The server-sent events of a response."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._response = response
        self.last_id = ""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        data = None
        while line := self._response.readline():
            match line.rstrip(b"\n").split(b": ", 1):
                case [b"id", value]:
                    self.last_id = value.decode()
                case [b"data", value]:
                    data = json.loads(value)
                case [b""] if data is not None and data["t"] not in ("beat", "overview"):
                    yield data
                    data = None

    def asks(self, kind: str) -> Iterator[dict[str, Any]]:
        """The open asks of this kind, each time that they are told."""
        for change in self:
            asks = change["panels"]["asks"] if change["t"] == "whole" else []
            if change["t"] == "panel" and change["name"] == "asks":
                asks = change["value"]
            yield from (ask for ask in asks if ask["ask"] == kind)

    def until_ask(self, kind: str) -> dict[str, Any]:
        """Read until the session asks this."""
        for ask in self.asks(kind):
            return ask
        raise AssertionError(f"the stream ended before {kind} was asked")

    def close(self) -> None:
        self._response.close()
        self._connection.close()


class WebPage:
    """A server and, after `enter`, a browser that was let in."""

    def __init__(self, robota: Robota, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        self.robota = robota
        self.process = process
        self.link = process.stdout.readline().strip()
        self.origin, _, self.token = self.link.partition("/#")
        self.port = int(self.origin.rpartition(":")[2])
        self.cookie = ""
        self.key = ""

    def enter(self, token: str = "") -> Reply:
        reply = self.post("/api/enter", {"token": token or self.token})
        if reply.status == 200:
            self.cookie = reply.headers["set-cookie"].partition(";")[0]
            self.key = reply.json["key"]
        return reply

    def get(self, path: str, **headers: str) -> Reply:
        return self.request("GET", path, None, headers)

    def post(self, path: str, value: Any = None, **headers: str) -> Reply:
        return self.request("POST", path, json.dumps(value or {}).encode(), headers)

    def request(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Reply:
        """A request as the page sends it; `headers` replace its own, by names with underscores."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SILENT_S)
        try:
            connection.request(method, path, body, self.headers(method, headers))
            return Reply(connection.getresponse())
        finally:
            connection.close()

    def headers(self, method: str, others: Mapping[str, str] | None = None) -> dict[str, str]:
        own = {"cookie": self.cookie, "x-robota-key": self.key}
        if method == "POST":
            own |= {"origin": self.origin, "content-type": "application/json"}
        return {**own, **{name.replace("_", "-"): value for name, value in (others or {}).items()}}

    def events(self, session_id: str, last_id: str = "") -> EventReader:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SILENT_S)
        headers = self.headers("GET", {"last_event_id": last_id} if last_id else {})
        connection.request("GET", f"/api/sessions/{session_id}/events", headers=headers)
        response = connection.getresponse()
        assert response.status == 200, response.read()
        return EventReader(connection, response)

    def start(self, text: str) -> str:
        """Start a session with this task; its id."""
        reply = self.post("/api/sessions", {"cwd": str(self.robota.workspace), "text": text})
        assert reply.status == 200, reply.text
        session_id: str = reply.json["id"]
        return session_id

    def command(self, session_id: str, **command: Any) -> Reply:
        return self.post(f"/api/sessions/{session_id}/commands", command)

    def answer(self, session_id: str, ask: dict[str, Any], **answer: Any) -> Reply:
        return self.command(session_id, type="askResponse", ts=ask["ts"], answer=answer)


@contextmanager
def web_page(robota: Robota, *options: str, env: Mapping[str, str] | None = None) -> Iterator[WebPage]:
    """The server; a browser still has to `enter`."""
    process = subprocess.Popen(
        [EXECUTABLE, "web", "--no-open", *options],
        cwd=robota.workspace,
        env={**clean_environment(robota.home), **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield WebPage(robota, process)
    finally:
        process.terminate()
        try:
            process.wait(SILENT_S)
        finally:
            process.kill()
            process.communicate()


def mode_of(path: str | os.PathLike[str]) -> int:
    return os.stat(path).st_mode & 0o777  # noqa: PTH116
