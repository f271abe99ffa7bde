"""What hooks say, read from settings, exit codes and JSON as Claude Code's hooks write them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.contracts.hook import Moment, Outcome
from robota.hooks.answers import answer_of_command, answer_of_json, together
from robota.hooks.definitions import CommandHandler, HttpHandler, matches, parse_hooks
from robota.hooks.tool_names import for_hooks, from_hooks
from robota.workspace.filter_process import FilterOutcome

PRE = Moment.PRE_TOOL_USE


def ended(code: int | None, stdout: str = "", stderr: str = "") -> FilterOutcome:
    return FilterOutcome(exit_code=code, stdout=stdout, stderr=stderr)


@pytest.mark.parametrize(
    ("matcher", "name", "meant"),
    [
        ("", "Bash", True),
        ("*", "Bash", True),
        ("Bash", "Bash", True),
        ("Bash", "BashOutput", False),
        ("Edit|Write", "Write", True),
        ("Edit, Write", "Write", True),
        ("mcp__.*__write", "mcp__files__write_all", True),
        ("^No", "Notebook", True),
        ("^No$", "Notebook", False),
        ("(", "anything", False),
    ],
)
def test_matchers(matcher: str, name: str, meant: bool) -> None:
    assert matches(matcher, (name,)) is meant


def test_settings_are_read_and_what_cannot_be_used_is_named() -> None:
    hooks = parse_hooks(
        {
            "PreToolUse": [
                {"matcher": "Bash", "hooks": [{"type": "command", "command": "check", "timeout": 5}]},
                {"hooks": [{"type": "http", "url": "http://127.0.0.1/x", "headers": {"a": "b"}}]},
                {"matcher": "(", "hooks": [{"type": "command", "command": "x"}]},
                {"matcher": "*", "hooks": [{"type": "telepathy"}]},
                "nonsense",
            ],
            "NoSuchEvent": [],
        }
    )
    first, second = hooks.rules
    assert first.handlers == (CommandHandler(command="check", timeout=5),)
    assert isinstance(second.handlers[0], HttpHandler) and second.matcher == ""
    assert [problem.where for problem in hooks.problems] == [
        "PreToolUse[2].matcher",
        "PreToolUse[3].hooks[0]",
        "PreToolUse[4]",
        "NoSuchEvent",
    ]


def test_exit_code_2_blocks_with_stderr_as_the_reason_and_json_cannot_change_that() -> None:
    allow = '{"hookSpecificOutput": {"permissionDecision": "allow"}}'
    assert answer_of_command(PRE, ended(2, allow, "too dangerous\n")) == Outcome(blocked="too dangerous")
    assert answer_of_command(Moment.NOTIFICATION, ended(2, "", "no")) == Outcome()


@pytest.mark.parametrize("outcome", [ended(None), ended(1, "oops"), ended(127), ended(0, "{broken")])
def test_a_crash_or_a_time_out_is_no_decision(outcome: FilterOutcome) -> None:
    assert answer_of_command(PRE, outcome) is None


def test_plain_output_is_context_only_where_it_belongs() -> None:
    assert answer_of_command(Moment.USER_PROMPT_SUBMIT, ended(0, "today is Monday\n")) == Outcome(
        context="today is Monday"
    )
    assert answer_of_command(PRE, ended(0, "just chatting")) == Outcome()


def test_the_json_of_claude_code() -> None:
    said = answer_of_json(
        PRE,
        {
            "systemMessage": "note",
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "ask",
                "permissionDecisionReason": "look twice",
                "updatedInput": {"command": "ls"},
                "additionalContext": "be careful",
            },
        },
    )
    assert said == Outcome(
        decision="ask", reason="look twice", updated_input={"command": "ls"}, context="be careful", messages=("note",)
    )
    assert answer_of_json(Moment.STOP, {"decision": "block", "reason": "tests are red"}).blocked == "tests are red"
    assert answer_of_json(PRE, {"continue": False, "stopReason": "enough"}).stopped == "enough"
    asked = {"hookSpecificOutput": {"decision": {"behavior": "deny"}}}
    assert answer_of_json(Moment.PERMISSION_REQUEST, asked).decision == "deny"


@given(st.lists(st.sampled_from(["allow", "deny", "ask", None]), max_size=5))
def test_the_strictest_of_several_decisions_holds(words: list[str | None]) -> None:
    joined = together(Outcome(decision=word) for word in words)
    expected = next((word for word in ("deny", "ask", "allow") if word in words), None)
    assert joined.decision == expected


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=5,
)
keys = st.sampled_from(
    ["continue", "decision", "reason", "hookSpecificOutput", "permissionDecision", "updatedInput", "systemMessage"]
)


@given(st.sampled_from(list(Moment)), st.dictionaries(keys, st.dictionaries(keys, json_values) | json_values))
def test_no_answer_can_break_us(moment: Moment, said: dict[str, Any]) -> None:
    assert isinstance(answer_of_json(moment, said), Outcome)


def test_arguments_under_the_names_hooks_know(tmp_path: Any) -> None:
    told = for_hooks("Write", {"path": "a.txt", "content": "x"}, tmp_path)
    assert told == {"file_path": str(tmp_path / "a.txt"), "content": "x"}
    assert from_hooks("Write", {"file_path": "b.txt", "content": "y"}) == {"path": "b.txt", "content": "y"}
    assert for_hooks("Bash", {"command": "ls", "timeout": 2}, tmp_path) == {"command": "ls", "timeout": 2000}
    assert from_hooks("Bash", {"command": "ls", "timeout": 2000}) == {"command": "ls", "timeout": 2}
    assert from_hooks("Grep", {"pattern": "x", "glob": "*.py"}) == {"regex": "x", "file_pattern": "*.py"}
