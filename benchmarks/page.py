"""What the page of `robota web` costs: starting it, holding it, a long session in a browser, and a streamed word."""

import contextlib
import http.client
import http.server
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from benchmarks.bench import ROBOTA, Bench
from benchmarks.measurement import Measurement
from tests.harness.browser import chromium, start_task, tab
from tests.log.catalogue.logs import Written, note_as_own

if TYPE_CHECKING:
    from playwright.sync_api import Browser

STARTED = 7
SHOWN = 7
MANY_ROWS = 10_000
ROWS_OF_A_TURN = 3
END = "these are the very last words"
WORDS = 400
WORD_EVERY_S = 0.02
# The least that serves a page: the same server, without anything of ours.
BARE = """
import uvicorn, socket
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
async def page(request): return PlainTextResponse("hello")
sock = socket.socket(); sock.bind(("127.0.0.1", 0))
print(f"http://127.0.0.1:{sock.getsockname()[1]}/", flush=True)
app = Starlette(routes=[Route("/", page)])
uvicorn.Server(uvicorn.Config(app, http="h11", log_config=None)).run([sock])
"""
# Notes when words are on the page: the model says the time, and the browser knows how late it is when it has drawn it.
WATCH = """
window.lateness = [];
const seen = new Set();
new MutationObserver(() => requestAnimationFrame(() => {
  const words = document.querySelector(".prose.growing")?.textContent.match(/[0-9]{13}/g) ?? [];
  for (const word of words) if (!seen.has(word)) { seen.add(word); window.lateness.push(Date.now() - Number(word)); }
})).observe(document.documentElement, { subtree: true, childList: true, characterData: true });
"""


def page(bench: Bench) -> list[Measurement]:
    return [_start(bench), _memory(bench), *_in_browser(bench)]


@contextlib.contextmanager
def _served(bench: Bench, *options: str) -> "Iterator[tuple[subprocess.Popen[str], str]]":
    with _started([ROBOTA, "web", "--no-open", *options], bench) as started:
        yield started


@contextlib.contextmanager
def _started(command: list[str], bench: Bench) -> "Iterator[tuple[subprocess.Popen[str], str]]":
    """A server, and the link that it prints."""
    with subprocess.Popen(
        command, cwd=bench.workspace, env=bench.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def _start(bench: Bench) -> Measurement:
    """From starting the process to the whole page."""
    ours: list[float] = []
    bare: list[float] = []
    for _ in range(STARTED + 1):
        for took, command in ((ours, [ROBOTA, "web", "--no-open"]), (bare, [sys.executable, "-c", BARE])):
            begun = time.monotonic()
            with _started(command, bench) as (_, link):
                _get(link)
                took.append((time.monotonic() - begun) * 1000)
    mine, least = (statistics.median(times[1:]) for times in (ours, bare))
    detail = f"{mine:.0f} ms / {least:.0f} ms until the first response, medians of {STARTED}"
    return Measurement(
        name="robota web / a bare starlette app", value=mine / least, target=1.5, unit="x", detail=detail
    )


def _memory(bench: Bench) -> Measurement:
    with _served(bench) as (process, link):
        _get(link)
        status = (Path("/proc") / str(process.pid) / "status").read_text()
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024
    detail = "resident, after it has served the page"
    return Measurement(name="idle memory of robota web", value=resident, target=45, unit="MB", detail=detail)


def _get(link: str) -> None:
    address, _, _ = link.removeprefix("http://").partition("/")
    while True:
        connection = http.client.HTTPConnection(address)
        try:
            connection.request("GET", "/")
            assert connection.getresponse().read()
            return
        except ConnectionRefusedError:
            continue  # it listens in a moment
        finally:
            connection.close()


def _in_browser(bench: Bench) -> list[Measurement]:
    with chromium() as browser:
        return [*_long_session(bench, browser), _late_words(bench, browser)]


def _long_session(bench: Bench, browser: "Browser") -> list[Measurement]:
    bench.use({"type": "scripted", "model": "scripted", "options": {"turns": []}})
    written = {name: _session(bench.workspace, name, rows) for name, rows in (("long", MANY_ROWS), ("short", 2))}
    note_as_own(bench.home / ".robota", list(written.values()))
    painted: dict[str, list[float]] = {name: [] for name in written}
    read: dict[str, list[float]] = {name: [] for name in written}
    with _served(bench) as (_, link), tab(browser, link) as page:
        page.locator(".sidebar").wait_for()
        for name in written:  # from now on both run
            page.goto(f"{link.partition('/#')[0]}/s/{name}")
            page.get_by_role("button", name="Resume").first.click()
            page.locator(".transcript").get_by_text(END).wait_for()
        for _ in range(SHOWN):
            for name in written:
                page.goto(f"{link.partition('/#')[0]}/s/{name}")
                page.locator(".transcript").get_by_text(END).wait_for()
                read[name].append(page.evaluate("performance.now()"))
                paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
                painted[name].append(page.evaluate(paint))
        page.goto(f"{link.partition('/#')[0]}/s/long")
        page.locator(".transcript").get_by_text(END).wait_for()
        nodes = page.evaluate("document.querySelectorAll('*').length")
    return [
        _ratio("first contentful paint", painted, f"; {nodes:,} elements"),
        _ratio("until the newest row can be read", read, ""),
    ]


def _ratio(name: str, times: dict[str, list[float]], more: str) -> Measurement:
    many, few = statistics.median(times["long"]), statistics.median(times["short"])
    detail = f"{many:.0f} ms / {few:.0f} ms, medians of {SHOWN}{more}"
    return Measurement(
        name=f"{name}, {MANY_ROWS:,} rows / 2 rows", value=many / few, target=1.3, unit="x", detail=detail
    )


def _session(root: Path, name: str, rows: int) -> Path:
    written = Written(root, name)
    for number in range(rows // ROWS_OF_A_TURN):
        written.prompt(f"{number} a question").reply(f"an answer that is **a little** longer `{number}`")
    written.reply(END).end()
    return written.directory


def _late_words(bench: Bench, browser: "Browser") -> Measurement:
    """How late a word of the model is on the page."""
    with _clock() as address:
        bench.use({"type": "openai-compatible", "baseURL": f"{address}/v1", "model": "clock"})
        with _served(bench) as (_, link), tab(browser, link) as page:
            start_task(page, "What time is it?")
            page.evaluate(WATCH)
            page.locator("[data-state=idle]").wait_for()
            late = sorted(page.evaluate("window.lateness"))
    value = late[len(late) * 95 // 100]
    detail = f"95 % of {len(late)} words; half within {statistics.median(late):.0f} ms; a word each 20 ms"
    return Measurement(name="a streamed word, later on the page", value=value, target=50, unit="ms", detail=detail)


@contextlib.contextmanager
def _clock() -> Iterator[str]:
    """A model that says the time, in milliseconds."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Clock)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


class _Clock(http.server.BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        self.send_error(404)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        time.sleep(1)  # until the browser watches
        for _ in range(WORDS):
            self._say({"content": f"{int(time.time() * 1000)} "}, None)
            time.sleep(WORD_EVERY_S)
        self._say({}, "stop")
        self.wfile.write(b"data: [DONE]\n\n")

    def _say(self, delta: dict[str, str], why: str | None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": why}
        chunk = {"id": "1", "object": "chat.completion.chunk", "model": "clock", "choices": [choice]}
        self.wfile.write(b"data: %s\n\n" % json.dumps(chunk).encode())
        self.wfile.flush()
