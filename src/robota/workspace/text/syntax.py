"""Check whether an edit broke the syntax of a file, and where. Only reported: nothing is rolled back."""

from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING

from robota.workspace.files.atomic_write import Content

if TYPE_CHECKING:
    from robota.workspace.text.syntax_worker import SyntaxBreak, SyntaxWorker

# Larger files are not checked: parsing them would cause a noticeable delay.
MAX_BYTES = 2 * 1024 * 1024

LANGUAGES = {
    "bash": (".sh", ".bash"),
    "css": (".css",),
    "go": (".go",),
    "java": (".java",),
    "javascript": (".js", ".jsx", ".mjs", ".cjs"),
    "json": (".json",),
    "python": (".py", ".pyi"),
    "rust": (".rs",),
    "toml": (".toml",),
    "tsx": (".tsx",),
    "typescript": (".ts", ".mts", ".cts"),
    "yaml": (".yaml", ".yml"),
}
BY_SUFFIX = {suffix: language for language, suffixes in LANGUAGES.items() for suffix in suffixes}


def check(path: str, before: bytes | None, after: Content) -> "SyntaxBreak | None":
    """The syntax error in `after`, if `before` had none; None also if it cannot be checked.

    `before` is None for a new file.
    """
    language = BY_SUFFIX.get(PurePath(path).suffix.lower())
    if language is None or max(len(after), len(before or b"")) > MAX_BYTES or before == bytes(after):
        return None
    # Imported only if a file is checked.
    from robota.workspace.text.syntax_worker import NotParsed

    worker = _worker()
    finding = worker.first_error(language, bytes(after))
    if finding is None or isinstance(finding, NotParsed):
        return None
    if before is not None and worker.first_error(language, before) is not None:
        return None
    return finding


def shape_of(path: str, data: bytes) -> str | None:
    """A digest of the syntax tree, independent of formatting; None if there is none."""
    language = BY_SUFFIX.get(PurePath(path).suffix.lower())
    return None if language is None or len(data) > MAX_BYTES else _worker().shape(language, data)


@cache
def _worker() -> "SyntaxWorker":
    """The worker process, shared by all sessions of this process, and started with the first text."""
    from robota.workspace.text.syntax_worker import SyntaxWorker

    return SyntaxWorker()


def syntax_note(path: str, before: bytes | None, after: Content) -> str:
    """A paragraph for the result of an edit; empty if the edit broke nothing."""
    syntax_break = check(path, before, after)
    if syntax_break is None:
        return ""
    since = "The file parsed before this edit and does not now" if before is not None else "The new file does not parse"
    return (
        f"{since}: {syntax_break.problem} at line {syntax_break.line}, column {syntax_break.column} "
        f"({syntax_break.language}):\n"
        f"{syntax_break.line} | {syntax_break.text}\n"
        "The edit was kept. Repair it now, unless it is the first of several that belong together."
    )
