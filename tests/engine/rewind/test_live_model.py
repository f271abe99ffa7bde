"""Any interleaving of edits, commands, condensing, going back, undo, redo and forks in a live session equals a model.

The session is a real one, with real files, commands and checkpoints; its model does what each prompt says.
"""

import asyncio
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from robota.app.session import open_session
from robota.config.launch_options import LaunchOptions
from robota.config.profiles.profile import Profile
from robota.log.chain.reader import load
from robota.log.kinds.conversation import CondenseRecord, RestoreRecord, TurnRecord
from robota.log.record import Record, payload_of
from robota.log.replay.branches import timeline_of
from robota.log.replay.rewind_points import rewind_history
from robota.protocol.commands import (
    Accepted,
    CondenseContext,
    NewTask,
    RedoRewind,
    RestoreContext,
    RewindRequest,
    RewindTo,
    UndoRewind,
)
from robota.protocol.conversation import TextBlock
from robota.protocol.events import Event, MessageCreated, Rewound
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.rewind import RewindScope
from tests.engine.rewind.test_rewind_model import Happening, Model, Way
from tests.engine.stage import Stage
from tests.fuzz.kill.strict_server import StrictServer, serving
from tests.workspace.checkpoints.trees import tree_of

COMMANDS = ("echo {n} > a", "rm -f a b", "ln -sfn {n} b", "mkdir -p d && echo {n} > d/x && chmod 755 d/x")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("command"), st.sampled_from(COMMANDS)),
        st.tuples(st.just("write")),
        st.tuples(st.just("own edit"), st.sampled_from(("a", "mine"))),
        st.tuples(st.just("condense")),
        st.tuples(st.just("restore context")),
        st.tuples(st.just("rewind"), st.integers(0, 9), st.sampled_from(list(RewindScope))),
        st.tuples(st.just("undo")),
        st.tuples(st.just("redo")),
        st.tuples(st.just("fork"), st.integers(0, 9)),
    ),
    min_size=3,
    max_size=9,
)


class ObedientServer(StrictServer):
    """Its model makes the call that the prompt names, once, and is then done."""

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        self.requests += 1
        last = body["messages"][-1]
        if not body.get("tools"):
            return {"content": "A summary."}
        if last["role"] == "tool":
            return {"content": "Done."}
        kind, _, what = str(last["content"]).rpartition("DO ")[2].partition(" ")
        arguments = {"command": what} if kind == "command" else {"path": what, "content": what}
        name = "execute_command" if kind == "command" else "write_to_file"
        return {"content": "So.", "tool_calls": [self.call(name, arguments)]}


class LiveStage:
    """A session at work, beside a model of it."""

    def __init__(self, stage: Stage, workspace: Path) -> None:
        self.stage, self.workspace = stage, workspace
        self.model = Model()
        self.count = 0

    async def take(self, step: tuple[Any, ...]) -> None:
        match step:
            case ("command", command):
                await self.prompt("command", command.format(n=self.count))
            case ("write",):
                await self.prompt("write", f"made-{self.count}")
            case ("own edit", name):
                self.own_edit(name)
            case ("condense",) if self.model.conversation:
                await self.condense()
            case ("restore context",) if self.model.conversation:
                await self.restore_context()
            case ("rewind", number, scope) if self.model.before:
                await self.rewind(number % len(self.model.before), scope)
            case ("undo",) if self.model.undo:
                await self.reverse(UndoRewind(), self.model.undo, self.model.redo)
            case ("redo",) if self.model.redo:
                await self.reverse(RedoRewind(), self.model.redo, self.model.undo)
            case ("fork", number) if self.model.before:
                self.fork(number % len(self.model.before))
            case _:
                pass

    def check(self) -> None:
        assert self.files() == self.model.files
        assert happened_in(self.records()) == self.model.conversation

    def files(self) -> dict[bytes, tuple[str, bytes]]:
        found = tree_of(self.workspace)
        return {path: file for path, file in found.items() if not path.startswith(b".robota/")}

    async def prompt(self, kind: str, what: str) -> None:
        self.count += 1
        model, text = self.model, f"n{self.count} DO {kind} {what}"
        model.before.append(model.conversation)
        model.files_at.append(None)
        model.seen()
        receipt = await (
            self.stage.answer("messageResponse", text) if model.conversation else self.stage.submit(NewTask(text=text))
        )
        assert isinstance(receipt, Accepted), receipt
        await self.stage.until(is_done)
        model.conversation = (*model.conversation, ("prompt", text, 0))
        model.files = self.done_by(kind, what)

    def done_by(self, kind: str, what: str) -> dict[bytes, tuple[str, bytes]]:
        """The files after a call, worked out without it."""
        files, line = dict(self.model.files), f"{self.count - 1}\n".encode()
        if kind == "write":
            return {**files, what.encode(): ("644", what.encode())}
        if what.startswith("echo"):
            mode = files[b"a"][0] if b"a" in files else "644"
            return {**files, b"a": (mode, line)}
        if what.startswith("ln"):
            return {**files, b"b": ("link", line.strip())}
        if what.startswith("mkdir"):
            return {**files, b"d/x": ("755", line)}
        return {path: file for path, file in files.items() if path not in (b"a", b"b")}

    def own_edit(self, name: str) -> None:
        self.count += 1
        (self.workspace / name).write_text(f"own {self.count}")
        self.model.files[name.encode()] = ("644", f"own {self.count}".encode())

    async def condense(self) -> None:
        before = happened_in(self.records())
        if isinstance(await self.stage.submit(CondenseContext()), Accepted):
            await self.stage.until(is_done)
            self.model.conversation = happened_in(self.records())
            assert self.model.conversation[: len(before)] == before

    async def restore_context(self) -> None:
        before = happened_in(self.records())
        await self.stage.submit(RestoreContext())
        self.model.conversation = happened_in(self.records())
        assert self.model.conversation[: len(before)] == before

    async def gone(self, order: RewindRequest) -> bool:
        assert isinstance(await self.stage.submit(order), Accepted)
        event = await self.stage.until(lambda event: isinstance(event, Rewound))
        assert isinstance(event, Rewound)
        return not event.result.is_empty

    async def rewind(self, number: int, scope: RewindScope) -> None:
        model = self.model
        then = model.files_at[number] if scope is not RewindScope.CONVERSATION else None
        files = {} if then is None else {path: then.get(path) for path in {*then, *model.files}}
        way = model.go(None if scope is RewindScope.FILES else model.before[number], files)
        assert await self.gone(RewindTo(number=number + 1, scope=scope)) == (way != Way(None, {}))
        if way != Way(None, {}):
            model.undo.append(way)
            model.redo = [way]

    async def reverse(self, order: UndoRewind | RedoRewind, taken: list[Way], given: list[Way]) -> None:
        way = taken.pop()
        if isinstance(order, UndoRewind):
            given[:] = [each for each in given if each is not way]
        given.append(self.model.go(way.conversation, way.files))
        await self.gone(order)

    def fork(self, number: int) -> None:
        records = self.records()
        to = rewind_history(records).points[number].to
        assert happened_in([record for record in records if record.seq <= to]) == self.model.before[number]

    def records(self) -> Sequence[Record]:
        return load(self.stage.opened.log.path).records


def happened_in(records: Sequence[Record]) -> tuple[Happening, ...]:
    """The prompts of a conversation, and then its condensations and those that were taken back."""
    timeline = timeline_of(records)
    payloads = [payload_of(record) for record in records if timeline.applies(record)]
    turns = [payload.turn for payload in payloads if isinstance(payload, TurnRecord)]
    texts = [block.text for turn in turns for block in turn.content if isinstance(block, TextBlock)]
    condensed = [payload for payload in payloads if isinstance(payload, CondenseRecord)]
    restored = [payload for payload in payloads if isinstance(payload, RestoreRecord)]
    prompts = [("prompt", text, 0) for text in texts if " DO " in text[:8]]
    return (*prompts, *(("condensed", "", 0) for _ in condensed), *(("restored", "", 0) for _ in restored))


def is_done(event: Event) -> bool:
    return isinstance(event, MessageCreated) and event.message.ask == "completion_result"


async def live(place: Path, url: str, steps: list[tuple[Any, ...]]) -> None:
    workspace = place / "work"
    workspace.mkdir()
    profile = Profile(type="openai-compatible", name="p", model="m", base_url=url, api_key="k")
    launch = LaunchOptions(cwd=workspace, profile=profile, permission_mode=PermissionMode.BYPASS)
    opened = open_session(
        launch, {"ROBOTA_HOME": str(place / "home"), "PATH": os.environ["PATH"], "ROBOTA_ENVIRONMENT": "0"}
    )
    try:
        stage = LiveStage(Stage(opened), workspace)
        for step in steps:
            await stage.take(step)
            stage.check()
    finally:
        await opened.close()


@settings(max_examples=5, deadline=None)
@given(STEPS)
def test_any_interleaving_in_a_live_session_is_as_in_the_model(steps: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as place, serving(ObedientServer(0)) as server:
        asyncio.run(live(Path(place), server.url, steps))
        assert server.refusals == []
