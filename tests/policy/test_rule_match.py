"""Whether a rule of a hook speaks of a call, also of one whose arguments cannot be read."""

from pathlib import Path

import msgspec
import pytest

from robota.app.policy import permissions_policy
from robota.config.settings.schema import Permissions
from robota.contracts.tool import AnyTool, ToolCall
from robota.contracts.verdict import Decision, Subject
from robota.policy.rule_match import matches_call
from robota.protocol.permission_mode import PermissionMode
from robota.tools.registry import builtin_tools, by_name, schema_of

TOOLS = by_name(builtin_tools())


@pytest.mark.parametrize(
    ("rule", "tool", "arguments", "matches"),
    [
        ("Bash(rm *)", "read_file", {"wrong": 1}, False),
        ("Bash(rm *)", "execute_command", {"wrong": 1}, True),
        ("Bash(rm *)", "execute_command", {"command": "ls"}, False),
        ("Bash(rm *)", "execute_command", {"command": "rm x"}, True),
        ("Read(secrets/**)", "read_file", {"wrong": 1}, True),
        ("Edit(src/**)", "read_file", {"wrong": 1}, False),
        ("Edit(src/**)", "write_to_file", {"wrong": 1}, True),
        ("mcp__server", "read_file", {"wrong": 1}, False),
        ("*", "read_file", {"wrong": 1}, True),
        ("Bash(rm *)", "background_process", {"wrong": 1}, True),
        ("Bash(rm *)", "background_process", {"action": "start", "command": "rm x"}, True),
        ("BackgroundProcess(rm *)", "execute_command", {"command": "rm x"}, False),
    ],
)
def test_arguments_that_cannot_be_read_do_not_make_it_another_tool(
    rule: str, tool: str, arguments: dict[str, object], matches: bool, tmp_path: Path
) -> None:
    policy = permissions_policy(Permissions(), tmp_path, {"HOME": str(tmp_path)})
    call = ToolCall(id="1", name=tool, input=arguments)
    assert matches_call(rule, TOOLS[tool], call, policy) is matches


# The arguments of a call where a text for every required parameter is none.
ARGUMENTS: dict[str, dict[str, object]] = {
    "background_process": {"action": "start", "command": "make serve"},
    "code": {"what": "definition", "symbol": "load"},
    "web_fetch": {"url": "https://docs.example/"},
    "ask_followup_question": {"question": "Which?", "follow_up": [{"text": "this"}]},
}


def a_call(tool: AnyTool) -> Subject:
    """The subject of some call of the tool."""
    arguments = ARGUMENTS.get(tool.name) or dict.fromkeys(schema_of(tool).get("required", ()), "x")
    params = tool.decode(arguments)
    return Subject(
        tool=tool.name, label=tool.label, effects=tool.effects_of(params), touches=tool.touches(params), mode=""
    )


@pytest.mark.parametrize(
    ("tool", "name"),
    [(tool, name) for tool in builtin_tools() for name in dict.fromkeys((tool.name, tool.label, *tool.aliases))],
    ids=lambda each: getattr(each, "name", each),
)
def test_a_deny_rule_with_any_name_of_a_tool_forbids_its_calls(tool: AnyTool, name: str, tmp_path: Path) -> None:
    """Even where everything else is allowed; and the model is not offered the tool."""
    policy = permissions_policy(Permissions(deny=(name,)), tmp_path, {"HOME": str(tmp_path)})
    verdict = policy.judge(a_call(tool), PermissionMode.BYPASS, ())
    assert (verdict.decision, verdict.rule) == (Decision.DENY, name)
    assert policy.forbids(tool)


@pytest.mark.parametrize("command", ["rm -r build", "x=$(rm -r build)"])
def test_a_rule_about_background_commands_is_about_their_words(command: str, tmp_path: Path) -> None:
    tool = TOOLS["background_process"]
    params = tool.decode({"action": "start", "command": command})
    subject = msgspec.structs.replace(a_call(tool), touches=tool.touches(params))
    for deny, decision in (("BackgroundProcess(rm *)", Decision.DENY), ("BackgroundProcess(make *)", Decision.ALLOW)):
        policy = permissions_policy(Permissions(deny=(deny,)), tmp_path, {"HOME": str(tmp_path)})
        assert policy.judge(subject, PermissionMode.BYPASS, ()).decision is decision
        assert not policy.forbids(tool)
