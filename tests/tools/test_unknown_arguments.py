"""An argument that a tool does not have is never dropped in silence."""

from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from robota.contracts.tool import AnyTool, BadArguments
from robota.tools.registry import builtin_tools
from tests.engine.stage import Stage, call, play, tool_results

DONE = {"text": "done"}
EXAMPLES: dict[type, Any] = {str: "x", int: 1, bool: True, float: 1.0}


def plain_type(declared: Any) -> Any:
    """A type without the description that the model reads."""
    return get_args(declared)[0] if get_origin(declared) is Annotated else declared


def is_plain(tool: AnyTool) -> bool:
    """Whether a valid call can be made up from the types of its parameters alone."""
    return all(plain_type(field.type) in EXAMPLES for field in msgspec.structs.fields(tool.params) if field.required)


def valid_call(tool: AnyTool) -> dict[str, Any]:
    fields = msgspec.structs.fields(tool.params)
    return {field.encode_name: EXAMPLES[plain_type(field.type)] for field in fields if field.required}


TOOLS = [tool for tool in builtin_tools() if is_plain(tool)]
OPTIONAL = [
    (tool, field.encode_name)
    for tool in TOOLS
    for field in msgspec.structs.fields(tool.params)
    if not field.required and len(field.encode_name) > 3
]


def without_a_letter(name: str, at: int) -> str:
    return name[:at] + name[at + 1 :]


def with_a_letter_twice(name: str, at: int) -> str:
    return name[:at] + name[at] + name[at:]


def with_two_letters_swapped(name: str, at: int) -> str:
    return name[:at] + name[at : at + 2][::-1] + name[at + 2 :]


def in_camel_case(name: str, at: int) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))


@given(st.sampled_from(OPTIONAL), st.integers(0, 30), st.data())
def test_a_misspelt_optional_argument_is_refused_and_the_right_name_is_said(
    chosen: tuple[AnyTool, str], number: int, data: st.DataObject
) -> None:
    tool, name = chosen
    ways = [with_a_letter_twice, with_two_letters_swapped, in_camel_case]
    # "imit" can be guessed, "lim" cannot: of a short name every letter counts.
    ways += [without_a_letter] if len(name) > 4 else []
    written = data.draw(st.sampled_from(ways))(name, number % len(name))
    assume(written not in tool.parameters)
    with pytest.raises(BadArguments, match=r"Did you mean '.*Nothing was done.*Its parameters are") as refused:
        tool.decode({**valid_call(tool), written: "1"})
    assert f"{written!r}" in str(refused.value)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_name_that_is_like_no_parameter_is_told_and_the_call_stays_valid(tool: AnyTool) -> None:
    arguments = {**valid_call(tool), "zzzzzzzzzzzz": 1}
    assert tool.decode(arguments) == tool.decode(valid_call(tool))
    assert tool.unknown_arguments(arguments) == ("zzzzzzzzzzzz",)
    assert tool.unknown_arguments(valid_call(tool)) == ()


def test_the_model_learns_which_argument_was_ignored_and_which_was_meant(workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\ntwo\n")
    calls = [call("read_file", path="a.txt", colour="red"), call("read_file", path="a.txt", ofset=2)]

    async def check(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        ran, refused = tool_results(stage)
        assert "one" in ran.content and "does not have the parameters 'colour'" in ran.content and not ran.is_error
        assert refused.is_error and "Did you mean 'offset'" in refused.content and "two" not in refused.content

    play(workspace, [{"calls": calls}, DONE], check)


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("read_file", {}, "'path' is missing"),
        ("read_file", {"path": "a", "offset": "x"}, "'offset' must be a whole number, not a text"),
        ("execute_command", {"command": "ls", "timeout": 700}, "'timeout' must be a number of at most 600. Correct"),
        (
            "background_process",
            {"action": "fly"},
            "'action' cannot be 'fly'. Choose one of: forward, list, read, send, start, stop. Correct",
        ),
        ("ask_followup_question", {"question": "?", "follow_up": [{}]}, "'text' is missing in 'follow_up[0]'"),
        (
            "ask_followup_question",
            {"question": "?", "follow_up": []},
            "'follow_up' must be a list with at least 1 entries",
        ),
        ("read_file", {"path": "a", "offset": -1}, "'offset' must be a whole number of at least"),
    ],
)
def test_what_is_wrong_is_said_in_words(name: str, arguments: dict[str, Any], told: str) -> None:
    [tool] = [tool for tool in builtin_tools() if tool.name == name]
    with pytest.raises(BadArguments) as refused:
        tool.decode(arguments)
    assert told in str(refused.value) and "$" not in str(refused.value) and "`" not in str(refused.value)
