"""Transcripts of other programs become sessions, whatever is in them."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robota.log.catalogue.catalogue import CataloguedSession, catalogue
from robota.log.catalogue.places import project_places
from robota.log.chain.reader import load
from robota.log.chain.verify import verify
from robota.log.errors import ImportRefused
from robota.log.record import payload_of
from robota.log.replay.rows.past_calls import past_calls
from robota.log.replay.session import replay
from robota.log.replay.task import TaskFold
from robota.log.transfer.draft import DraftSession
from robota.log.transfer.foreign.reading import source_of, take_in_transcript
from robota.protocol.conversation import AssistantTurn, ToolResultBlock, UserTurn
from robota.secrets.redaction import Redactor

KEY = "sk-ant-api03-" + "aB3" * 30


class Place:
    """Where transcripts are taken in."""

    def __init__(self, directory: Path) -> None:
        self.root, self.user = directory / "project", directory / "user"
        self.root.mkdir()
        self.file = directory / "transcript.jsonl"
        self.notice = ""

    def take_in(self, *lines: dict[str, Any] | str) -> TaskFold:
        self.file.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in lines))
        with DraftSession(self.root, self.user, "taken", Redactor()) as draft:
            source = source_of(self.file)
            self.notice = take_in_transcript(draft, self.file, source, "taken", self.root, 1_790_000_000_000)
            self.directory = draft.finish()
        assert verify(self.directory / "log.jsonl").broken is None
        records = load(self.directory / "log.jsonl").records
        assert None not in map(payload_of, records)
        return replay(records).tasks["imported"]

    def listed(self) -> CataloguedSession:
        (session,) = catalogue(project_places(self.root, self.user), self.user, print)
        return session


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def claude(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    number = more.pop("n", 1)
    message = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": more.pop("id", "msg_1"), "model": "claude-opus-4"}
    return {
        "type": kind,
        "sessionId": "3f1c",
        "cwd": "/home/x/project",
        "uuid": f"u{number}",
        "timestamp": f"2026-05-01T10:00:{number:02d}.000Z",
        "message": message,
        **more,
    }


CLAUDE = (
    {"type": "summary", "summary": "A title", "leafUuid": "x"},
    {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
    claude("user", "Caveat: meta", isMeta=True),
    claude("user", "Fix the parser", n=2),
    claude("assistant", [{"type": "thinking", "thinking": "Hm", "signature": "seal"}], n=3),
    claude("assistant", [{"type": "text", "text": "I look."}], n=4),
    claude(
        "assistant", [{"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/home/x/project/a.py"}}]
    ),
    claude("user", [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "x = 1"}]}], n=6),
    claude("user", "Find usages", isSidechain=True, n=7),
    claude("assistant", [{"type": "text", "text": "Three usages."}], id="side", isSidechain=True, n=8),
    claude("assistant", [{"type": "text", "text": f"Done {KEY}."}], id="msg_2", n=9),
)


def test_a_transcript_of_claude_code_becomes_a_session(place: Place) -> None:
    task = place.take_in(*CLAUDE)
    first, reply, result, last = task.conversation().turns
    assert isinstance(first, UserTurn) and isinstance(last, AssistantTurn)
    assert isinstance(reply, AssistantTurn) and [block.name for block in reply.tool_uses] == ["Read"]
    assert reply.text == "I look." and "seal" not in str(reply)
    assert isinstance(result, UserTurn) and result.content == (ToolResultBlock(tool_use_id="t1", content="x = 1"),)
    assert KEY not in (place.directory / "log.jsonl").read_text()
    session = place.listed()
    assert (session.summary.title, session.summary.turns, session.model) == ("Fix the parser", 1, "claude-opus-4")
    assert session.summary.origin is not None
    assert (session.summary.origin.source, session.summary.origin.session_id) == ("claude-code", "3f1c")
    assert session.summary.files == {"/home/x/project/a.py": 1} and session.state == "completed"
    [read] = past_calls(task.messages, task.calls)
    assert (read.title, read.status) == ("Read /home/x/project/a.py", "success")
    assert [row.text for row in task.messages if row.ts == read.after] == ["I look."]
    assert b"Three usages." in (place.directory / "log.jsonl").read_bytes()


def test_a_summary_of_claude_code_stands_for_what_was_before(place: Place) -> None:
    summary = claude("user", "What happened: all of it", isCompactSummary=True, n=10)
    task = place.take_in(*CLAUDE, summary, claude("user", "Go on", n=11))
    shown = task.conversation().turns
    assert "What happened" in str(shown[0]) and "Fix the parser" not in str(shown)


def codex(kind: str, second: int = 1, **payload: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-05-01T10:00:{second:02d}.000Z", "type": kind, "payload": payload}


def item(kind: str, **payload: Any) -> dict[str, Any]:
    return codex("response_item", 5, type=kind, **payload)


def words(role: str, text: str) -> dict[str, Any]:
    part = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": part, "text": text}])


CODEX = (
    codex("session_meta", id="c0de", cwd="/work", originator="codex_cli"),
    words("user", "<environment_context>\n<cwd>/work</cwd>"),
    words("developer", "rules"),
    codex("turn_context", model="gpt-5-codex"),
    words("user", "Why does it hang?"),
    codex("event_msg", type="user_message", message="Why does it hang?"),
    item("reasoning", summary=[{"type": "summary_text", "text": "locks"}], encrypted_content="xx"),
    item("function_call", name="shell", call_id="c1", arguments='{"command":["ls"]}'),
    item("function_call_output", call_id="c1", output='{"output":"a.py","metadata":{"exit_code":2}}'),
    item("custom_tool_call", name="apply_patch", call_id="c2", input="*** Begin Patch"),
    item("custom_tool_call_output", call_id="c2", output="ok"),
    words("assistant", "A lock."),
)


def test_a_rollout_of_codex_becomes_a_session(place: Place) -> None:
    task = place.take_in(*CODEX)
    assert [turn.__class__.__name__ for turn in task.conversation().turns] == [
        "UserTurn",
        "AssistantTurn",
        "UserTurn",
        "AssistantTurn",
        "UserTurn",
        "AssistantTurn",
    ]
    calls = [use for turn in task.conversation().turns if isinstance(turn, AssistantTurn) for use in turn.tool_uses]
    assert [call.input for call in calls] == [{"command": ["ls"]}, {"input": "*** Begin Patch"}]
    results = [block for turn in task.conversation().turns if isinstance(turn, UserTurn) for block in turn.content]
    assert ToolResultBlock(tool_use_id="c1", content="a.py", is_error=True) in results
    shown = [(each.title, each.status, each.reason) for each in past_calls(task.messages, task.calls)]
    assert shown == [("shell", "error", "a.py"), ("apply_patch *** Begin Patch", "success", None)]
    session = place.listed()
    assert (session.summary.title, session.model) == ("Why does it hang?", "gpt-5-codex")


def test_an_old_rollout_without_envelopes(place: Place) -> None:
    task = place.take_in(
        {"id": "old", "timestamp": "2025-04-16T10:00:00Z", "instructions": ""},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]},
    )
    assert len(task.conversation().turns) == 2


@pytest.mark.parametrize("lines", [CLAUDE, CODEX])
def test_torn_and_unknown_lines_are_left_out_and_counted(place: Place, lines: tuple[dict[str, Any], ...]) -> None:
    odd = ("", "{torn", "[1]", '"text"', "\x00\x00", {"type": "hologram", "x": [1]}, "[" * 5000, {"payload": 3})
    task = place.take_in(lines[0], *odd, *lines[1:], '{"type":"user","mess')
    assert task.messages and "Left out, because unreadable: " in place.notice


@pytest.mark.parametrize("content", ["", "\n\n", "hello\n", '{"a": 1}\n', "\x00\xff" * 100])
def test_a_file_without_a_conversation_is_refused(place: Place, content: str) -> None:
    with pytest.raises(ImportRefused):
        place.take_in(content)
    assert list((place.root / ".robota/sessions").glob("*")) in ([], [place.root / ".robota/sessions/.gitignore"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
ODD = st.dictionaries(
    st.sampled_from(["type", "message", "payload", "content", "role", "uuid", "timestamp", "output", "id", "input"]),
    JSON,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "response_item", "compacted"]), ODD), max_size=8))
def test_no_content_makes_it_fail(tmp_path_factory: pytest.TempPathFactory, odd: list[Any]) -> None:
    strange = [{**fields, "type": kind} for kind, fields in odd]
    for lines in (CLAUDE, CODEX):
        place = Place(tmp_path_factory.mktemp("odd"))
        task = place.take_in(lines[0], lines[1], *strange, *lines[2:])
        assert task.conversation().turns
