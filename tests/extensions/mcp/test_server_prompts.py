"""Prompts of MCP servers as slash commands: listed, filled with arguments, and sent to the model."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.extensions.mcp.remote_prompt import (
    MAX_PROMPTS,
    MissingArgument,
    PromptParameter,
    RemotePrompt,
    parse_prompt_arguments,
)
from tests.cli.scripts import sessions
from tests.engine.stage import Stage
from tests.extensions.mcp.setup import DONE, WRITE_NOTE, PlainServer, configure, play_story, sdk_entry
from tests.harness.cli import Robota
from tests.harness.session_log import log_text

REVIEW = RemotePrompt(
    name="review",
    parameters=(PromptParameter(name="file", is_required=True), PromptParameter(name="focus")),
)


def test_a_prompt_is_filled_by_its_server_and_sent(robota: Robota) -> None:
    (robota.workspace / "README.md").write_text("not to be read for a server\n")
    configure(robota, {"sdk": sdk_entry()}, [DONE])
    done = robota("-p", "/mcp__sdk__review main.py")
    assert done.code == 0, done.stderr
    log = log_text(sessions(robota)[-1])
    assert "Review main.py for bugs." in log and "not to be read" not in log


def test_a_prompt_that_lacks_an_argument_is_not_sent(robota: Robota) -> None:
    configure(robota, {"sdk": sdk_entry()}, [DONE])
    refused = robota("-p", "/mcp__sdk__review")
    assert refused.code != 0
    assert "it needs a value for file. Usage: /mcp__sdk__review <file> [focus]" in refused.stderr


def test_an_unknown_prompt_is_an_error(robota: Robota) -> None:
    configure(robota, {"sdk": sdk_entry()}, [DONE])
    refused = robota("-p", "/mcp__sdk__revue main.py")
    assert (
        refused.code != 0 and "There is no command /mcp__sdk__revue. Did you mean /mcp__sdk__review?" in refused.stderr
    )


MANY = [{"name": f"p{number}", "description": "x" * 310} for number in range(300)]
PROMPTS = {
    "a list that never comes": None,
    "nonsense": [{"name": 3}],
    "no list": "prompts",
    "too many": MANY,
    "unseen characters": [{"name": "a\x1b[2J\u202eb", "description": "c\x1b[31md", "arguments": [{"name": "e\u200b"}]}],
}


@pytest.mark.parametrize("prompts", PROMPTS)
def test_invalid_prompts_of_a_server_do_not_affect_its_tools(robota: Robota, tmp_path: Path, prompts: str) -> None:
    server = PlainServer(tmp_path)
    configure(robota, {"plain": server.entry(prompts=PROMPTS[prompts])}, [WRITE_NOTE, DONE])
    done = robota("-p", "go", "--allowed-tools", "mcp__plain")
    assert done.code == 0 and server.was_called, done.stderr


def test_prompts_are_limited_and_shown_without_invisible_characters(workspace: Path, tmp_path: Path) -> None:
    hostile = PROMPTS["unseen characters"] or []

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        prompts = stage.opened.services.prompts
        assert prompts is not None
        first, *rest = prompts.commands()
        assert first.name == "mcp__plain__a__2J_b" and "\x1b" not in first.description + first.argument_hint
        assert len(rest) == MAX_PROMPTS - 1 and all(len(each.description) < 310 for each in rest)

    entry = PlainServer(tmp_path).entry(prompts=[*hostile, *MANY])
    play_story(workspace, {"plain": entry}, [DONE], story)


@pytest.mark.parametrize(
    ("typed", "values"),
    [
        ("a.py", {"file": "a.py"}),
        ("a.py speed and memory", {"file": "a.py", "focus": "speed and memory"}),
        ('"a b.py" speed', {"file": "a b.py", "focus": "speed"}),
        ("focus=speed a.py", {"file": "a.py", "focus": "speed"}),
        ("it's", {"file": "it's"}),
    ],
)
def test_prompt_arguments_are_parsed(typed: str, values: dict[str, str]) -> None:
    assert parse_prompt_arguments(REVIEW, typed) == values


@given(st.text())
def test_any_prompt_arguments_are_parsed_or_reported_missing(typed: str) -> None:
    try:
        assert "file" in parse_prompt_arguments(REVIEW, typed)
    except MissingArgument as missing:
        assert str(missing) == "file"
