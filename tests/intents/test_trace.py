"""The trace: one record for each file that a call changed, in a chain, and no changes without it."""

import fcntl
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.config import durable_file
from robota.intents.trace_file import TraceFile, TraceProblem, history_of
from robota.intents.trace_record import FIRST, VENDOR, TracedChange, TraceOrigin, changed_between, content_hash
from robota.protocol.events import Notice
from tests.engine.stage import Stage, call, play
from tests.intents.project import SELECT, intents, results, told, traced, turns, write

ORIGIN = TraceOrigin(
    session_id="s", log_url="file:///log", model="m", call_id="c", tool="t", intent_id="INT-001", approval="in_scope"
)
CHANGE = TracedChange(path="a.py", before_hash=None, after_hash="sha256:0")


def test_each_change_is_a_record_of_agent_trace_that_names_intent_call_and_lines(workspace: Path) -> None:
    intents(workspace)
    results(workspace, SELECT, write("src/auth/a.py", "one\ntwo\nthree\n"), write("src/auth/a.py", "one\n2\nthree\n"))
    made, edited = traced(workspace)
    for record in (made, edited):
        assert set(record) == {"version", "id", "timestamp", "tool", "files", "metadata"}
        assert record["version"] == "0.1.0" and record["tool"]["name"] == "robota"
        assert [file["path"] for file in record["files"]] == ["src/auth/a.py"]
        assert record["files"][0]["conversations"][0]["related"][0]["url"] == "urn:intent:INT-001"
    assert made["files"][0]["conversations"][0]["ranges"][0]["end_line"] == 3
    lines = edited["files"][0]["conversations"][0]["ranges"][0]
    assert (lines["start_line"], lines["end_line"], lines["content_hash"]) == (2, 2, content_hash(b"2\n"))
    ours = edited["metadata"][VENDOR]
    assert (ours["intent_id"], ours["op"], ours["approval"]) == ("INT-001", "edit", "in_scope")
    assert ours["before_hash"] == made["metadata"][VENDOR]["after_hash"] == content_hash(b"one\ntwo\nthree\n")


def test_the_records_of_all_sessions_are_one_chain(workspace: Path) -> None:
    intents(workspace)
    for name in ("a", "b", "c"):
        results(workspace, SELECT, write(f"src/auth/{name}.py"))
    lines = (workspace / ".orchestration/agent_trace.jsonl").read_bytes().splitlines()
    previous = [json.loads(line)["metadata"][VENDOR]["prev_record_hash"] for line in lines]
    assert previous == [FIRST, *(content_hash(line) for line in lines[:-1])]


def test_sessions_that_write_at_once_leave_one_chain(tmp_path: Path) -> None:
    (tmp_path / ".orchestration").mkdir()
    code = (
        "import sys; from pathlib import Path; from tests.intents.test_trace import CHANGE, ORIGIN, TraceFile\n"
        "trace = TraceFile(Path(sys.argv[1]), lambda: 'now')\n"
        "for _ in range(50): trace.append(CHANGE, ORIGIN)"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(4)]
    assert [process.wait() for process in running] == [0] * 4
    lines = (tmp_path / ".orchestration/agent_trace.jsonl").read_bytes().splitlines()
    previous = [json.loads(line)["metadata"][VENDOR]["prev_record_hash"] for line in lines]
    assert len(lines) == 200 and previous == [FIRST, *(content_hash(line) for line in lines[:-1])]


def test_a_line_that_a_killed_writer_left_harms_no_later_one(tmp_path: Path) -> None:
    (tmp_path / ".orchestration").mkdir()
    trace = TraceFile(tmp_path, lambda: "now")
    trace.append(CHANGE, ORIGIN)
    with trace.path.open("ab") as file:
        file.write(b'{"version":"0.1.0","id":"torn')
    trace.append(CHANGE, ORIGIN)
    lines = trace.path.read_bytes().splitlines()
    assert len(lines) == 3 and json.loads(lines[2])["metadata"][VENDOR]["prev_record_hash"] == content_hash(lines[1])


def test_what_other_tools_wrote_is_read_as_far_as_it_can_be(tmp_path: Path) -> None:
    (tmp_path / ".orchestration").mkdir()
    trace = TraceFile(tmp_path, lambda: "now")
    foreign = {"id": "1", "timestamp": "t", "intent_id": "INT-001", "files": [{"relative_path": "b.py"}, 7, None]}
    lines = ["", "{}", "[]", "not json", '{"files": 3}', json.dumps(foreign), '{"a":1}{"b":2}', '{"half": ']
    trace.path.write_text("\n".join(lines))
    trace.append(CHANGE, ORIGIN)
    assert history_of(trace, "INT-001") == ["t edit b.py", "now create a.py"]


def test_long_lines_of_other_tools_do_not_hide_our_last_record(tmp_path: Path) -> None:
    (tmp_path / ".orchestration").mkdir()
    trace = TraceFile(tmp_path, lambda: "now")
    trace.append(CHANGE, ORIGIN)
    foreign = json.dumps({"long": "x" * 200_000}).encode()
    with trace.path.open("ab") as file:
        file.write(foreign + b"\n")
    trace.append(CHANGE, ORIGIN)
    ours = json.loads(trace.path.read_bytes().splitlines()[-1])["metadata"][VENDOR]
    assert (ours["number"], ours["prev_record_hash"]) == (2, content_hash(foreign))


def test_nothing_more_is_changed_when_the_trace_cannot_be_written(workspace: Path, tmp_path: Path) -> None:
    directory = intents(workspace)
    (directory / "agent_trace.jsonl").symlink_to(tmp_path / "elsewhere")

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")

    play(
        workspace,
        turns(SELECT, write("src/auth/a.py"), write("src/auth/b.py")),
        story,
        permission_mode="bypassPermissions",
        attended=False,
    )
    assert (workspace / "src/auth/a.py").exists() and not (workspace / "src/auth/b.py").exists()
    assert not (tmp_path / "elsewhere").exists()


def test_a_change_that_a_user_let_through_says_so(workspace: Path) -> None:
    intents(workspace)

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")

    play(workspace, turns(SELECT, write("other.py")), story, permission_mode="bypassPermissions")
    assert [record["metadata"][VENDOR]["approval"] for record in traced(workspace)] == ["user"]


def test_what_a_command_changed_is_traced_and_what_the_intent_does_not_own_is_told(workspace: Path) -> None:
    intents(workspace)
    (workspace / "src/auth").mkdir(parents=True)
    (workspace / "src/auth/a.py").write_text("one\ntwo\n")
    (workspace / "gone.txt").write_text("x")

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        told = [notice.text for notice in stage.events_of(Notice)]
        assert any("does not own: gone.txt, other.txt. /rewind" in text for text in told), told

    command = "sed -i s/two/2/ src/auth/a.py; echo x > other.txt; rm gone.txt"
    play(workspace, turns(SELECT, call("execute_command", command=command)), story, permission_mode="default")
    by_path = {record["files"][0]["path"]: record for record in traced(workspace)}
    assert {path: record["metadata"][VENDOR]["op"] for path, record in by_path.items()} == {
        "src/auth/a.py": "edit",
        "other.txt": "create",
        "gone.txt": "delete",
    }
    assert [by_path[path]["metadata"][VENDOR]["in_scope"] for path in ("src/auth/a.py", "other.txt")] == [True, False]
    lines = by_path["src/auth/a.py"]["files"][0]["conversations"][0]["ranges"][0]
    assert (lines["start_line"], lines["end_line"], lines["content_hash"]) == (2, 2, content_hash(b"2\n"))
    assert by_path["gone.txt"]["files"][0]["conversations"][0]["ranges"] == []


def test_the_model_is_told_what_was_done_for_its_intent_before(workspace: Path) -> None:
    intents(workspace)
    results(workspace, SELECT, write("src/auth/a.py"))
    assert "create src/auth/a.py</change>" in results(workspace, SELECT)[0]


def test_a_call_that_changed_nothing_leaves_no_record(workspace: Path) -> None:
    intents(workspace)
    refused = results(workspace, SELECT, write("README.md"), call("read_file", path="nothing.txt"))[1]
    assert told(refused)["code"] == "REQ-001" and traced(workspace) == []


@given(st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d"])), st.lists(st.sampled_from([b"a\n", b"b\n", b"e"])))
def test_the_lines_of_a_record_hold_every_difference(old: list[bytes], new: list[bytes]) -> None:
    before, after = b"".join(old), b"".join(new)
    change = changed_between("x", before, after)
    if before == after or not after:
        assert change is None or not change.lines
        return
    assert change is not None and change.lines
    lines = after.splitlines(keepends=True)
    changed = {number for each in change.lines for number in range(each.start_line, each.end_line + 1)}
    assert changed <= set(range(1, len(lines) + 1))
    # What is not named stood in the file before, in the same order.
    kept = iter(before.splitlines(keepends=True))
    assert all(line in kept for number, line in enumerate(lines, 1) if number not in changed)
    for each in change.lines:
        assert each.content_hash == content_hash(b"".join(lines[each.start_line - 1 : each.end_line]))


def test_changes_that_lie_apart_are_ranges_of_their_own() -> None:
    before = [b"%d\n" % number for number in range(20)]
    after = [*before[:2], b"new\n", *before[2:15], b"other\n", *before[16:]]
    change = changed_between("x", b"".join(before), b"".join(after))
    assert change is not None
    assert [(each.start_line, each.end_line) for each in change.lines] == [(3, 3), (17, 17)]


@pytest.mark.parametrize("is_pipe", [True, False])
def test_a_pipe_or_a_link_in_place_of_the_trace_is_neither_waited_for_nor_followed(
    tmp_path: Path, is_pipe: bool
) -> None:
    (tmp_path / ".orchestration").mkdir()
    trace = TraceFile(tmp_path, lambda: "now")
    if is_pipe:
        os.mkfifo(trace.path)
    else:
        trace.path.symlink_to(tmp_path / "elsewhere")
    assert history_of(trace, "INT-001") == []
    with pytest.raises(TraceProblem):
        trace.append(CHANGE, ORIGIN)
    assert not (tmp_path / "elsewhere").exists()


def test_a_trace_that_a_command_has_locked_is_a_problem_and_no_wait_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable_file, "MAX_LOCK_WAIT_S", 0.01)
    (tmp_path / ".orchestration").mkdir()
    trace = TraceFile(tmp_path, lambda: "now")
    trace.append(CHANGE, ORIGIN)
    with trace.path.open() as locked:
        fcntl.flock(locked, fcntl.LOCK_EX)
        with pytest.raises(TraceProblem, match="another program has locked it"):
            trace.append(CHANGE, ORIGIN)
    assert len(trace.path.read_bytes().splitlines()) == 1


def test_intents_that_lie_behind_a_link_allow_no_change(workspace: Path, tmp_path: Path) -> None:
    """The target of the link is neither read nor written."""
    elsewhere = intents(tmp_path)
    (elsewhere / "AGENT.md").write_text("hunter2")
    (workspace / ".orchestration").symlink_to(elsewhere)
    chosen, written = results(workspace, SELECT, write("src/auth/a.py"))
    assert "Nothing may be changed" in chosen and "hunter2" not in chosen
    assert "Nothing may be changed" in written and not (workspace / "src").exists()
    assert not (elsewhere / "agent_trace.jsonl").exists()


def test_a_record_that_the_disk_does_not_take_is_a_problem_and_leaves_no_half(workspace: Path) -> None:
    """The rest of the disk has room for a part of the line."""
    intents(workspace)
    trace = TraceFile(workspace, lambda: "2026-01-01T00:00:00.000000Z")
    trace.append(CHANGE, ORIGIN)
    before = trace.path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, hard))
    try:
        with pytest.raises(TraceProblem, match="cannot be written"):
            trace.append(CHANGE, ORIGIN)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert trace.path.read_bytes() == before
