"""Sessions of an editor: copies, deletion, further directories, parts of a change."""

from typing import Any

import pytest

from tests.cli.scripts import call, script
from tests.clients.acp.editor import RequestFailed, editing, selects
from tests.harness.cli import Robota

LINES = "".join(f"{number}\n" for number in range(40))


def test_a_session_is_forked_and_both_go_on_by_themselves(robota: Robota) -> None:
    script(robota, {"text": "One."}, {"text": "Two."})
    where = {"cwd": str(robota.workspace), "mcpServers": []}
    with editing(robota) as editor:
        session = editor.open(robota.workspace)
        editor.prompt(session, "say one")
        copy = editor.call("session/fork", sessionId=session, **where)["sessionId"]
        assert copy != session
        editor.prompt(copy, "say two")
        assert editor.said() == "One.One."  # each begins its own script
        listed = editor.call("session/list", cwd=str(robota.workspace))["sessions"]
        assert {session, copy} <= {each["sessionId"] for each in listed}
        with pytest.raises(RequestFailed):
            editor.call("session/fork", sessionId="unknown", **where)
    logs = {path.parent.name: path.read_text() for path in robota.workspace.glob(".robota/sessions/*/log.jsonl")}
    assert "say two" in logs[copy] and "say one" in logs[copy] and "say two" not in logs[session]


def test_a_deleted_session_is_in_the_trash(robota: Robota) -> None:
    script(robota, {"text": "One."})
    with editing(robota) as editor:
        session = editor.open(robota.workspace)
        editor.prompt(session, "say one")
        editor.call("session/delete", sessionId=session)
        assert editor.call("session/list", cwd=str(robota.workspace))["sessions"] == []
        with pytest.raises(RequestFailed):
            editor.call("session/delete", sessionId=session)
    assert robota("sessions", "delete", "--undo", session).code == 0


def test_further_directories_can_be_read(robota: Robota) -> None:
    other = robota.home / "other"
    other.mkdir()
    (other / "notes.md").write_text("from elsewhere")
    script(robota, {"calls": [call("read_file", path=str(other / "notes.md"))]}, {"text": "Read."})
    with editing(robota) as editor:
        editor.introduce()
        given = {"cwd": str(robota.workspace), "mcpServers": [], "additionalDirectories": [str(other)]}
        session = editor.call("session/new", **given)["sessionId"]
        assert editor.prompt(session, "go") == "end_turn" and not editor.requests
        [read] = editor.calls().values()
        assert read["status"] == "completed"
        with pytest.raises(RequestFailed, match="absolute"):
            editor.call("session/new", **{**given, "additionalDirectories": ["other"]})


@pytest.mark.parametrize("accepts", [True, False])
def test_single_parts_of_a_change_are_approved(robota: Robota, accepts: bool) -> None:
    (robota.workspace / "a.txt").write_text(LINES)
    changed = LINES.replace("3\n4\n", "3\nnew\n4\n", 1).replace("30\n", "thirty\n", 1)
    read = call("read_file", path="a.txt")
    script(
        robota, {"calls": [read]}, {"calls": [call("write_to_file", path="a.txt", content=changed)]}, {"text": "Ok."}
    )

    def parts(params: dict[str, Any]) -> Any:
        chosen = next(each["optionId"] for each in params["options"] if each["name"].startswith("Choose parts"))
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    with editing(robota) as editor:
        session = editor.open(robota.workspace, elicitation={"form": {}})
        editor.answers["session/request_permission"] = parts
        answer = {"action": "accept", "content": {"parts0": False, "parts1": True}} if accepts else {"action": "cancel"}
        editor.answers["elicitation/create"] = lambda params: answer
        editor.prompt(session, "go")
        [form] = [each["params"] for each in editor.requests if each["method"] == "elicitation/create"]
        assert list(form["requestedSchema"]["properties"]) == ["parts0", "parts1"]
    only_second = LINES.replace("30\n", "thirty\n", 1)
    assert (robota.workspace / "a.txt").read_text() == (only_second if accepts else LINES)


def test_without_forms_nobody_is_offered_parts(robota: Robota) -> None:
    (robota.workspace / "a.txt").write_text(LINES)
    changed = LINES.replace("3\n", "three\n", 1).replace("30\n", "thirty\n", 1)
    read = call("read_file", path="a.txt")
    script(
        robota, {"calls": [read]}, {"calls": [call("write_to_file", path="a.txt", content=changed)]}, {"text": "Ok."}
    )
    with editing(robota) as editor:
        session = editor.open(robota.workspace)
        editor.answers["session/request_permission"] = selects("reject_once")
        editor.prompt(session, "go")
        assert all("parts" not in each["name"] for each in editor.requests[0]["params"]["options"])


def test_a_session_that_nobody_has_prompted_can_be_loaded(robota: Robota) -> None:
    """Editors create a session, and come back later."""
    script(robota, {"text": "Hello."})
    with editing(robota) as editor:
        session = editor.open(robota.workspace)
    with editing(robota) as editor:
        editor.introduce()
        editor.call("session/load", sessionId=session, cwd=str(robota.workspace), mcpServers=[])
        assert editor.prompt(session, "hi") == "end_turn" and editor.said() == "Hello."
