"""A key that comes piece by piece is seen by no client and stands in no log, at no moment."""

import json
from pathlib import Path
from typing import Any

import pytest

from robota.engine.record.journal import EventBus, Journal
from robota.engine.record.rows import Rows
from robota.log.chain.writer import SessionLog
from robota.protocol.events import (
    Event,
    MessageCreated,
    MessageUpdated,
    PartialMessage,
    State,
    TextDelta,
    ToolCallDelta,
)
from robota.secrets.redaction import Redactor
from tests.engine.stage import Stage, call, play

# Put together here, so that no scanner takes this file for a leak.
KEY = "ghp_" + "a1B2" * 9
COVER = "*" * len(KEY)
BY_AND_BY = {"chunkSize": 3, "chunkDelayMs": 1}
SLOWLY_TYPED = f"The key is {KEY}, as you know. gh"
COVERED = f"The key is {COVER}, as you know. gh"


class Watcher:
    """A row as a client builds it from what it is sent, looked at after every event."""

    def __init__(self, say: str) -> None:
        self._say = say
        self._row: int | None = None
        self.text = ""

    def take(self, event: Event) -> None:
        if isinstance(event, MessageCreated) and event.message.say == self._say and event.message.partial:
            self._row, self.text = event.message.ts, event.message.text or ""
        elif isinstance(event, TextDelta | PartialMessage) and event.ts == self._row:
            self.text += event.delta
        elif isinstance(event, MessageUpdated) and event.message.ts == self._row:
            assert event.message.text == self.text
        assert "ghp" not in self.text and "a1" not in self.text


@pytest.mark.parametrize(("field", "say"), [("text", "text"), ("reasoning", "reasoning")])
def test_no_client_ever_sees_a_piece_of_a_key(workspace: Path, field: str, say: str) -> None:
    """Neither in a delta, nor in the state sent to a client that joins meanwhile, nor in the log."""
    watcher = Watcher(say)

    async def story(stage: Stage) -> None:
        await stage.start()

        def looked_at(event: Event) -> bool:
            watcher.take(event)
            assert b"ghp" not in stage.opened.log.path.read_bytes()
            return isinstance(event, MessageCreated) and event.message.ask == "completion_result"

        await stage.until(looked_at)
        assert watcher.text == COVERED

    play(workspace, [{field: SLOWLY_TYPED, "text": SLOWLY_TYPED, **BY_AND_BY}], story)


def test_a_client_that_joins_in_the_middle_of_a_key_sees_what_the_others_see(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        seen: set[str] = set()
        event = await stage.until(lambda event: isinstance(event, MessageCreated))
        assert isinstance(event, MessageCreated)
        asked = event.message.ts

        async def joined() -> str:
            late = stage.session.events()
            first = await anext(late)
            assert isinstance(first, State)
            rows = [row for row in first.state.cline_messages if row.say == "text" and row.ts != asked]
            return rows[0].text or "" if rows else ""

        while "." not in "".join(seen):
            await stage.until(lambda event: True)
            seen.add(await joined())
        assert all(COVERED.startswith(text) for text in seen)

    play(workspace, [{"text": SLOWLY_TYPED, **BY_AND_BY}], story)


def test_a_row_that_is_only_the_beginning_of_a_key_appears_when_it_is_complete(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert stage.says("text")[1:] == ["sk-"]

    play(workspace, [{"text": "sk-", "chunkSize": 1}], story)


def test_what_goes_back_to_the_model_is_what_it_wrote(tmp_path: Path) -> None:
    bus = EventBus(Redactor())
    log = SessionLog.create(tmp_path, now_ms=lambda: 1)
    row = Rows("task-1", Journal(log, bus), bus, later=lambda seconds, call: None).stream("text")
    for start in range(0, len(SLOWLY_TYPED), 3):
        row.append(SLOWLY_TYPED[start : start + 3])
    row.finish()
    assert row.text == SLOWLY_TYPED
    log.close()


def test_arguments_are_covered_while_they_are_written(workspace: Path) -> None:
    todos = f"[ ] use {KEY}"
    expected: dict[str, Any] = {"todos": f"[ ] use {COVER}"}

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        deltas = [event.delta for event in stage.events_of(ToolCallDelta)]
        assert not any("a1B" in delta for delta in deltas)
        assert json.loads("".join(deltas)) == expected

    play(workspace, [{"calls": [call("update_todo_list", todos=todos)], **BY_AND_BY}, {"text": "ok"}], story)
