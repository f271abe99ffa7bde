"""What the tools cost in every request: description and schema as sent, a token for every four characters."""

import re

import msgspec
import pytest

from robota.app.tools import session_tools
from robota.providers.chunks import EditFormat
from robota.tools.command.background_process import MAX_WAIT_S
from robota.tools.command.execute_command import DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S
from robota.tools.command.read_command_output import DEFAULT_BYTES
from robota.tools.command.report import MAX_CHARACTERS as COMMAND_CHARACTERS
from robota.tools.files.glob import MAX_PATHS
from robota.tools.files.list_files import MAX_ENTRIES
from robota.tools.files.read_file import DEFAULT_LINES
from robota.tools.files.search_files import MAX_RESULTS
from robota.tools.registry import builtin_tools, by_name, schema_of
from robota.tools.web.web_fetch import MAX_CHARACTERS as PAGE_CHARACTERS

TOOLS = by_name(builtin_tools())
MAX_TOGETHER = 3_600
# The budget of each tool. More needs a reason: every request of every session pays for it.
BUDGETS = {
    "read_file": 230,
    "list_files": 150,
    "glob": 150,
    "search_files": 340,
    "write_to_file": 150,
    "edit_file": 260,
    "apply_diff": 270,
    "apply_patch": 270,
    "execute_command": 380,
    "read_command_output": 210,
    "background_process": 360,
    "web_fetch": 120,
    "update_todo_list": 110,
    "ask_followup_question": 185,
    "attempt_completion": 105,
    "new_task": 165,
    "switch_mode": 90,
}


def tokens(name: str) -> float:
    tool = TOOLS[name]
    return (len(tool.description()) + len(msgspec.json.encode(schema_of(tool)))) / 4


@pytest.mark.parametrize("name", BUDGETS)
def test_a_tool_stays_within_its_budget(name: str) -> None:
    assert 0.8 * BUDGETS[name] < tokens(name) <= BUDGETS[name]


def test_every_tool_has_a_budget() -> None:
    assert BUDGETS.keys() == {tool.name for tool in TOOLS.values()}


@pytest.mark.parametrize("form", EditFormat)
def test_the_tools_of_a_request_stay_within_their_budget(form: EditFormat) -> None:
    offered = {tool.name for tool in TOOLS.values() if tool.edit_format in (None, form)}
    assert sum(map(tokens, offered)) <= MAX_TOGETHER


@pytest.mark.parametrize("name", BUDGETS)
def test_parameters_are_flat_and_have_no_null(name: str) -> None:
    """Only the suggested answers of a question are objects."""
    properties = schema_of(TOOLS[name])["properties"]
    assert "null" not in str(properties) and "None" not in str(properties)
    assert [key for key, shape in properties.items() if "object" in str(shape)] == (
        ["follow_up"] if name == "ask_followup_question" else []
    )


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("read_file", [DEFAULT_LINES]),
        ("list_files", [MAX_ENTRIES]),
        ("glob", [MAX_PATHS]),
        ("search_files", [MAX_RESULTS]),
        ("execute_command", [COMMAND_CHARACTERS, DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S]),
        ("read_command_output", [DEFAULT_BYTES]),
        ("background_process", [MAX_WAIT_S]),
        ("web_fetch", [PAGE_CHARACTERS]),
    ],
)
def test_the_limits_that_are_told_are_those_that_hold(name: str, limits: list[int]) -> None:
    told = TOOLS[name].description() + str(schema_of(TOOLS[name]))
    numbers = {int(number.replace(",", "")) for number in re.findall(r"(?<![\w.])\d[\d,]*\d(?!\w)", told)}
    assert set(limits) <= numbers


def test_parameters_of_the_sandbox_are_offered_only_where_there_is_one() -> None:
    for has_sandbox in (True, False):
        specs = {spec.name: spec.schema for spec in session_tools(None, has_sandbox=has_sandbox).specs}
        offered = specs["execute_command"]["properties"].keys() & {"without_sandbox", "opened"}
        assert offered == ({"without_sandbox", "opened"} if has_sandbox else set())
