"""What hooks say, read from settings, exit codes and JSON as Claude Code's hooks write them."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.contracts.hook import HookEvent, HookResult
from robota.contracts.tool import AnyTool, HookNames
from robota.hooks.claude_format import arguments_for_hooks, arguments_from_hooks
from robota.hooks.definitions import CommandHandler, HttpHandler, matches, parse_hooks, timeout_of
from robota.hooks.results import HookFailed, merge_results, parse_command_result, parse_result
from robota.tools.registry import builtin_tools, by_name
from robota.workspace.process.filter_process import FilterOutcome

PRE = HookEvent.PRE_TOOL_USE


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


@pytest.mark.parametrize("matcher", ["(a+)+$", "^(a|a)*$", "^a*a*a*a*a*a*$", "(?:(?:a*)*)*b", "(^a+a+)$"])
def test_no_matcher_takes_for_ever(matcher: str) -> None:
    """A matcher comes from a file, and the names of tools from a server."""
    assert not parse_hooks(
        {"PreToolUse": [{"matcher": matcher, "hooks": [{"type": "command", "command": "x"}]}]}
    ).problems
    assert not matches(matcher, ("a" * 40 + "!", "a" * 5_000 + "!"))


@pytest.mark.parametrize(
    ("matcher", "meant"), [("^(?!mcp__).*$", False), ("mcp__(a|b)__.*", True), ("(mcp__)+(a|b)*__.*t.*", True)]
)
def test_ordinary_patterns_mean_what_they_meant(matcher: str, meant: bool) -> None:
    assert matches(matcher, ("mcp__a__tool",)) is meant


def test_a_matcher_that_nothing_reads_in_time_is_told() -> None:
    hooks = parse_hooks({"Stop": [{"matcher": r"(?!x)(a+)+\1", "hooks": [{"type": "command", "command": "x"}]}]})
    assert [problem.where for problem in hooks.problems] == ["Stop[0].matcher"]
    assert "look-around" in hooks.problems[0].reason


def test_settings_are_read_and_what_cannot_be_used_is_named() -> None:
    hooks = parse_hooks(
        {
            "PreToolUse": [
                {"matcher": "Bash", "hooks": [{"type": "command", "command": "check", "timeout": 5}]},
                {"hooks": [{"type": "http", "url": "http://127.0.0.1/x", "headers": {"a": "b"}}]},
                {"matcher": "(", "hooks": [{"type": "command", "command": "x"}]},
                {"matcher": "*", "hooks": [{"type": "telepathy"}, {"type": "command", "command": "x", "timeout": 0}]},
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
        "PreToolUse[3].hooks[1]",
        "PreToolUse[4]",
        "NoSuchEvent",
    ]


def test_exit_code_2_blocks_with_stderr_as_the_reason_and_json_cannot_change_that() -> None:
    allow = '{"hookSpecificOutput": {"permissionDecision": "allow"}}'
    assert parse_command_result(PRE, ended(2, allow, "too dangerous\n")) == HookResult(blocked="too dangerous")
    for event in (HookEvent.NOTIFICATION, HookEvent.PERMISSION_REQUEST):
        assert parse_command_result(event, ended(2, "", "no")) == HookResult(messages=("no",))


@pytest.mark.parametrize("outcome", [ended(None), ended(1, "oops"), ended(127), ended(0, "{broken")])
def test_a_crash_or_a_time_out_is_no_decision(outcome: FilterOutcome) -> None:
    with pytest.raises(HookFailed):
        parse_command_result(PRE, outcome)


def test_json_decides_also_where_the_exit_code_is_not_0() -> None:
    said = '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}'
    assert parse_command_result(PRE, ended(1, said)).decision == "deny"


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (ended(0, "making it\n/some/where\n"), HookResult(output="making it\n/some/where")),
        (ended(0), HookResult(blocked="it printed no path")),
        (ended(1, "/some/where", "no room"), HookResult(blocked="no room")),
        (ended(2, "", "no room"), HookResult(blocked="no room")),
        (ended(None), HookResult(blocked="it was killed by a signal")),
    ],
)
def test_the_hook_for_a_new_worktree_prints_where_it_is_or_has_failed(
    outcome: FilterOutcome, expected: HookResult
) -> None:
    assert parse_command_result(HookEvent.WORKTREE_CREATE, outcome) == expected


@pytest.mark.parametrize(
    ("event", "own", "expected"),
    [
        (PRE, None, 600),
        (PRE, 5, 5),
        (HookEvent.USER_PROMPT_SUBMIT, None, 30),
        (HookEvent.SESSION_END, None, 1.5),
        (HookEvent.SESSION_END, 10, 10),
        (HookEvent.SESSION_END, 1000, 60),
    ],
)
def test_time_limits(event: HookEvent, own: float | None, expected: float) -> None:
    assert timeout_of(CommandHandler(command="x", timeout=own), event) == expected


def test_plain_output_is_context_only_where_it_belongs() -> None:
    assert parse_command_result(HookEvent.USER_PROMPT_SUBMIT, ended(0, "today is Monday\n")) == HookResult(
        context="today is Monday"
    )
    assert parse_command_result(PRE, ended(0, "just chatting")) == HookResult()


def test_the_json_of_claude_code() -> None:
    said = parse_result(
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
    assert said == HookResult(
        decision="ask", reason="look twice", updated_input={"command": "ls"}, context="be careful", messages=("note",)
    )
    assert parse_result(HookEvent.STOP, {"decision": "block", "reason": "tests are red"}).blocked == "tests are red"
    assert parse_result(PRE, {"continue": False, "stopReason": "enough"}).stopped == "enough"
    asked = {"hookSpecificOutput": {"decision": {"behavior": "deny"}}}
    assert parse_result(HookEvent.PERMISSION_REQUEST, asked).decision == "deny"


@given(st.lists(st.sampled_from(["allow", "deny", "ask", "defer", None]), max_size=5))
def test_the_strictest_of_several_decisions_holds(words: list[str | None]) -> None:
    joined = merge_results(HookResult(decision=word, reason=word or "", updated_input={"by": word}) for word in words)
    expected = next((word for word in ("deny", "ask", "defer", "allow") if word in words), None)
    assert (joined.decision, joined.reason) == (expected, expected or "")
    assert joined.updated_input is None or expected != "deny"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=5,
)
COMMON_KEYS = ("continue", "decision", "reason", "hookSpecificOutput", "systemMessage", "stopReason")
SPECIAL_KEYS = ("permissionDecision", "updatedInput", "behavior", "interrupt", "hookEventName", "updatedToolOutput")
keys = st.sampled_from([*COMMON_KEYS, *SPECIAL_KEYS])


@given(st.sampled_from(list(HookEvent)), st.dictionaries(keys, st.dictionaries(keys, json_values) | json_values))
def test_no_answer_can_break_us(event: HookEvent, said: dict[str, Any]) -> None:
    with suppress(HookFailed):
        assert isinstance(merge_results([parse_result(event, said)]), HookResult)


FOREIGN = msgspec.structs.replace(builtin_tools()[0], name="mcp__files__read", hook_names=HookNames())


def test_arguments_under_the_names_hooks_know(tmp_path: Path) -> None:
    tools = by_name(builtin_tools())
    write, grep = tools["Write"], tools["Grep"]
    told = arguments_for_hooks(write, {"path": "../x/a.txt", "content": "x"}, tmp_path / "y")
    assert told == {"file_path": str(tmp_path / "x" / "a.txt"), "content": "x"}
    assert arguments_from_hooks(write, {"file_path": "b.txt", "content": "y"}, tmp_path) == {
        "path": "b.txt",
        "content": "y",
    }
    assert arguments_from_hooks(write, {"file_path": "/etc/passwd"}, tmp_path) == {"path": "/etc/passwd"}
    bash = {"command": "ls", "timeout": 2, "cwd": "src"}
    assert arguments_for_hooks(tools["Bash"], bash, tmp_path) == {
        "command": "ls",
        "timeout": 2000,
        "cwd": str(tmp_path / "src"),
    }
    assert arguments_for_hooks(FOREIGN, {"path": "a", "timeout": 2}, tmp_path) == {"path": "a", "timeout": 2}
    assert arguments_from_hooks(grep, {"pattern": "x", "glob": "*.py"}, tmp_path) == {
        "regex": "x",
        "file_pattern": "*.py",
    }


@given(st.sampled_from(builtin_tools()), st.data())
def test_what_a_hook_leaves_alone_comes_back_as_it_was(tool: AnyTool, data: st.DataObject) -> None:
    fields = msgspec.structs.fields(tool.params)
    values = {field.name: data.draw(st.sampled_from(["a", "a/b", "a b"]), field.name) for field in fields}
    root = Path("/some/where")
    assert arguments_from_hooks(tool, arguments_for_hooks(tool, values, root), root) == values
