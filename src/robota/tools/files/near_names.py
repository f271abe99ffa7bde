"""What to do about a path that does not exist: similar names beside it, or the tool that finds it."""

from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import Final

from robota.contracts.tool import ToolError
from robota.contracts.workspace import Files
from robota.text.visible import printable_name
from robota.workspace.problems import FileProblem, Missing, NotADirectory

MAX_LOOKED_AT: Final = 1_000
MAX_NAMED: Final = 3
# Two short names are alike by their suffix alone: a.txt and gone.txt.
LEAST_ALIKE: Final = 0.75


def with_near_names(problem: FileProblem, path: str, files: Files) -> ToolError:
    """The problem of a path where nothing suitable is, with what the model can do about it."""
    return ToolError(f"{problem} {where_else(path, files)}")


def directory_for_model(path: str, files: Files) -> Path:
    """The real path of a directory; a `ToolError` with similar names if there is none."""
    try:
        return files.directory(path)
    except NotADirectory as error:
        raise with_near_names(error, path, files) from error


def where_else(path: str, files: Files) -> str:
    """What there is instead: a file of that name, similar names in the directory, or a call that looks for it."""
    missing, entries = _first_missing(PurePosixPath(path), files)
    if missing.name in entries and _leads_nowhere(path, files):
        return f"{printable_name(path)!r} is a symbolic link to something that does not exist. Choose another path."
    if missing.name in entries:
        return f"{printable_name(str(missing))!r} is a file. Read it with read_file, or search it with search_files."
    below = PurePosixPath(path).relative_to(missing)
    near = [repr(printable_name(_with_rest(each, below, files))) for each in _near(missing, entries)]
    if near:
        return f"Did you mean {' or '.join(near)}?"
    from robota.contracts.rest_of_result import named_call

    name = PurePosixPath(path).name
    nearest = named_call("list_files", **({} if missing.parent == PurePosixPath() else {"path": str(missing.parent)}))
    return f"Find it with {named_call('glob', pattern=f'**/{name}')}, or see what there is with {nearest}."


def _first_missing(path: PurePosixPath, files: Files) -> tuple[PurePosixPath, list[str]]:
    """The part of the path that is not there, and the names beside it; those of directories end with a slash."""
    for part in (path, *path.parents):
        try:
            return part, list(files.list(str(part.parent), False, MAX_LOOKED_AT).entries)
        except FileProblem:
            continue
    return path, []


def _leads_nowhere(path: str, files: Files) -> bool:
    """Whether a path that is listed cannot be followed."""
    try:
        files.read(path, max_bytes=0)
    except Missing:
        return True
    except FileProblem:
        return False
    return False


def _with_rest(near: str, below: PurePosixPath, files: Files) -> str:
    """The path in a directory of a similar name, if there is what was wanted; else the directory."""
    candidate = PurePosixPath(near) / below
    missing, entries = _first_missing(candidate, files)
    return str(candidate) if missing == candidate and {candidate.name, f"{candidate.name}/"} & set(entries) else near


def _near(missing: PurePosixPath, entries: list[str]) -> list[str]:
    names = {entry.removesuffix("/").lower(): entry for entry in entries}
    folded = missing.name.lower()
    # Of a short name, two letters in the wrong order are too much of a difference.
    swapped = [name for name in names if sorted(name) == sorted(folded)]
    alike = list(dict.fromkeys((*swapped, *get_close_matches(folded, names, MAX_NAMED, LEAST_ALIKE))))[:MAX_NAMED]
    return [str(missing.parent / names[name]) for name in alike]
