"""`robota audit`: what was asked, allowed, refused and by whom, what left, and whether the logs are sound."""

import json
import threading
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scripts import call, script, sessions
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal
from tests.workspace.sandbox.cells import PYTHON
from tests.workspace.sandbox.egress.partners import require_bubblewrap

HOSTILE = "touch 'a|b' '<script>x</script>' '\x1b[2J'"


@pytest.fixture
def worked(robota: Robota) -> Robota:
    """A session in which the user approved one call and rejected another with a text."""
    script(
        robota,
        {"calls": [call("read_file", path="a.txt"), call("execute_command", command="mkdir yes")]},
        {"calls": [call("execute_command", command=HOSTILE)], "usage": {"input": 100, "output": 7, "cost": 0.5}},
        {"text": "Done."},
    )
    (robota.workspace / "a.txt").write_text("text\n")
    with Terminal(robota, "make it so") as terminal:
        terminal.wait_for("Bash mkdir yes")
        terminal.answer("> ", "y")
        terminal.wait_for("Bash touch")
        terminal.answer("> ", "rather not")
        terminal.wait_for("Done.")
        terminal.wait_for("> ")  # by now it is written down what the last request cost
    return robota


def audited(robota: Robota, *words: str, code: int = 0) -> dict[str, Any]:
    ended = robota("audit", "--json", *words)
    assert ended.code == code, ended.stderr
    audit: dict[str, Any] = json.loads(ended.stdout)
    return audit


def test_it_shows_what_was_asked_allowed_and_refused_and_by_whom(worked: Robota) -> None:
    [session] = audited(worked)["sessions"]
    account = session["account"]
    assert account["prompts"][0] == "make it so"
    assert account["allowed"] == {"mode": 1, "person": 1} and account["refused"] == {"person": 1}
    assert [each["status"] for each in account["answers"]] == ["success", "denied"]
    assert account["refusals"][0]["words"] == "rather not" and account["refusals"][0]["lookedMs"] > 0
    assert (account["requests"], account["cost"]) == (3, 0.5)
    # The model reported usage of one request only; that of the others is estimated.
    assert account["tokensIn"] > 100 and account["tokensOut"] > 7
    assert session["chain"] == {"records": session["chain"]["records"], "problem": "", "noted": True}
    assert session["isOwn"] and session["chain"]["records"] > 10


def test_hosts_that_commands_reached_are_named_and_what_cannot_be_known_is_said(robota: Robota, tmp_path: Path) -> None:
    require_bubblewrap(tmp_path)
    server = ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    place = f"127.0.0.1:{server.server_port}"
    program = f"import urllib.request as r; r.urlopen('http://{place}/nothing')"
    fetch = call("execute_command", command=f'{PYTHON} -c "{program}"')
    script(robota, {"calls": [fetch]}, {"calls": [fetch]}, {"text": "ok"})
    settings = robota.home / ".robota" / "settings.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "sandbox": {"allowedHosts": [place]}}))
    robota("-p", "go", "--allowed-tools", "Bash")
    server.shutdown()
    assert audited(robota)["sessions"][0]["account"]["reached"] == {place: 1}
    page = robota("audit").stdout
    assert place in page and "2 commands ran." in page and "cannot be known" in page


def test_models_stand_once_and_sessions_without_questions_are_pointed_out(worked: Robota) -> None:
    script(worked, {"text": "ok", "usage": {"input": 1_000, "output": 3, "cost": 0.25}})
    assert worked("-p", "again", "--permission-mode", "bypassPermissions").code == 0
    page = worked("audit").stdout
    [models] = [line for line in page.splitlines() if line.startswith("| script |")]
    sessions, requests, *_, cost = models.split(" | ")[2:]
    assert (sessions, requests, cost) == ("2", "4", "$0.7500 |")
    assert "1 session began with bypassPermissions: there, calls run without a question" in page
    assert "| the permission mode | 1 | 0 |" in page and "| a user | 1 | 1 |" in page


class Page(HTMLParser):
    """The tags of a page, and all of its words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.words += data


def test_the_pages_show_hostile_text_as_text(worked: Robota) -> None:
    out = worked.workspace / "audit.html"
    assert worked("audit", "--format", "html", "-o", str(out)).code == 0
    html = out.read_text()
    page = Page(html)
    assert "<script>x</script>" in page.words and "\x1b" not in html
    assert not page.tags & {"script", "img", "link", "iframe"} and "http://" not in html and "https://" not in html
    kept = worked("audit", "--format", "html", "-o", str(out))
    assert kept.code == 2 and "left unchanged" in kept.stderr
    markdown = worked("audit").stdout
    assert "\\<script\\>" in markdown and "a\\|b" in markdown and "\x1b" not in markdown
    assert "The user was asked 2 times" in markdown and "said: rather not" in markdown


def test_a_changed_log_is_named_and_the_exit_code_says_so(worked: Robota) -> None:
    log = sessions(worked)[0] / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:8]))
    [session] = audited(worked, code=1)["sessions"]
    assert "cut" in session["chain"]["problem"] or "missing" in session["chain"]["problem"]
    log.write_bytes(b"".join([lines[0], lines[1].replace(b"task", b"tusk"), *lines[2:]]))
    assert "record 2" in audited(worked, code=1)["sessions"][0]["chain"]["problem"]
    assert "NOT all logs" in worked("audit").stdout


def test_a_foreign_or_broken_trace_and_a_log_of_another_machine_are_reported(worked: Robota) -> None:
    place = worked.workspace / ".orchestration"
    place.mkdir()
    (place / "agent_trace.jsonl").write_bytes(b'{"version":"0.1.0","id":"x"}\n')
    assert audited(worked)["trace"]["problem"] == ""
    (place / "agent_trace.jsonl").write_bytes(b'{"a":1}{"b":2}\n{"half')
    assert "unreadable" in audited(worked, code=1)["trace"]["problem"]
    planted = sessions(worked)[0].with_name("planted")
    planted.mkdir()
    (planted / "log.jsonl").write_bytes((sessions(worked)[0] / "log.jsonl").read_bytes())
    (place / "agent_trace.jsonl").unlink()
    told = {each["id"]: (each["isOwn"], each["chain"]["noted"]) for each in audited(worked)["sessions"]}
    assert told["planted"] == (False, False) and sorted(told.values())[-1] == (True, True)


def test_only_what_happened_since_then(worked: Robota) -> None:
    assert audited(worked, "--since", "2100-01-01")["sessions"] == []
    assert len(audited(worked, "--since", "1d")["sessions"]) == 1
    assert worked("audit", "--since", "nonsense").code == 2


def test_a_page_that_cannot_be_written_is_said(robota: Robota, tmp_path: Path) -> None:
    ended = robota("audit", "-o", str(tmp_path / "nowhere" / "audit.md"))
    assert ended.code == 2 and "could not be written" in ended.stderr
    assert "0 sessions" in robota("audit").stdout
