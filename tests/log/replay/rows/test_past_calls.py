"""The calls of a task as clients are shown them later: the same from the log, from a snapshot and page by page."""

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from robota.log.chain.reader import LOG_NAME, load
from robota.log.kinds.calls import ToolEndRecord
from robota.log.kinds.conversation import MessageRecord
from robota.log.kinds.session import TaskRecord
from robota.log.record import Payload, kind_of
from robota.log.replay.reading import LogReading
from robota.log.replay.rows.past_calls import past_calls
from robota.log.replay.rows.row_pages import rows_before
from robota.log.replay.session import replay
from robota.protocol.asks.ask import ApprovalAsk
from robota.protocol.calls import CallPurpose, PastCall
from robota.protocol.message import Message
from robota.protocol.unified_diff import parts_in
from robota.protocol.views import DiffsView, DiffView, TerminalView, TextView
from tests.log.replay.test_reading import lines_of

DIFF = "@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
CALL = "call_1"


class Told:
    """The records of one task, as an engine of today or (`is_old`) of an older version writes them."""

    def __init__(self, *, is_old: bool = False) -> None:
        self.payloads: list[Payload] = [TaskRecord(task_id="t", mode="code")]
        self.ts = 0
        self._last: dict[str, int] = {}
        self._is_old = is_old

    def row(self, say: str = "text", text: str = "words", call_id: str | None = None, **fields: Any) -> "Told":
        self.ts += 1
        if call_id is not None:
            self._last[call_id] = self.ts
        kind: dict[str, Any] = {"type": "ask", "ask": say} if "is_answered" in fields else {"type": "say", "say": say}
        row = Message(ts=self.ts, text=text, call_id=call_id, **kind, **fields)
        self.payloads.append(MessageRecord(task_id="t", message=row))
        return self

    def tool(self, call_id: str = CALL, **told: Any) -> "Told":
        return self.row("tool", json.dumps(told), call_id)

    def end(self, call_id: str = CALL, status: str = "success", **fields: Any) -> "Told":
        record = ToolEndRecord(task_id="t", call_id=call_id, tool="x", status=status, duration_ms=5)
        if not self._is_old:
            place = {"row": self._last.pop(call_id, 0), "after": self.ts}
            record = msgspec.structs.replace(record, **{"title": f"Call {self.ts}", **fields, **place})
        self.payloads.append(record)
        return self

    @property
    def sealed(self) -> list[tuple[str, bytes]]:
        return [(kind_of(payload), payload.to_json()) for payload in self.payloads]


def written(told: Told, log: Path) -> Path:
    log.write_bytes(b"".join(lines_of(told.sealed)))
    return log


def calls_in(told: Told, place: Path) -> tuple[PastCall, ...]:
    task = replay(load(written(told, place / LOG_NAME)).records).root
    assert task is not None
    return past_calls(task.messages, task.calls)


def test_what_the_rows_tell_is_put_back_into_the_view(tmp_path: Path) -> None:
    hunks = DiffView(path="a", added=1, removed=1)
    told = Told().row().tool(tool="appliedDiff", path="a", diff=DIFF).end(view=hunks)
    told.tool(tool="appliedDiff", path="a, b", diff=f"*** add: a\n{DIFF}*** add: b\n{DIFF}")
    told.end(view=DiffsView(files=(hunks, hunks)))
    told.tool(tool="executeCommand", command="seq 2").row("command_output", "1\n2\n", CALL)
    told.end(view=TerminalView(command="seq 2", output="", exit_code=3))
    edit, patch, command = calls_in(told, tmp_path)
    assert isinstance(edit.view, DiffView) and [line.text for line in edit.view.hunks[0].lines] == ["one", "two", "2"]
    assert isinstance(patch.view, DiffsView) and all(file.hunks == edit.view.hunks for file in patch.view.files)
    assert command.view == TerminalView(command="seq 2", output="1\n2\n", exit_code=3)
    assert command.after == 5 and command.title == "Call 5"


def test_what_a_user_was_asked_about_is_typed_in_its_row(tmp_path: Path) -> None:
    shown = DiffView(path="a", added=1, removed=0, hunks=parts_in(DIFF)[0][1])
    told = Told().row("tool", "{}", CALL, is_answered=True, asked=ApprovalAsk(title="Edit a", view=shown))
    [call] = calls_in(told.end(view=msgspec.structs.replace(shown, hunks=())), tmp_path)
    assert call.view == shown


def test_calls_without_a_row_and_calls_that_were_cut_off_are_there(tmp_path: Path) -> None:
    told = Told().row().end("bad", status="error", reason="There is no tool.").row("error", "Not allowed", "no")
    told.end("no", status="denied", reason="A rule.", purpose=CallPurpose.WORK)
    told.tool("cut", tool="readFile", path="a")
    bad, denied, cut = calls_in(told, tmp_path)
    assert (bad.status, bad.reason, bad.after) == ("error", "There is no tool.", 1)
    assert (denied.status, denied.reason) == ("denied", "A rule.")
    assert (cut.title, cut.status, cut.after) == ("Read a", "interrupted", 3)


def test_a_log_of_an_older_version_is_shown_by_its_rows(tmp_path: Path) -> None:
    told = Told(is_old=True).row().tool(tool="appliedDiff", path="a", diff=DIFF).end()
    told.row("command", "seq 2", CALL, is_answered=True).row("command_output", "1\n", CALL).row().end()
    told.row("error", "Not allowed: x", CALL).end(status="denied").end("completion")
    edit, command, denied = calls_in(told, tmp_path)
    assert (edit.title, edit.after) == ("Edit a", 2) and isinstance(edit.view, DiffView) and edit.view.hunks
    assert (command.title, command.after) == ("Bash seq 2", 5)
    assert command.view == TerminalView(command="seq 2", output="1\n")
    assert (denied.title, denied.status, denied.reason) == ("x", "denied", "Not allowed: x")


def test_a_view_of_a_newer_version_is_no_reason_to_lose_the_call(tmp_path: Path) -> None:
    told = Told().row()
    newer = (
        b'{"taskId":"t","callId":"c","tool":"x","status":"success","durationMs":1,"title":"New","after":1,"view":%s}'
    )
    lines = lines_of([*told.sealed, ("toolEnd", newer % b'{"kind":"hologram"}'), ("toolEnd", newer % b"3")])
    (tmp_path / LOG_NAME).write_bytes(b"".join(lines))
    task = replay(load(tmp_path / LOG_NAME).records).root
    assert task is not None
    [call] = past_calls(task.messages, task.calls)
    assert call.title == "New" and isinstance(call.view, TextView) and "hologram" in call.view.text


# Calls that run side by side, ids that come again, calls without rows: a letter for each thing that happens.
stories = st.lists(st.sampled_from(["say", "row a", "row b", "output a", "end a", "end b", "end c"]), max_size=30)


@given(stories, st.integers(0, 30))
def test_they_are_the_same_from_a_snapshot_and_page_by_page(story: list[str], cut: int) -> None:
    told = Told().row()
    newest: dict[str, str] = {}
    for happened in story:
        what, _, call_id = happened.partition(" ")
        match what, newest.get(call_id):
            case "say", _:
                told.row()
            case "row", None:
                told.tool(call_id, tool="executeCommand", command=call_id)
            case "output", "row":
                told.row("command_output", f"{told.ts}\n", call_id)
            case "end", _:
                told.end(call_id, view=TerminalView(command=call_id, output=""))
                newest.pop(call_id, None)
                continue
            case _:
                continue  # cannot happen
        newest[call_id] = what
    with tempfile.TemporaryDirectory() as name:
        log, snapshot = Path(name) / LOG_NAME, Path(name) / "snapshot"
        lines = lines_of(told.sealed)
        log.write_bytes(b"".join(lines[:cut]))
        LogReading(snapshot, max_rows=2, growth=1).read(log)
        log.write_bytes(b"".join(lines))
        whole = replay(load(log).records).root
        read = LogReading(snapshot, max_rows=2, growth=1)
        read.read(log)
        task = read.session().root
        assert whole is not None and task is not None
        found = list(past_calls(task.messages, task.calls))
        before = task.messages[0].ts
        while (page := rows_before(log, "t", task.older, before, 3)).rows:
            found[:0] = past_calls(page.rows, page.calls)
            before = page.rows[0].ts
        assert ended(found) == ended(past_calls(whole.messages, whole.calls))


def ended(calls: Iterable[PastCall]) -> list[bytes]:
    """Those that were not cut off, whose rows may be on two pages."""
    return sorted(msgspec.json.encode(call) for call in calls if call.status != "interrupted")
