"""What the tools cost in every request: description and schema as sent, a token for every four characters."""

import re

import msgspec
import pytest

from robota.app.tools import session_tools
from robota.tools.agents.agent_wait import DEFAULT_S as AGENT_WAIT_S
from robota.tools.command.execute_command import DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S
from robota.tools.command.read_command_output import DEFAULT_BYTES
from robota.tools.command.report import MAX_CHARACTERS as COMMAND_CHARACTERS
from robota.tools.files.glob import MAX_PATHS
from robota.tools.files.list_files import MAX_ENTRIES
from robota.tools.files.read_file import DEFAULT_LINES
from robota.tools.files.search_files import MAX_RESULTS
from robota.tools.registry import builtin_tools, by_name, schema_of
from robota.tools.web.web_fetch import MAX_CHARACTERS as PAGE_CHARACTERS
from robota.workspace.web.fetch import MAX_BYTES
from robota.workspace.web.fetch import TIMEOUT_S as FETCH_S

TOOLS = by_name(builtin_tools())
# Of one request, in the wire format that costs most.
MAX_TOGETHER = 3_600
# The budget of each tool. More needs a reason: every request of every session pays for it.
BUDGETS = {
    "read_file": 190,
    "list_files": 140,
    "glob": 160,
    "search_files": 280,
    "symbols": 65,
    "code": 120,
    "write_to_file": 145,
    "edit_file": 250,
    "apply_diff": 270,
    "apply_patch": 270,
    "execute_command": 345,
    "read_command_output": 200,
    "background_process": 350,
    "web_fetch": 110,
    "update_todo_list": 105,
    "ask_followup_question": 165,
    "attempt_completion": 100,
    "new_task": 145,
    "switch_mode": 85,
    "present_plan": 70,
    "agent": 300,
    "agent_send": 80,
    "agent_wait": 95,
    "agent_stop": 50,
}


def tokens(name: str) -> float:
    tool = TOOLS[name]
    return (len(tool.description()) + len(msgspec.json.encode(schema_of(tool)))) / 4


@pytest.mark.parametrize("name", BUDGETS)
def test_a_tool_stays_within_its_budget(name: str) -> None:
    assert 0.8 * BUDGETS[name] < tokens(name) <= BUDGETS[name]


def test_every_tool_has_a_budget() -> None:
    assert BUDGETS.keys() == {tool.name for tool in TOOLS.values()}


@pytest.mark.parametrize("name", BUDGETS)
def test_parameters_are_flat_and_have_no_null(name: str) -> None:
    """Only the suggested answers of a question are objects."""
    properties = schema_of(TOOLS[name])["properties"]
    assert "null" not in str(properties) and "None" not in str(properties)
    assert [key for key, shape in properties.items() if "object" in str(shape)] == (
        ["follow_up"] if name == "ask_followup_question" else []
    )


# Numbers in texts of tools, and where they come from. The bounds in a schema are enforced as they stand.
NUMBERS: dict[str, set[int]] = {
    "read_file": {DEFAULT_LINES},
    "list_files": {MAX_ENTRIES},
    "glob": {MAX_PATHS},
    "search_files": {MAX_RESULTS},
    "apply_diff": {12},  # a line of its example
    "execute_command": {COMMAND_CHARACTERS, DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S},
    "read_command_output": {DEFAULT_BYTES},
    "agent_wait": {AGENT_WAIT_S},
    "ask_followup_question": {2, 4},  # 4 is a bound of the schema
    "web_fetch": {PAGE_CHARACTERS, MAX_BYTES // 1_000_000, round(FETCH_S)},
}


def words_in(schema: object) -> str:
    if isinstance(schema, dict):
        own = schema.get("description", "")
        return "\n".join([own if isinstance(own, str) else "", *map(words_in, schema.values())])
    return "\n".join(map(words_in, schema)) if isinstance(schema, list) else ""


def numbers_in(text: str) -> set[int]:
    """The numbers that a text tells, without 0 and 1, versions and addresses."""
    found = re.findall(r"(?<![\w.])\d(?:[\d,]*\d)?(?![\w.]*\w)", text)
    return {int(number.replace(",", "")) for number in found} - {0, 1}


@pytest.mark.parametrize("name", BUDGETS)
def test_every_number_that_is_told_is_the_one_that_holds(name: str) -> None:
    told = f"{TOOLS[name].description()}\n{words_in(schema_of(TOOLS[name]))}"
    assert numbers_in(told) == NUMBERS.get(name, set())


def test_parameters_of_the_sandbox_are_offered_only_where_there_is_one() -> None:
    for has_sandbox in (True, False):
        specs = {spec.name: spec.schema for spec in session_tools(None, has_sandbox=has_sandbox).specs}
        offered = specs["execute_command"]["properties"].keys() & {"without_sandbox", "opened"}
        assert offered == ({"without_sandbox", "opened"} if has_sandbox else set())
