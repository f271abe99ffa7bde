"""The modes of a task: which tools they have, on which files, and how a project brings its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.contracts.tool import AnyTool, Touches
from robota.policy.modes.mode_file import ModeProblem, parse_modes
from robota.policy.modes.task_modes import allows, goes_beyond, known_modes
from robota.tools.registry import builtin_tools

TOOLS = {tool.name: tool for tool in builtin_tools()}
MODES = known_modes()
WRITE, READ, RUN = TOOLS["write_to_file"], TOOLS["read_file"], TOOLS["execute_command"]

CUSTOM = """
customModes:
  - slug: docs
    name: Docs
    roleDefinition: You write documentation.
    groups:
      - read
      - browser
      - - edit
        - fileRegex: ^docs/
          description: The documentation only
"""


def may(tool: AnyTool, mode: str, *paths: str) -> bool:
    return allows(tool, mode, Touches(paths=paths), MODES) is None


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("code", "read write run talk"),
        ("debug", "read write run talk"),
        ("architect", "read talk"),
        ("ask", "read talk"),
        ("orchestrator", "talk"),
    ],
)
def test_which_tools_a_mode_has(mode: str, expected: str) -> None:
    tools = {"read": READ, "write": WRITE, "run": RUN, "talk": TOOLS["new_task"]}
    assert " ".join(name for name, tool in tools.items() if may(tool, mode, "a.py")) == expected


def test_the_architect_may_write_markdown_only() -> None:
    assert may(WRITE, "architect", "docs/plan.md")
    assert not may(WRITE, "architect", "plan.md", "a.py")
    refusal = allows(WRITE, "architect", Touches(paths=("a.py",)), MODES)
    assert refusal is not None and "Markdown files" in refusal and "'a.py'" in refusal
    assert allows(WRITE, "architect", None, MODES) is None


def test_every_tool_belongs_to_a_group() -> None:
    for tool in TOOLS.values():
        assert allows(tool, "code", Touches(paths=("a",)), MODES) is None


def test_an_unknown_mode_is_named_with_those_there_are() -> None:
    refusal = allows(READ, "poet", None, MODES)
    assert refusal is not None and "'poet'" in refusal and "architect" in refusal


def test_a_mode_of_a_project_replaces_a_built_in_one_as_a_whole() -> None:
    mine = parse_modes(CUSTOM.replace("slug: docs", "slug: code"), ".robota/modes.yaml")
    modes = known_modes(mine)
    assert modes["code"].name == "Docs"
    assert allows(RUN, "code", None, modes) is not None
    assert allows(WRITE, "code", Touches(paths=("docs/x",)), modes) is None
    assert allows(WRITE, "code", Touches(paths=("src/x",)), modes) is not None


def test_the_same_in_json_and_with_a_byte_order_mark() -> None:
    text = '\ufeff{"customModes": [{"slug": "x", "name": "X", "roleDefinition": "r", "groups": ["read"]}]}'
    assert [mode.slug for mode in parse_modes(text, ".roomodes")] == ["x"]
    assert parse_modes("", ".roomodes") == ()


@pytest.mark.parametrize(
    "text",
    [
        CUSTOM.replace("slug: docs", "slug: ../x"),
        CUSTOM.replace("fileRegex: ^docs/", "fileRegex: '['"),
        CUSTOM.replace("fileRegex: ^docs/", "fileRegex: 5"),
        CUSTOM.replace("fileRegex: ^docs/", "fileRegex: '(?!x).*'"),
        CUSTOM.replace("fileRegex: ^docs/", "fileRegex: 'a{1000}{1000}'"),
        CUSTOM.replace("- read", "- everything"),
        CUSTOM.replace("- read", "- edit"),
        CUSTOM.replace("name: Docs", "name: &a Docs").replace("You write documentation.", "*a"),
        CUSTOM + CUSTOM.replace("customModes:", ""),
        "customModes: 5",
        "customModes: [{}]",
        "a: b: c",
        "!!python/object/apply:os.system ['id']",
        "[" * 100_000,
        "x" * 300_000,
    ],
)
def test_a_wrong_file_is_refused_as_a_whole(text: str) -> None:
    with pytest.raises(ModeProblem, match=r"modes\.yaml"):
        parse_modes(text, "modes.yaml")


@given(st.text(max_size=200))
def test_no_text_makes_reading_fail_otherwise(text: str) -> None:
    try:
        parse_modes(text, "x")
    except ModeProblem as problem:
        assert str(problem).startswith("x: ")


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(.*)*(.*)*(.*)*x"])
def test_no_pattern_of_a_mode_takes_for_ever(pattern: str) -> None:
    modes = known_modes(parse_modes(CUSTOM.replace("^docs/", f"'{pattern}'"), "modes.yaml"))
    assert allows(WRITE, "docs", Touches(paths=("a" * 4_000 + "!",)), modes) is not None


def test_a_pattern_that_could_take_for_ever_is_refused_with_the_reason() -> None:
    with pytest.raises(ModeProblem, match=r"fileRegex '.*x.*' of the mode docs cannot be used: look-around.*supported"):
        parse_modes(CUSTOM.replace("^docs/", "'^(?!x)'"), "modes.yaml")


@pytest.mark.parametrize("path", ["docs/\udcff", "docs/漢.txt", "docs/a b"])
def test_any_name_of_a_file_can_be_held_against_a_pattern(path: str) -> None:
    modes = known_modes(parse_modes(CUSTOM, "modes.yaml"))
    allowed = allows(WRITE, "docs", Touches(paths=(path,)), modes) is None
    # What is no text fits no pattern.
    assert allowed == ("\udcff" not in path)


@pytest.mark.parametrize(
    ("mode", "other", "expected"),
    [
        ("ask", "code", False),
        ("architect", "code", False),
        ("code", "ask", True),
        ("code", "architect", True),
        ("architect", "ask", True),
        ("code", "code", False),
        ("unknown", "code", True),
        ("code", "unknown", True),
        ("orchestrator", "ask", True),
        ("code", "orchestrator", False),
    ],
)
def test_a_mode_goes_beyond_another_if_it_has_more_tools_or_files(mode: str, other: str, expected: bool) -> None:
    """One without tools hands out work, and so may have everything done."""
    assert goes_beyond(mode, other, MODES) is expected
