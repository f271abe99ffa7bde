"""What the model reads is plain, idiomatic English: short sentences, usual words, nothing of libraries or shells."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from robota.contracts.tool import AnyTool
from robota.knowledge.instructions.session_instructions import FOLLOWED
from robota.knowledge.memory.session_memory import ADDED, RECALLED, REMEMBERED, TAKEN_BACK
from robota.tools.registry import builtin_tools, schema_of

SOURCE = Path(__file__).parents[2] / "src/robota"
PAGES = sorted(SOURCE.rglob("*.md"))
MOST_WORDS = 30
# Found in our own texts before, and not what models were trained on.
BANNED = re.compile(
    r"\b(?:shall|mend(?:ed|s)?|nowhere|the person|a person|persons?'s|passed over|holds? no|for news|for want of"
    r"|in no case|taken up again|in what follows|lest|whatsoever|hereby"
    r"|in mid-session|(?:it|they|that|text) stands? (?:at|in)|not exactly in)\b",
    re.IGNORECASE,
)
# Advice for a shell: the model would follow it, where only the user should.
COMMAND = re.compile(r"\brobota [a-z]+\b")
FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")
LIBRARY = re.compile(r"\bmsgspec\b|ValidationError|Traceback|\bat `?\$|<class '", re.IGNORECASE)
SENTENCE_END = re.compile(r"[.!?:;](?=\s|$)|\n")
# Packages and modules with texts for the model.
ROOMS = (
    *("tools", "engine/calls", "engine/task", "contracts"),
    *(f"workspace/{name}" for name in ("files", "search", "output", "text", "process", "web")),
)
MCP = ("connection", "mcp_tool", "resource_tool", "deferred_tools", "remote_tool", "results", "served_tools", "sign_in")
OPTIONS_OF_PROGRAMS = {"critical_paths", "readonly", "readonly_commands", "written_files"}
MODULES = (
    *sorted(
        str(each.relative_to(SOURCE))
        for room in ROOMS
        for each in (SOURCE / room).rglob("*.py")
        if each.name != "argument_problem.py"  # has the words of the library to replace them
    ),
    *(f"extensions/mcp/{name}.py" for name in MCP),
    "engine/model/system_prompt.py",
    "engine/model/environment.py",
    "engine/model/reply.py",
    "engine/model/xml_calls.py",
    "log/replay/context.py",
    "text/did_you_mean.py",
    "engine/context/summary.py",
    "engine/context/retained.py",
    "engine/context/old_outputs.py",
    "engine/runtime/rights.py",
    "knowledge/agents/built_in.py",
    "knowledge/prompt_elements.py",
    "knowledge/session_knowledge.py",
    "policy/decide.py",
    "policy/modes/task_modes.py",
    *(
        str(each.relative_to(SOURCE))
        for each in sorted((SOURCE / "policy/shell").glob("*.py"))
        if each.stem not in OPTIONS_OF_PROGRAMS
    ),
)


def problems(text: str) -> list[str]:
    """What is wrong with a text for the model."""
    found = [f"not idiomatic: {each[0]}" for each in BANNED.finditer(text)]
    found += [f"a command-line option: {each[0]}" for each in FLAG.finditer(text)]
    found += [f"a command of ours: {each[0]}" for each in COMMAND.finditer(text)]
    found += [f"words of a library: {each[0]}" for each in LIBRARY.finditer(text)]
    sentences = (each.split() for each in SENTENCE_END.split(text))
    return found + [f"{len(words)} words: {' '.join(words)}" for words in sentences if len(words) > MOST_WORDS]


def texts_of(module: Path) -> Iterator[str]:
    """The string constants of a module, without docstrings."""
    tree = ast.parse(module.read_text())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, documented)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in docstrings:
            yield from [node.value] if " " in node.value else []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_prompt_is_plain_english(page: Path) -> None:
    assert problems(page.read_text()) == []


def descriptions_in(schema: object) -> Iterator[str]:
    """What a JSON Schema says in words."""
    if isinstance(schema, dict):
        yield from (text for key, text in schema.items() if key == "description" and isinstance(text, str))
        schema = [*schema.values()]
    for part in schema if isinstance(schema, list) else []:
        yield from descriptions_in(part)


@pytest.mark.parametrize("tool", builtin_tools(), ids=lambda tool: tool.name)
def test_parameters_of_a_tool_are_described_in_plain_english(tool: AnyTool) -> None:
    described = list(descriptions_in(schema_of(tool)))
    assert {text: wrong for text in described if (wrong := problems(text))} == {}


@pytest.mark.parametrize("module", MODULES)
def test_texts_in_code_are_plain_english(module: str) -> None:
    found = {text: wrong for text in texts_of(SOURCE / module) if (wrong := problems(text))}
    assert found == {}


@pytest.mark.parametrize("text", [FOLLOWED, REMEMBERED, ADDED, TAKEN_BACK, RECALLED])
def test_frames_of_instructions_and_memory_are_plain_english(text: str) -> None:
    """In modules that have messages for the user, too."""
    assert problems(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "It shall stand there.",
        "Run it with --force.",
        "Run robota mcp login.",
        "Expected `int`, got `str` - at `$.timeout`",
        "word " * 31,
    ],
)
def test_bad_wording_is_found(text: str) -> None:
    assert len(problems(text)) == 1
