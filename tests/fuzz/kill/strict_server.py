"""A model server that refuses, as strict ones do, every conversation whose calls, results, ids or roles do not fit."""

import contextlib
import json
import random
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

LAST_WORDS = "go on"
MOST_REQUESTS = 14


class StrictServer(ThreadingHTTPServer):
    """Speaks Chat Completions. `refusals` are the requests that it did not accept, with the reason."""

    daemon_threads = True

    def __init__(self, seed: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.random = random.Random(seed)
        self.refusals: list[str] = []
        self.requests = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def call(self, name: str, arguments: dict[str, Any], place: int = 0) -> dict[str, Any]:
        """A call of the reply to this request."""
        function = {"name": name, "arguments": json.dumps(arguments)}
        return {"index": place, "id": f"id-{self.requests}-{place}", "type": "function", "function": function}

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        """What the model says next: a few calls of all kinds, until it is asked to go on."""
        self.requests += 1
        number = self.requests
        if not body.get("tools"):
            return {"content": f"A summary of what happened before request {number}."}
        if LAST_WORDS in _text(body["messages"][-1]) or number > MOST_REQUESTS:
            return {"content": "Done, as far as it goes."}
        words = "word " * self.random.choice([3, 900])
        calls = self.random.choice(
            [["read"], ["write"], ["command"], ["read", "write"], ["write", "command", "read"], []]
        )
        if not calls and number > 3:
            calls = ["command"]
        return {"content": words, "tool_calls": [self._call(kind, place) for place, kind in enumerate(calls)]}

    def _call(self, kind: str, place: int) -> dict[str, Any]:
        number = self.requests
        kinds: dict[str, tuple[str, dict[str, Any]]] = {
            "read": ("read_file", {"path": "a.txt"}),
            "write": ("write_to_file", {"path": f"new-{number}-{place}.txt", "content": f"{number}\n"}),
            "command": ("execute_command", {"command": f"echo {number}; seq 1 50"}),
        }
        return self.call(*kinds[kind], place)


Server = TypeVar("Server", bound=StrictServer)


@contextlib.contextmanager
def serving(server: Server) -> Iterator[Server]:
    """The server at work while the context lasts."""
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def problem_with(messages: list[dict[str, Any]]) -> str | None:
    """Why a strict provider would refuse this conversation."""
    waiting: list[str] = []
    seen: set[str] = set()
    for place, message in enumerate(messages):
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in waiting:
                return f"message {place}: a result without its call: {message.get('tool_call_id')}"
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return f"message {place}: calls without results: {waiting}"
        waiting = [call["id"] for call in message.get("tool_calls") or []]
        if len(set(waiting)) < len(waiting) or seen & set(waiting):
            return f"message {place}: an id is used twice: {waiting}"
        seen.update(waiting)
        if problem := _problem_with_words(message, place):
            return f"message {place}: {problem}"
    if waiting:
        return f"calls without results at the end: {waiting}"
    return None if messages[-1]["role"] in ("user", "tool") else "the model has the last word already"


def _problem_with_words(message: dict[str, Any], place: int) -> str | None:
    role, is_empty = message.get("role"), not _text(message).strip()
    if role not in ("system", "user", "assistant") or (role == "system" and place):
        return f"the role {role} at this place"
    return f"an empty turn of the {role}" if is_empty and not message.get("tool_calls") else None


class _Handler(BaseHTTPRequestHandler):
    server: StrictServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        problem = problem_with(body["messages"])
        if problem is not None:
            self.server.refusals.append(problem)
            self._send(400, json.dumps({"error": {"message": problem}}).encode(), "application/json")
            return
        with contextlib.suppress(OSError):  # the client may be killed at any time
            self._stream(self.server.reply(body))

    def _stream(self, reply: dict[str, Any]) -> None:
        deltas: list[dict[str, Any]] = [{"content": f"{word} "} for word in reply["content"].split()]
        deltas += [{"tool_calls": [call]} for call in reply.get("tool_calls", [])]
        finish = "tool_calls" if reply.get("tool_calls") else "stop"
        events = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        lines = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
        self._send(200, lines + b"data: [DONE]\n\n", "text/event-stream")

    def _send(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        for start in range(0, len(data), 512):
            self.wfile.write(data[start : start + 512])
            self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the output of a test is for its result."""


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else " ".join(str(part.get("text", "")) for part in content)
