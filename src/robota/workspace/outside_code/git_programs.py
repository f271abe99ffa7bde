"""What git would run of the workspace if a program outside the sandbox starts it there.

The configuration of a repository can name programs that even `git status` runs, and its hooks run with other commands.
A clone brings neither, but an unpacked archive may, and where `.git` is not protected, a command can write both. So a
program that may start git counts as running the files that git obeys, unless these are known to be harmless.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.files.path_status import may_be_present
from robota.workspace.git.configured_files import find_configured_files, hooks_directory
from robota.workspace.git.repository_safety import git_safety
from robota.workspace.outside_code.code_search import CodeFiles, NamedProgram
from robota.workspace.outside_code.command_words import program_index, shell_commands
from robota.workspace.outside_program import find_program

# git, and programs that do little without starting it; `.git` and `a.git` are no programs.
STARTING_GIT: Final = re.compile(
    rb"(?<![\w.])(?:git|gh|glab|hub|tig|lazygit|gitui|jj|pre-commit|lefthook|lint-staged|starship)(?!\w)"
)
RUNNING_HOOKS: Final = re.compile(
    rb"\b(?:am|checkout|cherry-pick|commit|fetch|gc|merge|pull|push|rebase|reset|revert|stash|switch|worktree)\b"
)
SAMPLE: Final = ".sample"
MAX_SCRIPT_BYTES: Final = 256 * 1024
# A file with a zero byte near its beginning is not a script.
TEXT_BYTES: Final = 1024


def with_git_programs(code: CodeFiles, program: NamedProgram, root: Path, env: Mapping[str, str]) -> CodeFiles:
    """The code, with what git would run of the workspace if the program may start it."""
    texts = list(_texts(code, program, root, env))
    if not any(map(STARTING_GIT.search, texts)):
        return code
    problem = git_safety(root).problem
    hooks = _hooks(root, env) if any(map(RUNNING_HOOKS.search, texts)) else None
    if problem is None and hooks is None:
        return code
    obeyed = find_configured_files(root, env)
    directories = [path for path in obeyed.paths if path.is_dir()]
    return msgspec.structs.replace(
        code,
        files=tuple(dict.fromkeys((*code.files, *(path for path in obeyed.paths if not path.is_dir())))),
        trees=tuple(dict.fromkeys((*code.trees, *directories, *([] if hooks is None else [hooks])))),
        unbounded=code.unbounded or obeyed.unprotectable,
        named_by_git=problem or "it has hooks",
    )


def _texts(code: CodeFiles, program: NamedProgram, root: Path, env: Mapping[str, str]) -> Iterator[bytes]:
    """The words of the program, and the scripts among them, wherever they are."""
    variables = {"HOME": env.get("HOME", "/"), **program.variables}
    for word in program.argv:
        yield os.fsencode(word)
        for words in shell_commands(word):
            index = program_index(words)
            if index < len(words) and "/" not in words[index]:
                yield _script(find_program(words[index], env, not_beneath=root))
            for each in words:
                yield _script(_path(each, program.cwd, variables))
    for path in code.files:
        yield _script(str(path))


def _path(word: str, cwd: Path, variables: Mapping[str, str]) -> str | None:
    for name, value in variables.items():
        word = word.replace(f"${{{name}}}", value).replace(f"${name}", value)
    if word.startswith("~/"):
        word = variables["HOME"] + word[1:]
    return os.path.normpath(cwd / word) if "/" in word and "\0" not in word else None


def _script(path: str | None) -> bytes:
    """The text of a script; empty for everything else."""
    if path is None:
        return b""
    try:
        if not Path(path).is_file():
            return b""
        with Path(path).open("rb") as file:
            data = file.read(MAX_SCRIPT_BYTES)
    except OSError:
        return b""
    return b"" if b"\0" in data[:TEXT_BYTES] else data


def _hooks(root: Path, env: Mapping[str, str]) -> Path | None:
    """The directory of the repository's hooks, if it has any."""
    directory = hooks_directory(root, env)
    if directory is None or not _belongs_to_repository(directory, root):
        return None
    try:
        has_any = any(os.access(each, os.X_OK) and each.suffix != SAMPLE for each in directory.iterdir())
    except OSError:
        return None
    return directory if has_any else None


def _belongs_to_repository(directory: Path, root: Path) -> bool:
    """Not to the user, whose configuration may name a directory of hooks for all repositories."""
    is_inside = directory.is_relative_to(root) or directory.is_relative_to(os.path.realpath(root))
    return is_inside or may_be_present(directory.parent / "HEAD")
