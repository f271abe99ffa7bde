"""The built-in tools as a whole."""

import subprocess
import sys

import pytest

from robota.contracts.tool import AnyTool
from robota.tools.registry import BUILT_IN_IDS, builtin_names, builtin_tools, by_name, schema_of

TOOLS = builtin_tools()


def test_tools_are_found_by_id_label_and_alias() -> None:
    names = by_name(TOOLS)
    assert names["write_to_file"] is names["Write"] is names["write_file"]
    assert names["execute_command"] is names["Bash"]
    assert names["edit_file"] is names["Edit"]


def test_the_table_of_tools_says_what_the_tools_say() -> None:
    assert [tool.name for tool in TOOLS] == list(BUILT_IN_IDS)
    assert builtin_names() == {name: tool.name for name, tool in by_name(TOOLS).items()}


def test_two_tools_cannot_share_an_id() -> None:
    with pytest.raises(ValueError, match="read_file"):
        by_name((*TOOLS, TOOLS[0]))


# Parameters whose name says everything: a description would be paid for in every request.
SAY_EVERYTHING = frozenset(
    {
        *("path", "line", "regex", "command", "url", "action", "what"),
        *("question", "text", "result", "message", "prompt", "include_hidden", "recursive", "replace_all"),
    }
)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: str(tool.name))
def test_a_model_is_told_everything_in_one_schema(tool: AnyTool) -> None:
    schema = schema_of(tool)
    assert "$ref" not in str(schema) and "$defs" not in str(schema)
    assert schema["type"] == "object"
    unexplained = {name for name, field in schema["properties"].items() if not field.get("description")}
    assert unexplained <= SAY_EVERYTHING
    assert len(tool.description()) > 50


def test_loading_the_tools_stays_cheap() -> None:
    code = (
        "import sys; from robota.tools.registry import builtin_tools, schema_of\n"
        "[schema_of(tool) for tool in builtin_tools()]\n"
        "print(*({'difflib', 'tempfile', 'shutil', 'yaml', 'httpx2', 'dataclasses'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
