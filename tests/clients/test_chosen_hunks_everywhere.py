"""Hunks that are chosen by number, in whatever way a client says it, are the hunks that are written."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from robota.clients.answering.approval_line import meaning_of
from robota.clients.render.approval_lines import subject_lines
from robota.protocol.asks.answer import ApproveHunks
from robota.protocol.asks.ask import ApprovalAsk
from robota.protocol.asks.seed import ask_of
from robota.protocol.codec import decode_command
from robota.protocol.commands import AskResponse, Command
from robota.protocol.message import Message
from tests.engine.stage import Stage, call, play

BEFORE = [f"line {number}" for number in range(40)]
CHANGED = {2: "first", 15: "second", 30: "third"}
AFTER = [CHANGED.get(number, line) for number, line in enumerate(BEFORE)]
WANTED = [line if number != 15 else BEFORE[15] for number, line in enumerate(AFTER)]


def approval_in(message: Message) -> ApprovalAsk:
    asked = ask_of(message)
    assert isinstance(asked, ApprovalAsk) and asked.choosable_hunks == 3
    return asked


def typed_at_the_terminal(message: Message) -> Command:
    asked = approval_in(message)
    numbered = [line.text.strip() for line in subject_lines(asked) if "] @@" in line.text]
    assert [line[:3] for line in numbered] == ["[1]", "[2]", "[3]"]
    answer = meaning_of("h 1,3", asked)
    assert isinstance(answer, ApproveHunks)
    return AskResponse(answer=answer, ts=message.ts)


def typed_json(message: Message) -> Command:
    answer = {"kind": "approveHunks", "hunks": [0, 2]}
    return decode_command(json.dumps({"type": "askResponse", "ts": message.ts, "answer": answer}))


def seed_json(message: Message) -> Command:
    hunks = json.dumps({"hunks": [0, 2]})
    return decode_command(json.dumps({"type": "askResponse", "askResponse": "objectResponse", "text": hunks}))


@pytest.mark.parametrize("answer", [typed_at_the_terminal, typed_json, seed_json])
def test_exactly_the_chosen_hunks_are_written(workspace: Path, answer: Callable[[Message], Command]) -> None:
    (workspace / "a.txt").write_text("\n".join(BEFORE) + "\n")

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.submit(answer(await stage.until_ask("tool")))
        await stage.until_ask("completion_result")
        assert (workspace / "a.txt").read_text() == "\n".join(WANTED) + "\n"

    read, write = call("read_file", path="a.txt"), call("write_to_file", path="a.txt", content="\n".join(AFTER) + "\n")
    play(workspace, [{"calls": [read]}, {"calls": [write]}, {"text": "done"}], story)
