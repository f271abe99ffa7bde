"""Prompts of servers are slash commands: offered, given arguments, and what they say goes to the model."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.extensions.mcp.remote_prompt import MissingArgument, PromptParameter, RemotePrompt, read_arguments_of
from tests.cli.scripts import sessions
from tests.extensions.mcp.setup import DONE, PlainServer, configure, run_with, sdk_entry
from tests.harness.cli import Robota

REVIEW = RemotePrompt(
    name="review",
    parameters=(PromptParameter(name="file", is_required=True), PromptParameter(name="focus")),
)


def test_a_prompt_is_filled_by_its_server_and_sent(robota: Robota) -> None:
    (robota.workspace / "README.md").write_text("not to be read for a server\n")
    configure(robota, {"sdk": sdk_entry()}, [DONE])
    done = robota("-p", "/mcp__sdk__review main.py")
    assert done.code == 0, done.stderr
    log = (sessions(robota)[-1] / "log.jsonl").read_text()
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


def test_a_server_without_prompts_is_used_for_its_tools(robota: Robota, tmp_path: Path) -> None:
    done = run_with(robota, {"plain": PlainServer(tmp_path).entry()}, [DONE])
    assert done.code == 0


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
def test_words_become_values(typed: str, values: dict[str, str]) -> None:
    assert read_arguments_of(REVIEW, typed) == values


@given(st.text())
def test_any_words_are_values_or_missing(typed: str) -> None:
    try:
        assert "file" in read_arguments_of(REVIEW, typed)
    except MissingArgument as missing:
        assert str(missing) == "file"
