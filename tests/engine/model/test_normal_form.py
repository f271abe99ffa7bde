"""Calls in the forms of other agents: each becomes one call in our form, before anything judges or runs it."""

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.contracts.tool import ToolCall
from robota.engine.model.normal_form import NAMESPACES, NormalForm
from robota.engine.model.reply import CallClosedPiece, TextPiece
from robota.engine.model.xml_calls import XmlCallFormat
from robota.protocol.events import ToolStart, TurnReply
from robota.providers.chunks import ToolSpec
from robota.tools.registry import builtin_tools, schema_of
from tests.engine.stage import Stage, call, play, tool_results

NORMAL = NormalForm(builtin_tools())
DONE = {"text": "done"}
EDIT = {"path": "a.py", "old_string": "x", "new_string": "y"}
PATCH = "*** Begin Patch\n*** Delete File: a\n*** End Patch"

# What a model wrote, and the normal form of it.
CORPUS: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    # Reading
    ("Read", {"file_path": "a.py", "offset": 3, "limit": 5}, "read_file", {"path": "a.py", "offset": 3, "limit": 5}),
    ("read", {"filePath": "a.py"}, "read_file", {"path": "a.py"}),
    ("READ_FILE", {"Path": "a.py"}, "read_file", {"path": "a.py"}),
    ("read_file", {"path": "a.py", "offset": 0}, "read_file", {"path": "a.py", "offset": 1}),
    ("read_file", {"path": "a.py", "offset": "7", "limit": None}, "read_file", {"path": "a.py", "offset": 7}),
    ("read_file", {"absolute_path": "/w/a.py"}, "read_file", {"path": "/w/a.py"}),
    (
        "read_file",
        {"file_path": "a.py", "start_line": 10, "end_line": 19},
        "read_file",
        {"path": "a.py", "offset": 10, "limit": 10},
    ),
    ("functions.read_file", {"path": "a.py"}, "read_file", {"path": "a.py"}),
    ("default_api.Read", {"file_path": "a.py"}, "read_file", {"path": "a.py"}),
    ("view", {"path": "a.py", "view_range": [5, 8]}, "read_file", {"path": "a.py", "offset": 5, "limit": 4}),
    ("view", {"path": "a.py", "view_range": [5, -1]}, "read_file", {"path": "a.py", "offset": 5}),
    ("str_replace_editor", {"command": "view", "path": "a.py"}, "read_file", {"path": "a.py"}),
    ("ReadFile", {"path": "a.py", "description": "look"}, "read_file", {"path": "a.py"}),
    ("read_file", {"files": [{"path": "a.py"}]}, "read_file", {"path": "a.py"}),
    ("read_file", {"path": ["a.py"]}, "read_file", {"path": "a.py"}),
    ("read_many_files", {"paths": ["a.py"]}, "read_file", {"path": "a.py"}),
    # Editing
    ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, "edit_file", EDIT),
    ("edit", {"filePath": "a.py", "oldString": "x", "newString": "y"}, "edit_file", EDIT),
    ("edit", {"path": "a.py", "edits": [{"oldText": "x", "newText": "y"}]}, "edit_file", EDIT),
    ("str_replace", {"path": "a.py", "old_str": "x", "new_str": "y"}, "edit_file", EDIT),
    (
        "str_replace_based_edit_tool",
        {"command": "str_replace", "path": "a.py", "old_str": "x", "new_str": "y"},
        "edit_file",
        EDIT,
    ),
    ("replace", {**EDIT, "instruction": "rename", "expected_replacements": 1}, "edit_file", EDIT),
    ("replace", {**EDIT, "allow_multiple": "true"}, "edit_file", {**EDIT, "replace_all": True}),
    ("MultiEdit", {"file_path": "a.py", "edits": [{"old_string": "x", "new_string": "y"}]}, "edit_file", EDIT),
    ("MultiEdit", {"path": "a.py", "edits": '[\n {"old_string": "x", "new_string": "y"}\n]'}, "edit_file", EDIT),
    ("Edit", {**EDIT, "replaceAll": True}, "edit_file", {**EDIT, "replace_all": True}),
    ("Write", {"file_path": "a", "content": "x"}, "write_to_file", {"path": "a", "content": "x"}),
    ("write_file", {"filePath": "a", "content": "x"}, "write_to_file", {"path": "a", "content": "x"}),
    (
        "str_replace_editor",
        {"command": "create", "path": "a", "file_text": "x"},
        "write_to_file",
        {"path": "a", "content": "x"},
    ),
    ("apply_patch", {"input": PATCH}, "apply_patch", {"patch": PATCH}),
    ("ApplyPatch", {"patchText": PATCH}, "apply_patch", {"patch": PATCH}),
    ("shell", {"command": ["apply_patch", PATCH], "workdir": "."}, "apply_patch", {"patch": PATCH}),
    ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF\n"]}, "apply_patch", {"patch": PATCH}),
    ("exec_command", {"cmd": f'apply_patch << "X"\n{PATCH}\nX'}, "apply_patch", {"patch": PATCH}),
    (
        "shell",
        {"command": ["apply_patch", "p"], "workdir": "src"},
        "execute_command",
        {"command": "apply_patch p", "cwd": "src"},
    ),
    (
        "exec_command",
        {"cmd": f"apply_patch <<'X'\n{PATCH}\nX\nmake"},
        "execute_command",
        {"command": f"apply_patch <<'X'\n{PATCH}\nX\nmake"},
    ),
    ("apply_diff", {"file_path": "a", "diff": "d"}, "apply_diff", {"path": "a", "diff": "d"}),
    # Commands
    ("Bash", {"command": "ls", "description": "List"}, "execute_command", {"command": "ls"}),
    ("bash", {"command": "ls", "timeout": 120000}, "execute_command", {"command": "ls", "timeout": 120.0}),
    ("Bash", {"command": "ls", "timeout": 5000}, "execute_command", {"command": "ls", "timeout": 5.0}),
    ("Bash", {"command": "ls", "timeout": 60}, "execute_command", {"command": "ls", "timeout": 60}),
    ("execute_command", {"command": "ls", "timeout": 60000}, "execute_command", {"command": "ls", "timeout": 60}),
    ("execute_command", {"command": "ls", "timeout": "30"}, "execute_command", {"command": "ls", "timeout": 30}),
    ("Bash", {"command": "ls", "timeout": 900000}, "execute_command", {"command": "ls", "timeout": 600}),
    (
        "exec_command",
        {"cmd": "ls", "workdir": "src", "timeout_ms": 500},
        "execute_command",
        {"command": "ls", "cwd": "src", "timeout": 0.5},
    ),
    ("shell", {"command": ["bash", "-lc", "ls | wc"]}, "execute_command", {"command": "ls | wc"}),
    ("shell", {"command": ["ls", "a b"]}, "execute_command", {"command": "ls 'a b'"}),
    ("run_shell_command", {"command": "ls", "dir_path": "src"}, "execute_command", {"command": "ls", "cwd": "src"}),
    (
        "Bash",
        {"command": "npm start", "run_in_background": True},
        "background_process",
        {"action": "start", "command": "npm start"},
    ),
    ("Bash", {"command": "ls", "run_in_background": False}, "execute_command", {"command": "ls"}),
    ("BashOutput", {"bash_id": "bg1"}, "background_process", {"action": "read", "id": "bg1"}),
    (
        "write_stdin",
        {"session_id": "bg1", "chars": "y", "yield_time_ms": 500},
        "background_process",
        {"action": "send", "id": "bg1", "input": "y"},
    ),
    ("write_stdin", {"session_id": "bg1", "chars": ""}, "background_process", {"action": "read", "id": "bg1"}),
    ("KillShell", {"shell_id": "bg1"}, "background_process", {"action": "stop", "id": "bg1"}),
    # Searching
    ("Grep", {"pattern": "x"}, "search_files", {"regex": "x"}),
    ("grep", {"pattern": "x", "include": "*.py"}, "search_files", {"regex": "x", "file_pattern": "*.py"}),
    (
        "Grep",
        {"pattern": "x", "path": "src", "-C": 2, "-n": True, "output_mode": "content", "type": "py"},
        "search_files",
        {"regex": "x", "path": "src", "context": 2, "file_type": "py"},
    ),
    ("Grep", {"pattern": "x", "-i": True}, "search_files", {"regex": "(?i)x"}),
    ("Grep", {"pattern": "x", "head_limit": 900}, "search_files", {"regex": "x", "max_results": 300}),
    ("grep_search", {"pattern": "x", "dir_path": "src"}, "search_files", {"regex": "x", "path": "src"}),
    ("Glob", {"pattern": "*.py", "path": None}, "glob", {"pattern": "*.py"}),
    ("LS", {"path": "src", "ignore": ["x"]}, "list_files", {"path": "src"}),
    ("list_directory", {"dir_path": "src"}, "list_files", {"path": "src"}),
    # Code
    ("get_symbols_overview", {"relative_path": "a.py"}, "symbols", {"path": "a.py"}),
    ("LSP", {"operation": "findReferences", "symbol": "f"}, "code", {"what": "references", "symbol": "f"}),
    # Everything else
    ("WebFetch", {"url": "https://a.example", "prompt": "sum up"}, "web_fetch", {"url": "https://a.example"}),
    (
        "TodoWrite",
        {"todos": [{"content": "a", "status": "completed", "activeForm": "A"}, {"content": "b", "status": "pending"}]},
        "update_todo_list",
        {"todos": "[x] a\n[ ] b"},
    ),
    (
        "update_plan",
        {"plan": [{"step": "a", "status": "in_progress"}], "explanation": "so"},
        "update_todo_list",
        {"todos": "[-] a"},
    ),
    ("update_todo_list", {"todos": ["a", "[x] b"]}, "update_todo_list", {"todos": "[ ] a\n[x] b"}),
    (
        "ask_followup_question",
        {"question": "Which?", "follow_up": ["A"]},
        "ask_followup_question",
        {"question": "Which?", "follow_up": [{"text": "A"}]},
    ),
    (
        "AskUserQuestion",
        {"questions": [{"question": "Which?", "header": "DB", "options": [{"label": "A", "description": "d"}]}]},
        "ask_followup_question",
        {"question": "Which?", "follow_up": [{"text": "A"}]},
    ),
    (
        "Task",
        {"description": "d", "prompt": "do", "subagent_type": "code"},
        "agent",
        {"description": "d", "prompt": "do", "subagent_type": "code"},
    ),
    ("new_task", {"mode": "code", "prompt": "do"}, "new_task", {"mode": "code", "message": "do"}),
    ("NewTask", {"Mode": "code", "message": "do"}, "new_task", {"mode": "code", "message": "do"}),
    ("SendMessage", {"to": "a1", "content": "go on"}, "agent_send", {"to": "a1", "message": "go on"}),
    ("send_input", {"target": "a1", "message": "go on"}, "agent_send", {"to": "a1", "message": "go on"}),
    ("AgentWait", {"ids": ["a1"], "timeout": "5"}, "agent_wait", {"ids": ["a1"], "timeout": 5}),
    ("wait_agent", {"targets": ["a1", "a2"]}, "agent_wait", {"ids": ["a1", "a2"]}),
    ("TaskStop", {"task_id": "a1"}, "agent_stop", {"id": "a1"}),
    ("close_agent", {"target": "a1"}, "agent_stop", {"id": "a1"}),
    ("switch_mode", {"mode": "code", "reason": "r"}, "switch_mode", {"mode_slug": "code", "reason": "r"}),
    ("ExitPlanMode", {"plan": "p"}, "present_plan", {"plan": "p"}),
    ("attemptCompletion", {"Result": "r"}, "attempt_completion", {"result": "r"}),
    (
        "ReadCommandOutput",
        {"artifactId": "ab", "offset": "3", "pattern": "x"},
        "read_command_output",
        {"artifact_id": "ab", "offset": 3, "search": "x"},
    ),
]


def normal(name: str, arguments: dict[str, Any]) -> ToolCall:
    return NORMAL.of(ToolCall(id="1", name=name, input=arguments))


@pytest.mark.parametrize(
    ("name", "arguments", "tool", "expected"), CORPUS, ids=[f"{row[0]} {json.dumps(row[1])[:50]}" for row in CORPUS]
)
def test_a_call_in_the_form_of_another_agent_is_understood(
    name: str, arguments: dict[str, Any], tool: str, expected: dict[str, Any]
) -> None:
    made = normal(name, arguments)
    assert (made.problem, made.name, made.input) == (None, tool, expected)
    assert made.assumed or name == tool  # another name is always mentioned
    again = NORMAL.of(made)
    assert (again.name, again.input) == (made.name, made.input)


def test_the_corpus_has_calls_of_every_tool() -> None:
    assert {tool.name for tool in builtin_tools()} <= {row[2] for row in CORPUS}


def as_xml(name: str, arguments: dict[str, Any]) -> str:
    values = ((key, value if isinstance(value, str) else json.dumps(value)) for key, value in arguments.items())
    return "\n".join([f"<{name}>", *(f"<{key}>{value}</{key}>" for key, value in values), f"</{name}>"])


def read_as_xml(text: str) -> tuple[str, list[ToolCall]]:
    """The text and the calls of a reply of a model without function calling, which arrives letter by letter."""
    tools = builtin_tools()
    specs = tuple(ToolSpec(name=tool.name, description="", schema=schema_of(tool)) for tool in tools)
    reader = XmlCallFormat().reader(specs, (f"c{number}" for number in count(1)), tools)
    pieces = [piece for letter in text for piece in reader.feed(letter)] + reader.finish()
    words = "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))
    return words, [piece.call for piece in pieces if isinstance(piece, CallClosedPiece)]


# Without what cannot be written in XML: null, options as parameters, a command as a list, and names with a namespace.
XML_CORPUS = [
    row
    for row in CORPUS
    if None not in row[1].values()
    and not row[0].startswith(NAMESPACES)
    and not any(key.startswith("-") for key in row[1])
    and not isinstance(row[1].get("command"), list)
]


@pytest.mark.parametrize(
    ("name", "arguments", "tool", "expected"),
    XML_CORPUS,
    ids=[f"{row[0]} {json.dumps(row[1])[:50]}" for row in XML_CORPUS],
)
def test_such_a_call_is_understood_in_xml_too(
    name: str, arguments: dict[str, Any], tool: str, expected: dict[str, Any]
) -> None:
    words, [written] = read_as_xml(f"Look:\n{as_xml(name, arguments)}\nThen more.")
    made = NORMAL.of(written)
    assert (made.problem, made.name, made.input) == (None, tool, expected)
    assert words == "Look:\n\nThen more."


@pytest.mark.parametrize(
    "text",
    [
        "A <view> and a <Task> of <T>, as in List<Edit>.",
        "<search>\n<b>bold</b>\n</search>",
        "Use <find> <create",
        "<question>Which <option>?</question>",
    ],
)
def test_names_of_other_agents_are_words_as_long_as_no_parameter_follows(text: str) -> None:
    assert read_as_xml(text) == (text, [])


def test_text_in_a_value_that_looks_like_another_name_of_it_stays_in_it() -> None:
    content = "<content>a</content>\n<text>b</text>\n<file_path>c</file_path>"
    _, [written] = read_as_xml(as_xml("write_to_file", {"path": "a.xml", "content": content}))
    assert written.input == {"path": "a.xml", "content": content}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<read_file><args>\n<file>\n<path>a.py</path>\n</file>\n</args></read_file>", {"path": "a.py"}),
        ("<Read><file_path>a.py</file_path></Read>", {"path": "a.py"}),
        ("<read_file><file><path>a.py</path><line_range>2-3</line_range></file></read_file>", {"path": "a.py"}),
        (
            "<ask_followup_question><question>Which?</question><follow_up>\n<suggest>a</suggest>\n"
            '<suggest mode="code">b</suggest></follow_up></ask_followup_question>',
            {"question": "Which?", "follow_up": [{"text": "a"}, {"text": "b"}]},
        ),
        ("<str_replace><path>a</path><old_str><path>b</old_str></str_replace>", {"path": "a", "old_string": "<path>b"}),
    ],
)
def test_tags_in_tags_are_read_as_agents_with_calls_in_xml_write_them(text: str, expected: dict[str, Any]) -> None:
    """With all other names of parameters, of which <file> is one."""
    _, [written] = read_as_xml(text)
    made = NORMAL.of(written)
    assert (made.problem, made.input) == (None, expected)


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("read_file", {"path": "a", "file_path": "b"}, "both 'path' and 'file_path', with different values"),
        ("read_file", {"files": [{"path": "a"}, {"path": "b"}]}, "Make a call for each, in one reply"),
        ("Edit", {"path": "a", "edits": [{"oldText": "x"}, {"oldText": "y"}]}, 'for example edit_file {"path"'),
        ("str_replace_editor", {"command": "insert", "path": "a", "insert_line": 3}, "Use edit_file to insert lines"),
        ("AskUserQuestion", {"questions": [{}, {}]}, "Make a call for each"),
    ],
)
def test_what_can_mean_several_things_is_refused_with_a_way_to_say_it(
    name: str, arguments: dict[str, Any], told: str
) -> None:
    made = normal(name, arguments)
    assert made.problem is not None and told in made.problem and "Nothing was" in made.problem


def test_the_same_value_under_two_names_is_no_contradiction() -> None:
    assert normal("read_file", {"path": "a", "file_path": "a"}).input == {"path": "a"}


NAMES = st.sampled_from([row[0] for row in CORPUS])
KEYS = st.sampled_from(sorted({key for row in CORPUS for key in row[1]}))
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 200000), st.text(max_size=5), st.lists(st.text(max_size=3), max_size=3)
)


@given(NAMES, st.dictionaries(KEYS, VALUES, max_size=5))
def test_the_normal_form_has_only_one_form(name: str, arguments: dict[str, Any]) -> None:
    """Whatever is made of a call, making it again changes nothing: what was judged is what runs."""
    made = normal(name, arguments)
    again = NORMAL.of(made)
    assert (again.name, again.input, again.problem) == (made.name, made.input, made.problem)


@pytest.mark.parametrize("name", ["Bash", "execute_command"])
def test_a_number_beyond_all_measure_is_no_bug(name: str) -> None:
    normal = NORMAL.of(ToolCall(id="1", name=name, input={"command": "ls", "timeout": 10**400}))
    assert (normal.name, normal.problem) == ("execute_command", None)


def test_policy_log_and_clients_see_only_the_normal_form(workspace: Path) -> None:
    """A rule for the real path denies the call, whatever its arguments are called."""
    (workspace / "a.txt").write_text("one\n")
    (workspace / "secret.txt").write_text("two\n")

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        ran, denied = tool_results(stage)
        assert "one" in ran.content and ran.content.endswith("[Read as read_file: Read → read_file, file_path → path.]")
        assert denied.content.startswith("Denied: The deny rule Read(secret.txt) forbids it.")
        assert [(start.tool, start.input) for start in stage.events_of(ToolStart)] == [
            ("read_file", {"path": "a.txt"}),
            ("read_file", {"path": "secret.txt"}),
        ]
        reply = stage.events_of(TurnReply)[0].reply
        assert [use.input for use in reply.tool_uses] == [{"path": "a.txt"}, {"path": "secret.txt"}]
        assert "file_path" not in stage.opened.log.path.read_text().replace("file_path → path", "")

    calls = [call("Read", file_path="a.txt"), call("read", filePath="secret.txt")]
    play(workspace, [{"calls": calls}, DONE], story, disallowed_tools=("Read(secret.txt)",))


@pytest.mark.parametrize(
    ("mode", "told"), [("ask", "write_to_file is not available in Ask mode"), ("code", "Created made.txt")]
)
def test_a_call_in_xml_of_a_tool_that_is_not_offered_is_no_answer(workspace: Path, mode: str, told: str) -> None:
    """It is refused, as it is without XML, instead of ending the task as if it were its result."""
    write = as_xml("write_to_file", {"path": "made.txt", "content": "x"})
    diff = as_xml("apply_diff", {"path": "made.txt", "diff": "no diff"})

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        written, changed = tool_results(stage)
        assert told in written.content and changed.is_error

    turns = [{"text": write}, {"text": diff}, DONE]
    options = {"modelInfo": {"nativeTools": False}}
    play(workspace, turns, story, mode=mode, permission_mode="bypassPermissions", profile_options=options)
