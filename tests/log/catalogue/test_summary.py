"""A summary that is read in pieces is the one that is read at once."""

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robota.log.catalogue.summary import SummaryFold
from robota.log.chain.growth import LogPosition, continues, records_since
from robota.log.chain.reader import LOG_NAME, load
from robota.log.chain.writer import SessionLog
from robota.log.kinds.calls import AnswerRecord
from robota.log.kinds.session import EndRecord, NameRecord, TaskRecord, TitleRecord
from robota.log.replay.session import replay
from tests.log.catalogue.logs import Written

STEPS = st.lists(
    st.sampled_from(["prompt", "reply", "call", "ask", "answer", "name", "end", "subtask", "torn"]), max_size=12
)


def write(written: Written, steps: list[str]) -> None:
    asked = 0
    for number, step in enumerate(steps):
        match step:
            case "prompt":
                written.prompt(f"prompt {number}")
            case "reply":
                written.reply(f"reply {number}", cost=0.5)
            case "call":
                written.call("edit_file", {"path": f"{number}.py"}, "ok")
            case "ask":
                asked = written.ask(ask="command", text="ls")
            case "answer":
                written.log.append(AnswerRecord(task_id=written.task_id, ts=asked, response="yesButtonClicked"))
            case "name":
                written.log.append(NameRecord(name=f"name {number}"))
            case "end":
                written.log.append(EndRecord(task_id=written.task_id, outcome="completed"))
            case "subtask":
                written.log.append(TaskRecord(task_id=f"sub{number}", mode="code", parent_task_id=written.task_id))
            case _:
                with written.log.path.open("ab") as stream:
                    stream.write(b"a damaged line\n")


def read(log: Path, pieces: int) -> SummaryFold:
    """Take up a stored summary after each piece, as the index does."""
    fold, position, end = SummaryFold(), LogPosition(), log.stat().st_size
    data = log.read_bytes()
    for piece in range(1, pieces + 1):
        log.write_bytes(data[: end * piece // pieces])
        assert continues(log, position)
        fold = msgspec.msgpack.decode(msgspec.msgpack.encode(fold), type=SummaryFold)
        for grown in records_since(log, position):
            fold.take(grown.record)
            position = grown.position
    return fold


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS, st.integers(2, 9))
def test_pieces_give_the_same(tmp_path_factory: pytest.TempPathFactory, steps: list[str], pieces: int) -> None:
    written = Written(tmp_path_factory.mktemp("log"), "s")
    steps = ["prompt", *steps]
    write(written, steps)
    written.close()
    whole = read(written.log.path, 1)
    assert read(written.log.path, pieces) == whole
    assert whole.turns == steps.count("prompt") and whole.cost == steps.count("reply") * 0.5


def test_a_log_that_goes_on_after_a_repair_is_read_on(tmp_path: Path) -> None:
    written = Written(tmp_path, "s").prompt("one").close()
    with written.log.path.open("ab") as stream:
        stream.write(b'{"seq":')
    fold, position = SummaryFold(), LogPosition()
    for grown in records_since(written.log.path, position):
        position = grown.position
        fold.take(grown.record)
    log, _ = SessionLog.open(written.directory, lambda: 1)
    log.append(NameRecord(name="after"))
    log.close()
    assert continues(written.log.path, position)
    for grown in records_since(written.log.path, position):
        fold.take(grown.record)
    assert fold.name == "after"


def test_a_title_of_a_model_stands_for_the_first_words_and_its_cost_counts(tmp_path: Path) -> None:
    written = Written(tmp_path, "s").prompt("please look at it")
    written.log.append(TitleRecord(task_id=written.task_id, title="Look at it", cost=0.25))
    written.log.append(TitleRecord(task_id=written.task_id, title="", cost=0.25))
    written.end()
    fold, records = SummaryFold(), load(written.directory / LOG_NAME).records
    for record in records:
        fold.take(record)
    task = replay(records).root
    assert (fold.title, fold.cost) == ("Look at it", 0.5)
    assert task is not None and (task.totals.cost, task.totals.requests) == (0.5, 2)


def test_tokens_count_also_when_the_price_of_a_request_is_unknown(tmp_path: Path) -> None:
    written = Written(tmp_path, "s").prompt("please look at it")
    for cost in (0.5, None, 0.25):
        info = json.dumps({"tokensIn": 1_000, "tokensOut": 20, "cost": cost})
        written.row(type="say", say="api_req_started", text=info)
    written.end()
    fold = SummaryFold()
    for record in load(written.directory / LOG_NAME).records:
        fold.take(record)
    assert (fold.tokens, fold.is_cost_known) == (3_060, False)
