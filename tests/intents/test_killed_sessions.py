"""A session is killed at steps from the change of a file to its end: the trace, `why` and `intents status` know it.

The change is in the trace exactly once, whoever looks first and however many look at once.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from robota.intents.intent_files import IntentFiles
from robota.intents.recovery.late_trace import LateTrace
from robota.intents.recovery.traced_calls import TraceBeginRecord, read_traced_log
from robota.intents.trace_file import TraceFile, trace_lines
from robota.intents.trace_record import decoded, ours_of
from robota.log.chain.writer import SessionLog, wall_clock_ms
from robota.log.kinds.calls import ToolStartRecord
from robota.log.kinds.session import OriginRecord
from tests.cli.scripts import call, script
from tests.harness.cli import LONGEST_RUN_S, Robota, clean_environment
from tests.intents.killed_at_steps import Report, Step
from tests.intents.project import SELECT, intents

ROOT = Path(__file__).parents[2]
CHANGED = "src/auth/token.py"
EDIT = call("write_to_file", path=CHANGED, content="TOKEN = 2\n")
COMMAND = call("execute_command", command=f"echo 'TOKEN = 2' > {CHANGED}")

VERIFY, STATUS, WHY = ("trace", "verify"), ("intents", "status"), ("why", CHANGED)
NEW, RESUME = ("-p", "another task"), ("-p", "go on", "--continue")
AT_ONCE = Step(words=(), first=(VERIFY, VERIFY))
BEFORE_CHECKPOINT = Step(words=('"kind":"checkpoint"',), first=(WHY,))
BEFORE_RECORD = [
    AT_ONCE,
    Step(words=("write", "agent_trace.jsonl"), first=(WHY,)),
    Step(words=("write", "agent_trace.jsonl"), is_torn=True, first=(RESUME,)),
]
AFTER_RECORD = [
    Step(words=("fsync", "agent_trace.jsonl"), first=(VERIFY, STATUS)),
    Step(words=('"kind":"traceEnd"',), is_torn=True, first=(RESUME,)),
    Step(words=('"kind":"toolEnd"',), first=(NEW,)),
    BEFORE_CHECKPOINT,
    Step(words=("os.remove", "traces/sessions/"), first=(STATUS,)),
    Step(words=None, first=(VERIFY,)),
]


@pytest.mark.parametrize(
    ("made", "steps"),
    [(EDIT, [*BEFORE_RECORD, *AFTER_RECORD]), (COMMAND, [*BEFORE_RECORD, BEFORE_CHECKPOINT])],
    ids=["an edit", "a command"],
)
def test_a_change_of_a_killed_session_is_traced_exactly_once(
    made: dict[str, Any], steps: list[Step], tmp_path: Path
) -> None:
    for step, report in zip(steps, killed_at(steps, made, tmp_path), strict=True):
        case = (step, report)
        assert report.is_killed == (step.words is not None), case
        assert report.codes == [0] * len(step.first) or step.is_torn, case
        (record,) = report.trace
        assert record.get("found_later", False) == (step in BEFORE_RECORD), case
        assert (record["intent_id"], record["op"]) == ("INT-001", "create"), case
        assert (record["in_scope"], record["approval"]) == (True, "in_scope"), case
        (status,) = [each for each in report.status if each["id"] == "INT-001"]
        assert (status["files"], status["sessions"]) == (1, 1), case
        (line,) = report.why["lines"]
        assert line["agent"]["call"]["id"] == record["tool_use_id"], case
        assert line["agent"]["session"] == record["session_id"], case
        assert report.notes == [], case


def test_without_checkpoints_the_change_of_a_named_file_is_traced_by_its_hash(tmp_path: Path) -> None:
    (report,) = killed_at([AT_ONCE], EDIT, tmp_path, {"checkpoints": {"enabled": False}})
    (record,) = report.trace
    assert record["found_later"]
    assert record["before_hash"] is None
    assert record["after_hash"].startswith("sha256:")
    assert report.notes == []


def test_without_intents_why_knows_an_edit_of_a_killed_session(tmp_path: Path) -> None:
    (report,) = killed_at([Step(words=(), first=())], EDIT, tmp_path, has_intents=False)
    (line,) = report.why["lines"]
    assert line["agent"]["call"]["tool"] == "write_to_file"
    assert line["agent"]["call"]["status"] == "interrupted"
    assert (report.trace, report.notes) == ([], [])


def test_in_the_copy_of_a_session_only_its_own_calls_are_missing_in_the_trace(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path / "copy", wall_clock_ms)
    for call_id, source in (("copied", "original"), ("own", "copy"), ("last", "")):
        log.append(
            TraceBeginRecord(
                task_id="task", call_id=call_id, tool="t", model="m", intent_id="INT-001", approval="user", before={}
            )
        )
        log.append(ToolStartRecord(task_id="task", call_id=call_id, tool="t", input={}))
        if source:  # after a repair, a log says that it came from itself
            log.append(OriginRecord(source="fork", session_id=source))
    log.close()
    assert [call.begin.call_id for call in read_traced_log(log.path).untraced] == ["own", "last"]


def test_a_file_that_leads_out_of_the_workspace_by_now_is_not_read_for_the_trace(tmp_path: Path) -> None:
    """The hash of a file elsewhere would tell whoever reads the trace what is in it."""
    root, secret = tmp_path / "ws", tmp_path / "secret"
    (root / ".orchestration").mkdir(parents=True)
    secret.write_text("secret")
    (root / "link").symlink_to(secret)
    (root / "made").write_text("made")
    log = SessionLog.create(tmp_path / "log", wall_clock_ms)
    before: dict[str, str | None] = {"link": None, "made": None, "gone": "sha256:1"}
    log.append(
        TraceBeginRecord(
            task_id="task", call_id="call", tool="t", model="m", intent_id="INT-001", approval="user", before=before
        )
    )
    log.append(ToolStartRecord(task_id="task", call_id="call", tool="t", input={}))
    late = LateTrace(IntentFiles(root), log, TraceFile(root, lambda: "now"), None, lambda path, data: None)
    assert late.catch_up()
    log.close()
    traced = [ours_of(decoded(line) or {}) for line in trace_lines(root)]
    assert [(each["before_hash"], each["after_hash"] is not None) for each in traced] == [
        (None, True),
        ("sha256:1", False),
    ]


def killed_at(
    steps: list[Step],
    made: dict[str, Any],
    tmp_path: Path,
    settings: dict[str, Any] | None = None,
    *,
    has_intents: bool = True,
) -> list[Report]:
    """What is known after a session was killed at each step; see the module that it runs."""
    original, copy = tmp_path / "original", tmp_path / "copy"
    robota = Robota(original / "workspace", original / "home")
    robota.home.mkdir(parents=True)
    (robota.workspace / "src/auth").mkdir(parents=True)
    if has_intents:
        intents(robota.workspace)
    script(robota, *({"calls": [each]} for each in ([SELECT, made] if has_intents else [made])), {"text": "Done."})
    path = robota.home / ".robota/settings.json"
    path.write_bytes(msgspec.json.encode({**msgspec.json.decode(path.read_bytes()), **(settings or {})}))
    arguments = [str(original), str(copy), CHANGED, msgspec.json.encode(steps).decode()]
    command = [sys.executable, "-m", "tests.intents.killed_at_steps", *arguments]
    env = clean_environment(copy / "home")
    env.update({"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": f"{ROOT}:{env['PYTHONPATH']}"})
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, timeout=LONGEST_RUN_S, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return msgspec.json.decode(done.stdout, type=list[Report])
