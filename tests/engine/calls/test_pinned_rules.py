"""Rules for commands whose meaning is in a file: they hold while it is the same, and a changed one shows its diff."""

from pathlib import Path

import pytest

from robota.protocol.commands import AskResponse
from robota.protocol.message import Message
from tests.engine.stage import Stage, call, play, tool_results

DONE = {"text": "done"}
pytestmark = pytest.mark.usefixtures("bubblewrap")
CHANGES_ITSELF_LATER = "test:\n\t@if [ -e ran ]; then echo evil > Makefile; else touch ran; fi\n"


def run(command: str) -> dict[str, object]:
    return {"calls": [call("execute_command", command=command)]}


def write(path: str, text: str) -> dict[str, object]:
    return {"calls": [call("write_to_file", path=path, content=text)]}


async def allow_always(stage: Stage, scope: str = "session", index: int = 0) -> Message:
    ask = await stage.until_ask("command")
    assert ask.verdict is not None
    rules = ask.verdict.suggestions[index].rules
    await stage.submit(AskResponse(ask_response="yesButtonClicked", ts=ask.ts, grant=rules, grant_scope=scope))
    return ask


def test_a_rule_for_make_holds_while_the_makefile_is_the_same(workspace: Path) -> None:
    (workspace / "Makefile").write_text(CHANGES_ITSELF_LATER)

    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await allow_always(stage)
        assert ask.verdict is not None
        assert ask.verdict.suggestions[0].shown == "Bash(make test)"
        assert ask.verdict.suggestions[0].covers == "exactly this command, while Makefile is unchanged"
        await stage.until_ask("tool")
        assert "Makefile cannot be changed by this command" in tool_results(stage)[2].content
        assert (workspace / "Makefile").read_text() == CHANGES_ITSELF_LATER
        await stage.answer("yesButtonClicked")
        again = await stage.until_ask("command")
        assert again.verdict is not None and "Makefile changed" in again.verdict.reason
        (difference,) = again.verdict.changed
        assert [line.text for line in difference.hunks[0].lines if line.text.strip() == "@echo other"]
        await stage.answer("noButtonClicked")
        await stage.until_ask("completion_result")

    read = {"calls": [call("read_file", path="Makefile")]}
    change = write("Makefile", "test:\n\t@echo other\n")
    play(workspace, [read, run("make test"), run("make test"), change, run("make test"), DONE], story)


def test_a_rule_that_was_saved_shows_the_difference_in_the_next_session(workspace: Path) -> None:
    script = workspace / "check.sh"
    script.write_text("echo one\n")

    kept: list[str] = []

    async def first(stage: Stage) -> None:
        await stage.start()
        ask = await allow_always(stage, scope="user")
        assert ask.verdict is not None
        kept.extend(ask.verdict.suggestions[0].rules)
        await stage.until_ask("completion_result")

    async def unchanged(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert "one" in tool_results(stage)[0].content

    async def changed(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("command")
        assert ask.verdict is not None
        assert [line.text for line in ask.verdict.changed[0].hunks[0].lines] == ["echo one", "echo two"]

    turns = [run("bash check.sh"), DONE]
    play(workspace, turns, first)
    play(workspace, turns, unchanged, allowed_tools=tuple(kept))
    script.write_text("echo two\n")
    play(workspace, turns, changed, allowed_tools=tuple(kept))


def test_the_family_of_a_module_is_allowed_but_not_with_a_shadow_of_a_standard_module(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await allow_always(stage, index=1)
        assert ask.verdict is not None
        assert ask.verdict.suggestions[1].shown == "Bash(python3 -m compileall *)"
        await stage.until_ask("tool")
        await stage.answer("yesButtonClicked")
        ask = await stage.until_ask("command")
        assert ask.verdict is not None and "struct.py" in ask.verdict.reason

    play(
        workspace,
        [
            run("python3 -m compileall -q ."),
            run("python3 -m compileall ."),
            write("struct.py", "print('evil')"),
            run("python3 -m compileall ."),
        ],
        story,
    )


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("cat x | python3", "it runs what it reads from its input"),
        ("echo x | xargs bash", "what it runs cannot be told from its words"),
        ("ssh host id", "what it runs cannot be told from its words"),
        ("for i in 1 2; do make; done", "it cannot be checked word by word"),
        ("cp x y && make test", "a command before it creates files, which may change what it means"),
        ("rm -r /", "it is asked about every time"),
    ],
)
def test_where_no_rule_is_offered_the_reason_is_given(workspace: Path, command: str, why: str) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("command")
        assert ask.verdict is not None and ask.verdict.suggestions == ()
        assert ask.verdict.no_rule == why

    play(workspace, [run(command)], story)
