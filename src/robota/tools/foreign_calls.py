"""What other agents call our tools and their parameters: Claude Code, codex, Gemini CLI, OpenCode and their relatives.

Models that were trained with those write such calls here too. Only what means the same is listed: a guess could do
something else than was meant, so everything else stays an error with an example.
"""

import json
import re
import shlex
from typing import Any, Final

from robota.contracts.written_call import OtherForms, UnclearCall, WrittenCall, letters
from robota.tools.command.execute_command import MAX_TIMEOUT_S
from robota.tools.files.search_files import MAX_CONTEXT, MAX_RESULTS

FILE: Final = {name: "path" for name in ("file_path", "absolute_path", "filename", "file", "target_file")}
DIRECTORY: Final = {name: "path" for name in ("dir_path", "directory", "target_directory", "absolute_path")}
# From here on a time limit can only be in milliseconds: nobody lets a command run for three hours.
CERTAINLY_MS: Final = 10_000
# Where the call is in the form of Claude Code, from here on: a limit below a second makes no sense.
PROBABLY_MS: Final = 1_000
MAX_NUMBER: Final = 2**53
SEVERAL_FILES: Final = ("files", "paths", "file_paths")
SHELLS: Final = ("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh")
IN_BACKGROUND: Final = ("run_in_background", "is_background", "background")
ACTIONS: Final = {"bashoutput": "read", "killshell": "stop", "killbash": "stop", "writestdin": "send"}
CHECKBOXES: Final = {"completed": "[x]", "done": "[x]", "in_progress": "[-]", "inprogress": "[-]"}
# How answers are suggested in calls as XML, for example by Roo Code.
SUGGESTIONS: Final = re.compile(r"<suggest[^>]*>\s*(.*?)\s*</suggest>", re.DOTALL)
PATCH_COMMAND: Final = re.compile(
    r"\s*apply_patch\s*<<\s*(?P<quote>['\"])(?P<end>\w+)(?P=quote)\s*\n(?P<patch>\*\*\* Begin Patch\n.*?)\n(?P=end)\s*",
    re.DOTALL,
)
QUESTIONS: Final = {
    **{name: "definition" for name in ("gotodefinition", "finddefinition", "finddeclaration")},
    **{name: "references" for name in ("findreferences", "findreferencingsymbols", "usages")},
    **{name: "callers" for name in ("incomingcalls", "callhierarchy")},
    **{name: "implementations" for name in ("gotoimplementation", "findimplementations", "implementation")},
}
ITEM_TEXTS: Final = ("content", "step", "text", "title", "description", "task")
ONE_EDIT: Final = (
    "edit_file makes one replacement. Nothing was changed. Make a call for each edit, for example edit_file "
    '{"path": "src/app.py", "old_string": "a = 1", "new_string": "a = 2"}.'
)
ONLY_REPLACES: Final = (
    "This editor can only view, create and replace. Nothing was changed. Use edit_file to insert lines beside another, "
    'for example edit_file {"path": "src/app.py", "old_string": "a = 1", "new_string": "a = 1\\nb = 2"}.'
)
ONE_FILE: Final = (
    "read_file reads one file. Nothing was read. Make a call for each, in one reply, for example read_file "
    '{"path": "src/app.py"}.'
)
ONE_QUESTION: Final = (
    "ask_followup_question asks one question. Nothing was asked. Make a call for each, for example "
    'ask_followup_question {"question": "Which database?", "follow_up": [{"text": "SQLite"}, {"text": "Postgres"}]}.'
)


def _number(value: Any) -> int | None:
    """The number that is meant; None if it is none, or too large to count lines or milliseconds."""
    try:
        number = int(value) if isinstance(value, int | float | str) else None
    except (ValueError, OverflowError):
        return None
    return None if number is None or abs(number) > MAX_NUMBER else number


def _is_true(value: Any) -> bool:
    return str(value).lower() == "true"


def _of_read_file(written: WrittenCall) -> WrittenCall:
    """Ranges as first and last line, a first line that is counted from 0, and blocks as an object of their own."""
    arguments = dict(written.arguments)
    for name in ("path", *SEVERAL_FILES):
        if name != "path" or isinstance(_as_list(arguments.get(name)), list):
            arguments |= _one_file(arguments.pop(name, None))
    block, mode = arguments.pop("indentation", None), arguments.pop("mode", None)
    if mode == "indentation" or isinstance(block, dict):
        anchor = block.get("anchor_line") if isinstance(block, dict) else None
        arguments["around_line"] = anchor or arguments.pop("offset", None) or 1
        arguments.pop("offset", None)
        return written.having(arguments, f"around_line {arguments['around_line']}")
    between = [arguments.pop("start_line", None), arguments.pop("end_line", None)]
    view_range = arguments.pop("view_range", None)
    if isinstance(view_range, list) and len(view_range) == 2:
        between = view_range
    first, last = map(_number, between)
    notes = []
    if first is not None:
        arguments["offset"] = max(first, 1)
        notes.append(f"offset {arguments['offset']}")
    if last is not None and last > 0:
        arguments["limit"] = max(last - max(first or 1, 1) + 1, 1)
        notes.append(f"limit {arguments['limit']}")
    if _number(arguments.get("offset")) == 0:
        arguments["offset"] = 1  # the first line, in both ways of counting
    return written.having(arguments, *notes)


def _one_file(files: Any) -> dict[str, Any]:
    """The arguments for the only file of a list; none if it is not a list."""
    match _as_list(files):
        case [str() as path]:
            return {"path": path}
        case [{"path": str() as path}]:
            return {"path": path}
        case list():
            raise UnclearCall(ONE_FILE)
        case _:
            return {}


def _of_code(written: WrittenCall) -> WrittenCall:
    """Questions by their names in the Language Server Protocol, such as `goToDefinition`."""
    asked = written.arguments.get("what")
    if not isinstance(asked, str) or letters(asked) not in QUESTIONS:
        return written
    return written.having({**written.arguments, "what": QUESTIONS[letters(asked)]})


def _of_edit_file(written: WrittenCall) -> WrittenCall:
    """A list of one edit, the number of replacements that is expected, if that is one, and Anthropic's editor."""
    arguments = dict(written.arguments)
    if "command" in arguments:
        return _of_anthropic_editor(written)
    if _number(arguments.get("expected_replacements")) == 1:
        del arguments["expected_replacements"]
    if "edits" not in arguments:
        return written.having(arguments)
    match _as_list(arguments.pop("edits")):
        case [dict() as edit]:
            return written.having({**arguments, **edit})
        case _:
            raise UnclearCall(ONE_EDIT)


def _of_execute_command(written: WrittenCall) -> WrittenCall:
    """Commands as lists of words, time limits in milliseconds, and commands for the background."""
    arguments, notes = dict(written.arguments), []
    command = arguments.get("command")
    # In another directory, its paths would be other files.
    if arguments.get("cwd") in (None, "", ".") and (patch := _patch_in(command)):
        return written.having({"patch": patch}, "a patch", tool="apply_patch")
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        is_script = len(command) == 3 and command[0] in SHELLS and command[1] in ("-c", "-lc")
        arguments["command"] = command[2] if is_script else shlex.join(command)
        notes.append("command as one text")
    in_background = any([_is_true(arguments.pop(name)) for name in IN_BACKGROUND if name in arguments])
    if limit := _in_seconds(arguments, is_theirs=written.written_name != "execute_command"):
        notes.append(limit)
    if in_background:
        started = {name: value for name, value in arguments.items() if name in ("command", "cwd")}
        return written.having({"action": "start", **started}, *notes, "in the background", tool="background_process")
    return written.having(arguments, *notes)


def _patch_in(command: Any) -> str | None:
    """The patch that codex applies with a command of this name, which no machine has; None if it does more."""
    match command:
        case ["apply_patch", str() as patch]:
            return patch
        case [shell, "-c" | "-lc", str() as script] if shell in SHELLS:
            command = script
    here = PATCH_COMMAND.fullmatch(command) if isinstance(command, str) else None
    return None if here is None else here["patch"]


def _in_seconds(arguments: dict[str, Any], *, is_theirs: bool) -> str:
    """Turn a time limit in milliseconds into seconds. Returns what was assumed."""
    in_ms = arguments.pop("timeout_ms", None)
    given = _number(arguments.get("timeout") if in_ms is None else in_ms)
    if given is None or (in_ms is None and given < (PROBABLY_MS if is_theirs else CERTAINLY_MS)):
        return ""
    seconds = arguments["timeout"] = min(given / 1000, MAX_TIMEOUT_S)
    return f"timeout {given} ms → {seconds:g} s"


def _of_background_process(written: WrittenCall) -> WrittenCall:
    """Claude Code and codex have a tool for each action."""
    action = ACTIONS.get(letters(written.written_name))
    if action is None or "action" in written.arguments:
        return written
    arguments = dict(written.arguments)
    if action == "send" and not arguments.get("input"):
        action = "read"  # sending nothing is how codex looks for new output
        arguments.pop("input", None)
    return written.having({"action": action, **arguments}, f"action {action}")


def _of_search_files(written: WrittenCall) -> WrittenCall:
    """The options of grep."""
    arguments, notes = dict(written.arguments), []
    around = [_number(arguments.pop(name)) for name in ("-A", "-B", "-C") if name in arguments]
    if lines := max((each for each in around if each is not None), default=0):
        arguments["context"] = min(lines, MAX_CONTEXT)
        notes.append(f"context {arguments['context']}")
    if any([_is_true(arguments.pop(name)) for name in ("-i", "case_insensitive") if name in arguments]):
        arguments["regex"] = f"(?i){arguments.get('regex', '')}"
        notes.append("(?i)")
    most = _number(arguments.get("max_results"))
    if most is not None and not 1 <= most <= MAX_RESULTS:
        arguments["max_results"] = MAX_RESULTS
    if arguments.pop("output_mode", "content") != "content":
        notes.append("matching lines are shown")
    if _is_true(arguments.pop("multiline", False)):
        notes.append("searched line by line")
    return written.having(arguments, *notes)


def _of_update_todo_list(written: WrittenCall) -> WrittenCall:
    """Lists of items with a status, which become a checklist."""
    items = _as_list(written.arguments.get("todos"))
    if not isinstance(items, list):
        return written
    return written.having(
        {**written.arguments, "todos": "\n".join(map(_checklist_line, items))}, "todos as a checklist"
    )


def _as_list(value: Any) -> Any:
    """The list of objects or texts that a text has as JSON, as in a call that is written as XML."""
    if not isinstance(value, str) or not value.lstrip().startswith("["):
        return value
    try:
        items = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return items if items and all(isinstance(item, dict | str) for item in items) else value


def _checklist_line(item: Any) -> str:
    if isinstance(item, str):
        return item if item.lstrip("- ").startswith("[") else f"[ ] {item}"
    if not isinstance(item, dict):
        return f"[ ] {item}"
    text = next((str(item[name]) for name in ITEM_TEXTS if item.get(name)), "")
    return f"{CHECKBOXES.get(str(item.get('status', '')).lower().replace('-', '_'), '[ ]')} {' '.join(text.split())}"


def _of_ask_followup_question(written: WrittenCall) -> WrittenCall:
    """Claude Code's list of questions, if it has one, and answers as plain texts."""
    arguments = dict(written.arguments)
    match arguments.pop("questions", None):
        case None:
            pass
        case [dict() as question]:
            return written.having({**question, **arguments})
        case _:
            raise UnclearCall(ONE_QUESTION)
    answers = _as_list(arguments.get("follow_up"))
    if isinstance(answers, str):
        answers = SUGGESTIONS.findall(answers) or answers
    if isinstance(answers, list):
        arguments["follow_up"] = [_answer(each) for each in answers]
    return written.having(arguments)


def _answer(answer: Any) -> Any:
    if isinstance(answer, str):
        return {"text": answer}
    if isinstance(answer, dict) and "text" not in answer and ("label" in answer or "answer" in answer):
        return {"text": answer.get("label", answer.get("answer"))}
    return answer


def _of_anthropic_editor(written: WrittenCall) -> WrittenCall:
    """Anthropic's editor is one tool for reading, creating and replacing."""
    tools = {"view": "read_file", "create": "write_to_file", "str_replace": "edit_file"}
    arguments = dict(written.arguments)
    command = str(arguments.pop("command"))
    if command not in tools:
        raise UnclearCall(ONLY_REPLACES)
    return written.having(arguments, f"{command} → {tools[command]}", tool=tools[command])


COMMAND: Final = OtherForms(
    names=(
        *("shell", "exec_command", "run_shell_command", "run_command", "run_terminal_cmd", "execute_bash"),
        *("terminal", "local_shell", "container.exec"),
    ),
    parameters={
        **{"cmd": "command", "script": "command", "dangerouslyDisableSandbox": "without_sandbox"},
        **{name: "cwd" for name in ("workdir", "working_directory", "working_dir", "directory", "dir_path")},
    },
    meaningless=("description", "justification", "explanation", "yield_time_ms", "max_output_tokens", "login", "tty"),
    convert=_of_execute_command,
    converted=("timeout_ms", *IN_BACKGROUND),
)

# By the id of the tool.
FOREIGN_CALLS: Final = {
    "read_file": OtherForms(
        names=("view", "view_file", "open_file", "cat", "read_many_files"),
        parameters=FILE,
        meaningless=("description", "explanation"),
        convert=_of_read_file,
        converted=("start_line", "end_line", "view_range", "indentation", "mode", *SEVERAL_FILES),
    ),
    "list_files": OtherForms(
        names=("ls", "list_dir", "list_directory"),
        parameters=DIRECTORY,
        meaningless=("ignore", "respect_git_ignore", "file_filtering_options", "description"),
    ),
    "glob": OtherForms(
        names=("find_files", "file_search", "find"),
        parameters={**DIRECTORY, "glob_pattern": "pattern", "query": "pattern"},
        meaningless=("case_sensitive", "respect_git_ignore", "respect_gemini_ignore", "description"),
    ),
    "search_files": OtherForms(
        names=("grep_search", "search_file_content", "rg", "search"),
        parameters={
            **{**DIRECTORY, "file_path": "path", "pattern": "regex", "query": "regex"},
            **{name: "file_pattern" for name in ("glob", "include", "include_pattern")},
            **{"type": "file_type", "head_limit": "max_results", "max_count": "max_results", "limit": "max_results"},
        },
        meaningless=("-n", "description", "explanation", "case_sensitive"),
        convert=_of_search_files,
        converted=("output_mode", "multiline", "case_insensitive"),
    ),
    "symbols": OtherForms(
        names=("get_symbols_overview", "find_symbol", "document_symbols", "workspace_symbols"),
        parameters={
            **DIRECTORY,
            **FILE,
            "relative_path": "path",
            **{name: "query" for name in ("name_path", "name", "symbol", "pattern")},
        },
        meaningless=("depth", "include_body", "description"),
    ),
    "code": OtherForms(
        names=("lsp",),
        parameters={**FILE, "operation": "what", "action": "what", "name": "symbol", "query": "symbol"},
        meaningless=("description",),
        convert=_of_code,
    ),
    "write_to_file": OtherForms(
        names=("create_file", "create"),
        parameters={**FILE, "file_text": "content", "contents": "content", "text": "content"},
        meaningless=("description", "explanation", "line_count"),
    ),
    "edit_file": OtherForms(
        names=(
            *("replace", "str_replace", "search_replace", "multi_edit", "replace_in_file"),
            *("str_replace_editor", "str_replace_based_edit_tool"),
        ),
        parameters={
            **{**FILE, "old_str": "old_string", "old_text": "old_string", "new_str": "new_string"},
            **{"new_text": "new_string", "allow_multiple": "replace_all"},
        },
        meaningless=("instruction", "description", "explanation"),
        convert=_of_edit_file,
        converted=("command", "edits", "expected_replacements", "view_range", "file_text", "insert_line"),
    ),
    "apply_diff": OtherForms(parameters=FILE),
    "apply_patch": OtherForms(parameters={"input": "patch", "patch_text": "patch", "diff": "patch"}),
    "execute_command": COMMAND,
    "read_command_output": OtherForms(
        parameters={"id": "artifact_id", "name": "artifact_id", "pattern": "search", "regex": "search"}
    ),
    "background_process": OtherForms(
        names=("BashOutput", "KillShell", "KillBash", "write_stdin"),
        parameters={
            **{"cmd": "command", "workdir": "cwd", "chars": "input", "text": "input", "stdin": "input"},
            **{name: "id" for name in ("bash_id", "shell_id", "process_id", "session_id")},
        },
        meaningless=("description", "filter", "yield_time_ms", "max_output_tokens"),
        convert=_of_background_process,
    ),
    "web_fetch": OtherForms(
        names=("fetch", "fetch_url", "read_url"),
        parameters={"uri": "url"},
        meaningless=("prompt", "format", "timeout", "description"),
    ),
    "update_todo_list": OtherForms(
        names=("TodoWrite", "update_plan", "write_todos", "SetTodoList", "todo"),
        parameters={"plan": "todos", "items": "todos", "todo_list": "todos"},
        meaningless=("explanation", "description"),
        convert=_of_update_todo_list,
    ),
    "ask_followup_question": OtherForms(
        names=("AskUserQuestion", "ask_user", "question"),
        parameters={"options": "follow_up", "suggestions": "follow_up", "choices": "follow_up"},
        meaningless=("header", "multiSelect", "description"),
        convert=_of_ask_followup_question,
        converted=("questions",),
    ),
    "attempt_completion": OtherForms(
        names=("finish", "complete_task"),
        parameters={"summary": "result", "answer": "result", "message": "result"},
        meaningless=("command",),
    ),
    "new_task": OtherForms(parameters={"prompt": "message"}),
    "agent": OtherForms(
        names=("Task", "task", "spawn_agent", "use_subagents"),
        parameters={
            "message": "prompt",
            "agent": "subagent_type",
            "agent_type": "subagent_type",
            "background": "run_in_background",
        },
        meaningless=("mode", "team_name"),
    ),
    "agent_send": OtherForms(
        names=("SendMessage", "send_input", "send_message"), parameters={"target": "to", "content": "message"}
    ),
    "agent_wait": OtherForms(names=("wait_agent",), parameters={"targets": "ids", "agents": "ids"}),
    "agent_stop": OtherForms(
        names=("TaskStop", "close_agent", "interrupt_agent"),
        parameters={"task_id": "id", "agent_id": "id", "target": "id"},
    ),
    "switch_mode": OtherForms(parameters={"mode": "mode_slug", "slug": "mode_slug"}),
    "present_plan": OtherForms(
        names=("ExitPlanMode", "exit_plan_mode", "plan_exit"), meaningless=("allowedPrompts", "description")
    ),
}
