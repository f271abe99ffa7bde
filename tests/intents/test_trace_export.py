"""The trace for others: every record is valid Agent Trace 0.1.0, also those that other tools wrote in their own way."""

import json
import subprocess
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from robota.intents.trace_export import exported
from robota.intents.trace_record import FIRST, TraceLink, trace_record
from tests.cli.scripts import script
from tests.harness.cli import Robota
from tests.intents.project import SELECT, intents, results, traced, write
from tests.intents.test_trace import CHANGE, ORIGIN


class Contributor(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["human", "ai", "mixed", "unknown"]
    model_id: Annotated[str, Meta(max_length=250)] | None = None


class Lines(msgspec.Struct, forbid_unknown_fields=True):
    start_line: Annotated[int, Meta(ge=1)]
    end_line: Annotated[int, Meta(ge=1)]
    content_hash: str = ""
    contributor: Contributor | None = None


class Related(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    url: Annotated[str, Meta(pattern="^[a-z]+:")]


class Conversation(msgspec.Struct, forbid_unknown_fields=True):
    ranges: list[Lines]
    url: Annotated[str, Meta(pattern="^[a-z]+:")] = "urn:none"
    contributor: Contributor | None = None
    related: list[Related] = []


class TraceRecordFile(msgspec.Struct, forbid_unknown_fields=True):
    path: str
    conversations: list[Conversation]


class Vcs(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["git", "jj", "hg", "svn"]
    revision: str


class AgentTrace(msgspec.Struct, forbid_unknown_fields=True):
    """The schema of Agent Trace 0.1.0, as its specification has it."""

    version: Literal["0.1.0"]
    id: UUID
    timestamp: str
    files: list[TraceRecordFile]
    vcs: Vcs | None = None
    tool: dict[str, Any] = {}
    metadata: dict[str, Any] = {}


FIELDS = AgentTrace.__struct_fields__


def validate(record: Any) -> None:
    msgspec.convert(record, AgentTrace)


def test_every_record_that_is_written_is_valid(workspace: Path) -> None:
    intents(workspace)
    results(workspace, SELECT, write("src/auth/a.py", "x = 1\n"), write("src/auth/a.py", "x = 2\n"))
    assert len(traced(workspace)) == 2
    origin = msgspec.structs.replace(ORIGIN, model="m" * 300)
    wordy = trace_record(str(UUID(int=1)), "now", CHANGE, origin, TraceLink(number=1, previous=FIRST))
    for record in (*traced(workspace), wordy):
        validate(record)


FOREIGN = {
    "id": "trace-001",
    "timestamp": "2026-02-01T00:00:00Z",
    "vcs": {"revision_id": "abc"},
    "intent_id": "INT-001",
    "tool": "write_to_file",
    "files": [
        {
            "relative_path": "a.py",
            "conversations": [
                {
                    "contributor": {"entity_type": "AI", "model_identifier": "m"},
                    "ranges": [
                        {"start_line": 1, "end_line": 2, "content_hash": "ab12"},
                        {"start_line": 3, "end_line": -1},
                    ],
                    "related": [{"type": "specification", "value": "REQ-001"}],
                }
            ],
        }
    ],
}


def test_what_older_tools_wrote_becomes_valid_and_stays_the_same() -> None:
    line = json.dumps(FOREIGN).encode()
    [record] = exported([line, b"half", b"{}{}", b"[1]"])
    validate(record)
    [conversation] = record["files"][0]["conversations"]
    assert conversation["contributor"] == {"type": "ai", "model_id": "m"}
    assert conversation["ranges"] == [{"start_line": 1, "end_line": 2, "content_hash": "sha256:ab12"}]
    assert conversation["related"][0]["url"] == "urn:intent:REQ-001"
    assert [record] == list(exported([line], "INT-001")) and not list(exported([line], "INT-002"))


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*FIELDS, "path", "conversations", "ranges", "related"]), inner)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*FIELDS, "intent_id"]), ANYTHING))
def test_any_object_becomes_a_valid_record(record: dict[str, Any]) -> None:
    for made in exported([json.dumps(record).encode()]):
        validate(made)


@pytest.fixture
def worked(robota: Robota) -> Robota:
    """A repository in which an agent changed a file, which was then committed."""
    intents(robota.workspace)
    (robota.workspace / "README.md").write_text("x")
    git(robota, "add", "README.md")
    git(robota, "commit", "-qm", "before")
    script(robota, {"calls": [SELECT]}, {"calls": [write("src/auth/a.py")]}, {"text": "done"})
    robota("-p", "go", "--permission-mode", "bypassPermissions")
    git(robota, "add", "src")
    git(robota, "commit", "-qm", "after")
    return robota


def git(robota: Robota, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
    return subprocess.run(command, cwd=robota.workspace, check=True, capture_output=True, text=True).stdout


def test_a_commit_keeps_its_records_as_a_note(worked: Robota) -> None:
    done = worked("trace", "note")
    assert done.code == 0 and "a note with 1 record" in done.stdout
    noted = json.loads(git(worked, "notes", "--ref=agent-trace", "show", "HEAD"))
    assert noted["files"][0]["path"] == "src/auth/a.py"
    assert noted["vcs"]["revision"] == git(worked, "rev-parse", "HEAD~1").strip()
    assert "no note was added" in worked("trace", "note", "HEAD~1").stdout
    assert worked("trace", "note", "--help").code == 0 and worked("trace", "note", "nothing").code == 1


def test_an_export_says_nothing_of_this_machine(worked: Robota) -> None:
    text = worked("trace", "export", "--intent", "INT-001").stdout
    validate(json.loads(text))
    assert str(worked.workspace) not in text and worked("trace", "export", "--intent", "INT-009").stdout == ""
