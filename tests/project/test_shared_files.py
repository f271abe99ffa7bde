"""Files are written in few places: what processes share is changed in a transaction, which no new writer goes past."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src/robota"
# Calls that give a file another content or name. Methods are those of `Path`.
WRITING = {"write_text", "write_bytes", "rename", "replace", "symlink_to", "hardlink_to"}
WRITING_OF_OS = {"rename", "replace", "link", "symlink", "truncate"}
CREATING = {"O_CREAT", "O_TRUNC", "O_TMPFILE"}

# Who writes by itself, and why that loses nothing of another process.
ALLOWED = {
    "config/sealed_state.py": "a key that is made once: whoever is first wins, and the others read it",
    "config/transaction.py": "the transaction itself",
    "agents/worktrees/": "new files of a new worktree, and locks",
    "commands/doctor/": "a new file, if there is none",
    "commands/families/init.py": "a new file, if there is none",
    "commands/families/proof/audit.py": "a file that the user names",
    "commands/sessions/exporting.py": "a file that the user names",
    "commands/families/skills.py": "a new file, if there is none",
    "app/debug_log.py": "a log of one process",
    "cli/run/demo.py": "a temporary directory",
    "cli/run/draft_file.py": "a draft of one process, under its lock",
    "cli/run/elsewhere/shown_output.py": "a temporary directory",
    "cli/run/prompt_file.py": "appends whole lines",
    "protocol/connection/message_processor.py": "no file",
    "commands/conversation/this_session.py": "no file",
    "engine/record/rows.py": "no file",
    "engine/budgets/ledger_file.py": "the mark of one process, under its lock",
    "extensions/plugins/fetching.py": "a staging directory",
    "extensions/plugins/installer.py": "a staging directory",
    "intents/leases.py": "a lease of one session, under the lock of its directory",
    "intents/trace_file.py": "appends under the lock of the file",
    "knowledge/memory/own_entries.py": "appends whole lines",
    "log/": "sessions, of which each has one writer under its lock, and what is derived from them",
    "protocol/state.py": "no file",
    "proof/replay/": "a temporary directory",
    "secrets/redaction.py": "an output before it is stored",
    "workspace/": "files of the workspace, with their own locks and journals, and temporary files",
}


def test_files_are_written_only_where_a_reason_is_given() -> None:
    found = {path for path in _sources() if any(_writes(_parsed(path)))}
    names = {path.relative_to(SOURCE).as_posix() for path in found}
    assert {name for name in names if not any(name.startswith(each) for each in ALLOWED)} == set()
    assert {each for each in ALLOWED if not any(name.startswith(each) for name in names)} == set()


def test_a_new_writer_is_noticed() -> None:
    planted = (
        "path.write_text('x')",
        "draft.replace(target)",
        "os.replace(a, b)",
        "path.open('w')",
        "open(path, mode='ab')",
        "os.open(path, os.O_WRONLY | os.O_CREAT)",
    )
    harmless = ("text.replace('a', 'b')", "path.open('rb')", "os.open(path, os.O_RDONLY)", "structs.replace(a, b=1)")
    assert [line for line in planted if not any(_writes(ast.parse(line)))] == []
    assert [line for line in harmless if any(_writes(ast.parse(line)))] == []


def _sources() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _writes(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        is_flag = isinstance(node, ast.Attribute) and node.attr in CREATING
        if is_flag or (isinstance(node, ast.Call) and _is_write(node)):
            yield node


def _is_write(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Name(id="os"), attr=name):
            return name in WRITING_OF_OS
        case ast.Name(id="open") | ast.Attribute(attr="open"):
            parts = (each for given in (*call.args, *call.keywords) for each in ast.walk(given))
            modes = [each.value for each in parts if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            return any(set(mode) <= set("rwxabt+") and set(mode) & set("wxa+") for mode in modes)
        case ast.Attribute(attr="replace" | "rename"):
            # `str.replace` takes two arguments, `structs.replace` named ones; `Path` takes one.
            return len(call.args) == 1 and not call.keywords
        case ast.Attribute(attr=name):
            return name in WRITING
        case _:
            return False
