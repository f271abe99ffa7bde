"""What a provider's cache lives from: each request begins with the bytes of the one before it, in every wire format."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from robota.app.session import open_session
from robota.config.launch_options import LaunchOptions
from robota.protocol.commands import CondenseContext, Refused, RestoreContext, SetPermissionMode, SwitchMode
from robota.protocol.events import ContextReduced, State
from robota.protocol.permission_mode import PermissionMode
from tests.engine.stage import Stage
from tests.fakellm.server import running
from tests.providers.vendors import profile_of

DIALECTS = ("anthropic", "responses", "chat", "gemini")
REQUESTS = 200
# Where the marks stand that tell Anthropic what to keep is no part of what is kept.
MARK = re.compile(rb',"cache_control":\{"type":"ephemeral"\}')
Story = Callable[[Stage], Awaitable[None]]


def step(number: int) -> dict[str, Any]:
    """Calls of one reply: one or two, some of which fail; now and then the server does."""
    reads = [{"name": "read_file", "args": {"path": f"file{number % 7}.txt", "offset": number % 40 + 1, "limit": 2}}]
    if number % 5 == 0:
        reads.append({"name": "list_files", "args": {"path": f"none{number}"}})
    if number % 11 == 0:
        return {"calls": [{"name": "update_todo_list", "args": {"todos": f"[x] look\n[-] step {number}"}}]}
    if number % 37 == 0:
        return {"fault": 500}
    if number % 23 == 0:
        return {"text": f"Grüße {number} 🎉"}
    return {"text": f"Step {number}." if number % 3 else "", "calls": reads}


def play(tmp_path: Path, dialect: str, steps: list[dict[str, Any]], *stories: Story, **options: Any) -> list[bytes]:
    """The bodies of all requests with tools. Each story has a process of its own: a later one resumes the session."""
    workspace, bodies = tmp_path / "project", tmp_path / "bodies"
    workspace.mkdir()
    for number in range(7):
        (workspace / f"file{number}.txt").write_text("".join(f"{number}: line {line}\n" for line in range(60)))
    script = tmp_path / "story.json"
    script.write_text(json.dumps(steps))
    env = {"ROBOTA_HOME": str(tmp_path / "robota-home")}
    with running(f"script:{script}", workdir=str(tmp_path / "unused"), dump=str(bodies)) as fake:
        profile = profile_of(dialect, fake.url, options={"retry": {"baseMs": 1}, **options})
        launch = LaunchOptions(cwd=workspace, profile=profile, permission_mode=PermissionMode.BYPASS)

        async def run() -> None:
            resumed: Path | None = None
            for story in stories:
                opened = open_session(LaunchOptions(**{**fields(launch), "resumes": resumed}), env)
                try:
                    if resumed is not None:
                        await opened.resume()
                    await story(Stage(opened))
                finally:
                    await opened.close()
                resumed = opened.log.path.parent

        asyncio.run(run())
        kinds = [record.get("kind") for record in fake.records]
    sent = [path.read_bytes() for path in sorted(bodies.iterdir())]
    return [MARK.sub(b"", body) for body, kind in zip(sent, kinds, strict=True) if kind != "side"]


def fields(launch: LaunchOptions) -> dict[str, Any]:
    return {name: getattr(launch, name) for name in launch.__struct_fields__}


def begins_with(body: bytes, before: bytes) -> bool:
    return body.startswith(before.removesuffix(b"]}"))


async def until_answered(stage: Stage, times: int) -> None:
    """Whenever the model gives the floor back, tell it to go on."""
    for number in range(times):
        await stage.until_ask("completion_result")
        await stage.answer("messageResponse", f"Go on, {number}.")
    await stage.until_ask("completion_result")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_prefix_holds_over_two_hundred_requests(tmp_path: Path, dialect: str) -> None:
    steps = [step(number) for number in range(1, REQUESTS)]
    pauses = sum("calls" not in each and "text" in each for each in steps)

    async def story(stage: Stage) -> None:
        await stage.start("Look at everything.")
        await until_answered(stage, pauses)

    bodies = play(tmp_path, dialect, [*steps, {"text": "Done."}], story, contextWindow=2_000_000)
    assert len(bodies) == REQUESTS
    broken = [place for place, (before, body) in enumerate(pairwise(bodies)) if not begins_with(body, before)]
    assert broken == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_condensing_changes_it_once_and_undoing_brings_it_back(tmp_path: Path, dialect: str) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("Look at everything.")
        await stage.until_ask("completion_result")
        await stage.submit(CondenseContext())
        await stage.until_ask("completion_result")
        await stage.answer("messageResponse", "Go on.")
        await stage.until_ask("completion_result")
        assert not isinstance(await stage.submit(RestoreContext()), Refused)
        await stage.answer("messageResponse", "And now?")
        await stage.until_ask("completion_result")
        assert [event.how for event in stage.events_of(ContextReduced)] == ["condensed", "restored"]

    steps = [step(number) for number in (1, 2, 3, 4, 5)]
    more = [step(number) for number in (6, 7)]
    script = [*steps, {"text": "Seen."}, *more, {"text": "More."}, *more, {"text": "Done."}]
    bodies = play(tmp_path, dialect, script, story)
    broken = [place for place, (before, body) in enumerate(pairwise(bodies)) if not begins_with(body, before)]
    assert broken == [5, 8]
    head = len(bodies[0]) - len("Look at everything.") - 100
    assert bodies[6][: head // 2] == bodies[5][: head // 2], "system prompt and tools stay"
    assert begins_with(bodies[9], bodies[5]), "what was undone is as it was"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_resumed_session_goes_on_with_the_same_bytes(tmp_path: Path, dialect: str) -> None:
    async def first(stage: Stage) -> None:
        await stage.start("Look at everything.")
        await stage.until_ask("completion_result")

    async def second(stage: Stage) -> None:
        await stage.until(lambda event: isinstance(event, State))
        await stage.answer("messageResponse", "Go on.")
        await stage.until_ask("completion_result")

    script = [*(step(number) for number in (1, 2, 3, 11, 5)), {"text": "Seen."}, step(6), {"text": "Done."}]
    bodies = play(tmp_path, dialect, script, first, second)
    assert len(bodies) == len(script)
    assert all(begins_with(body, before) for before, body in pairwise(bodies))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_change_of_mode_or_permissions_is_appended(tmp_path: Path, dialect: str) -> None:
    """A mode that can do less refuses calls; its tools stay in the request."""

    async def story(stage: Stage) -> None:
        await stage.start("Look at everything.")
        await stage.until_ask("completion_result")
        for command in (
            SetPermissionMode(permission_mode=PermissionMode.PLAN),
            SwitchMode(text="ask"),
            SetPermissionMode(permission_mode=PermissionMode.DEFAULT),
            SwitchMode(text="code"),
        ):
            await stage.submit(command)
            await stage.answer("messageResponse", "Go on.")
            await stage.until_ask("completion_result")

    script = [*(step(number) for number in (1, 2)), *[{"text": "Seen."}] * 5]
    bodies = play(tmp_path, dialect, script, story)
    assert len(bodies) == len(script)
    assert all(begins_with(body, before) for before, body in pairwise(bodies))
    assert b"Permission mode: plan. " in bodies[3] and b"Refused in this mode: " in bodies[4]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_request_for_a_summary_begins_like_the_conversation(tmp_path: Path, dialect: str) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("Look at everything.")
        await stage.until_ask("completion_result")
        await stage.submit(CondenseContext(text="the second file"))
        await stage.until_ask("completion_result")

    play(tmp_path, dialect, [*(step(number) for number in (1, 2, 3)), {"text": "Seen."}], story)
    *_, before, asked = [MARK.sub(b"", path.read_bytes()) for path in sorted((tmp_path / "bodies").iterdir())]
    assert begins_with(asked, before)
    assert b"condense_request" in asked and b"Above all, the summary must keep this: the second file" in asked


def test_all_requests_of_a_session_name_the_same_cache(tmp_path: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("Look at everything.")
        await stage.until_ask("completion_result")
        await stage.submit(CondenseContext())
        await stage.until_ask("completion_result")

    play(tmp_path, "responses", [*(step(number) for number in (1, 2, 3)), {"text": "Seen."}], story)
    sent = [json.loads(path.read_bytes()) for path in sorted((tmp_path / "bodies").iterdir())]
    assert len(sent) == 5 and len({body["prompt_cache_key"] for body in sent}) == 1
