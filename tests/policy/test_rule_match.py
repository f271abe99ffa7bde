"""Whether a rule of a hook speaks of a call, also of one whose arguments cannot be read."""

from pathlib import Path

import pytest

from robota.app.policy import permissions_policy
from robota.config.settings.schema import Permissions
from robota.contracts.tool import ToolCall
from robota.policy.rule_match import matches_call
from robota.tools.registry import builtin_tools, by_name

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
    ],
)
def test_arguments_that_cannot_be_read_do_not_make_it_another_tool(
    rule: str, tool: str, arguments: dict[str, object], matches: bool, tmp_path: Path
) -> None:
    policy = permissions_policy(Permissions(), tmp_path, {"HOME": str(tmp_path)})
    call = ToolCall(id="1", name=tool, input=arguments)
    assert matches_call(rule, TOOLS[tool], call, policy) is matches
