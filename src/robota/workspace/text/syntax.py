"""Whether an edit broke the syntax of a file, and where. It only tells: nothing is ever rolled back for it."""

from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING

from robota.workspace.files.atomic_write import Content

if TYPE_CHECKING:
    from robota.workspace.text.syntax_worker import SyntaxBreak, SyntaxWorker

# Larger files are not looked at: parsing them would be felt.
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
    """What is wrong with `after`, if nothing was wrong with `before`; None also if nobody can tell.

    `before` is None for a new file.
    """
    language = BY_SUFFIX.get(PurePath(path).suffix.lower())
    if language is None or max(len(after), len(before or b"")) > MAX_BYTES or before == bytes(after):
        return None
    # Only a file that has to be checked needs it.
    from robota.workspace.text.syntax_worker import NotParsed

    worker = _worker()
    found = worker.first_error(language, bytes(after))
    if found is None or isinstance(found, NotParsed):
        return None
    if before is not None and worker.first_error(language, before) is not None:
        return None
    return found


def shape_of(path: str, data: bytes) -> str | None:
    """What a file means, however it is written, as a digest; None if nobody can tell."""
    language = BY_SUFFIX.get(PurePath(path).suffix.lower())
    return None if language is None or len(data) > MAX_BYTES else _worker().shape(language, data)


@cache
def _worker() -> "SyntaxWorker":
    """The process is shared by all sessions of ours, and started when a text is given to it."""
    from robota.workspace.text.syntax_worker import SyntaxWorker

    return SyntaxWorker()


def syntax_note(path: str, before: bytes | None, after: Content) -> str:
    """A paragraph for the result of an edit, or nothing if the edit broke nothing."""
    found = check(path, before, after)
    if found is None:
        return ""
    since = "The file parsed before this edit and does not now" if before is not None else "The new file does not parse"
    return (
        f"{since}: {found.problem} at line {found.line}, column {found.column} ({found.language}):\n"
        f"{found.line} | {found.text}\n"
        "The edit was kept. Repair it now, unless it is the first of several that belong together."
    )
