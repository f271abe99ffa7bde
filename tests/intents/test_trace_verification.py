"""`robota trace verify` tells apart what can be done to a trace by hand, and `robota intents` shows what there is."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from robota.intents.trace_file import TraceFile
from robota.intents.trace_record import content_hash
from tests.harness.cli import Robota
from tests.intents.project import INTENTS, intents
from tests.intents.test_trace import CHANGE, ORIGIN

RECORDS = 6


@pytest.fixture
def trace(robota: Robota) -> Path:
    """A trace of six records, written by a session of this machine."""
    intents(robota.workspace)
    file = TraceFile(robota.workspace, lambda: "now", robota.home / ".robota")
    for _ in range(RECORDS):
        file.append(CHANGE, ORIGIN)
    return file.path


def test_a_trace_that_nobody_touched_is_whole(robota: Robota, trace: Path) -> None:
    done = robota("trace", "verify")
    assert (done.code, done.stdout) == (0, "The trace is as it was written: 6 records.\n")
    assert robota("trace", "head").stdout.strip() == content_hash(trace.read_bytes().splitlines()[-1])


def edit(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], lines[2].replace(b"INT-001", b"INT-002"), *lines[3:]]


@pytest.mark.parametrize(
    ("change", "fault", "line"),
    [
        (edit, "edited", 4),
        (lambda lines: lines[:2] + lines[3:], "dropped", 3),
        (lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]], "moved", 3),
        (lambda lines: [*lines, lines[2]], "moved", 7),
        (lambda lines: lines[:-1], "cut", 5),
        (lambda lines: [*lines[:-1], lines[-1].replace(b"a.py", b"b.py")], "cut", 6),
        (lambda lines: [*lines[:3], lines[3] + lines[4], lines[5]], "unreadable", 4),
        (lambda lines: [*lines, b'{"version": "0.1'], "unreadable", 7),
        (lambda lines: lines[1:], "dropped", 1),
        (lambda lines: [], "cut", 0),
    ],
)
def test_what_was_done_to_the_trace_is_named(
    robota: Robota, trace: Path, change: Callable[[list[bytes]], list[bytes]], fault: str, line: int
) -> None:
    trace.write_bytes(b"".join(each + b"\n" for each in change(trace.read_bytes().splitlines())))
    done = robota("trace", "verify", "--json")
    found = [(each["fault"], each["line"]) for each in json.loads(done.stdout)["findings"]]
    assert done.code == 1 and (fault, line) in found


def test_lines_of_other_tools_are_counted_and_break_no_chain(robota: Robota, trace: Path) -> None:
    with trace.open("ab") as file:
        file.write(b'{"id": "trace-001", "intent_id": "INT-001"}\n')
    TraceFile(robota.workspace, lambda: "now", robota.home / ".robota").append(CHANGE, ORIGIN)
    done = robota("trace", "verify")
    assert (done.code, done.stdout) == (0, "The trace is as it was written: 7 records, 1 line of other tools.\n")


def test_traces_of_two_worktrees_that_git_put_together_are_whole(robota: Robota, trace: Path, tmp_path: Path) -> None:
    """Each went on from the same record; a line that is then lost is noticed all the same."""
    base = trace.read_bytes()
    other = tmp_path / "other"
    (other / ".orchestration").mkdir(parents=True)
    (other / ".orchestration/agent_trace.jsonl").write_bytes(base)
    for root in (robota.workspace, other):
        for _ in range(2):
            TraceFile(root, lambda: "now", robota.home / ".robota").append(CHANGE, ORIGIN)
    theirs = (other / ".orchestration/agent_trace.jsonl").read_bytes().removeprefix(base)
    trace.write_bytes(trace.read_bytes() + theirs)
    TraceFile(robota.workspace, lambda: "now", robota.home / ".robota").append(CHANGE, ORIGIN)
    done = robota("trace", "verify", "--json")
    assert done.code == 0 and json.loads(done.stdout)["merged"] == 1
    lines = trace.read_bytes().splitlines(keepends=True)
    trace.write_bytes(b"".join(lines[: RECORDS + 2] + lines[RECORDS + 3 :]))
    assert robota("trace", "verify").code == 1


def test_no_trace_is_said_plainly(robota: Robota) -> None:
    done = robota("trace", "verify")
    assert done.code == 1 and "no agent has changed anything under an intent" in done.stderr


def test_a_trace_that_was_removed_is_missed(robota: Robota, trace: Path) -> None:
    trace.unlink()
    done = robota("trace", "verify")
    assert done.code == 1 and "is missing, although this machine has written records to it" in done.stderr


def test_intents_are_listed_and_shown(robota: Robota) -> None:
    intents(robota.workspace)
    listed = robota("intents", "list").stdout.splitlines()
    assert [line.split()[:2] for line in listed[1:]] == [
        ["INT-001", "IN_PROGRESS"],
        ["INT-002", "PENDING"],
        ["INT-003", "IN_PROGRESS"],
    ]
    shown = robota("intents", "show", "INT-001").stdout
    assert "owns: src/auth/**" in shown and "keep to: No new dependency" in shown
    assert json.loads(robota("intents", "show", "INT-001", "--json").stdout)["ownedScope"][0] == "src/auth/**"
    missing = robota("intents", "show", "INT-9")
    assert missing.code == 1 and "Available: INT-001, INT-002, INT-003." in missing.stderr


def test_a_file_of_intents_that_is_wrong_says_what_and_what_follows(robota: Robota) -> None:
    assert robota("intents", "list").code == 1
    intents(robota.workspace, INTENTS.replace("INT-003", "INT-001"))
    done = robota("intents", "list")
    assert done.code == 3 and "two intents with the id INT-001" in done.stderr and "may change nothing" in done.stderr
