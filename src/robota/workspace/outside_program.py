"""Start a program outside the sandbox: the only place in Robota that does, except for the model's commands.

Commands may write to the workspace and to their private /tmp, so nothing that runs outside the sandbox is taken from
there: no program, no entry of its PATH, no variable that makes it load code from there. A file of the workspace runs
only if the caller has verified its content.
"""

import asyncio
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import msgspec

WORKTREES: Final = "/.robota/worktrees/"
MAX_LINKS: Final = 40
MAX_SHEBANG_BYTES: Final = 256
# The directories that commands of sessions see as /tmp; see `sandbox/private_tmp.py`.
PRIVATE_TMP_PREFIX: Final = "robota-tmp-"
# Needs no workspace to be known: our own interpreter, and the shell of the system.
OWN_PROGRAMS: Final = frozenset({sys.executable, os.path.realpath(sys.executable), "/bin/sh"})
# Lists of directories that programs load code from; entries in the workspace and relative ones are removed.
CODE_DIRECTORIES: Final = frozenset(
    {
        *("PATH", "PYTHONPATH", "NODE_PATH", "PERL5LIB", "PERLLIB", "RUBYLIB", "GEM_PATH", "CLASSPATH", "LUA_PATH"),
        *("LUA_CPATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT", "DYLD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES"),
        *("TCLLIBPATH", "GUILE_LOAD_PATH", "EMACSLOADPATH", "R_LIBS", "GIO_MODULE_DIR", "GCONV_PATH"),
    }
)
# Variables with one file, directory or text of options; removed if they name anything in the workspace.
CODE_SETTINGS: Final = frozenset(
    {
        *("BASH_ENV", "ENV", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONPYCACHEPREFIX", "VIRTUAL_ENV"),
        *("NODE_OPTIONS", "RUBYOPT", "PERL5OPT", "PERL5DB", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"),
        *("GEM_HOME", "BUNDLE_GEMFILE", "RIPGREP_CONFIG_PATH", "LESSOPEN", "LESSCLOSE", "PHPRC", "PHP_INI_SCAN_DIR"),
        *("DENO_DIR", "NPM_CONFIG_PREFIX", "npm_config_prefix", "NPM_CONFIG_USERCONFIG", "npm_config_userconfig"),
        *("CARGO_HOME", "RUSTC_WRAPPER", "GOFLAGS", "GOPATH", "GOROOT", "VIMINIT", "EXINIT", "VIM", "VIMRUNTIME"),
        *("ZDOTDIR", "INPUTRC", "UV_CONFIG_FILE", "PIP_CONFIG_FILE", "EDITOR", "VISUAL", "PAGER", "MAKEFILES"),
        *("GIT_DIR", "GIT_COMMON_DIR", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_CONFIG", "GIT_CONFIG_GLOBAL"),
        *("GIT_CONFIG_SYSTEM", "GIT_CONFIG_PARAMETERS", "GIT_EXTERNAL_DIFF", "GIT_SSH", "GIT_SSH_COMMAND"),
        *("GIT_ASKPASS", "SSH_ASKPASS", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PROXY_COMMAND"),
    }
)
# Settings of git given by one variable each; git refuses to start if any is missing.
GIT_SETTING: Final = re.compile(r"GIT_CONFIG_(?:COUNT|KEY_\d+|VALUE_\d+)")
# An option of an interpreter that loads a module, which it looks for in the directory it starts in.
LOADED_BY_NAME: Final = re.compile(r"(?:^|\s)(?:-r|--require|--import|--loader|--experimental-loader)[=\s]+[^/\s]")
BETWEEN_PATHS: Final = re.compile(r"[\s=:,;'\"]+")


class ProgramRefused(FileNotFoundError):
    """The program was not started: it is not there, or commands could have written it. `strerror` says which."""

    def __init__(self, program: str, reason: str) -> None:
        super().__init__(2, reason, program)


class CleanEnvironment(msgspec.Struct, frozen=True):
    """An environment made by `clean_environment`, with variables of our own, which may name the workspace."""

    variables: Mapping[str, str] | Mapping[bytes, bytes]


class ProgramStart(msgspec.Struct, frozen=True, kw_only=True):
    """A program to be started; see `start_outside`."""

    argv: tuple[str, ...]
    workspace: Path
    cwd: Path
    env: Mapping[str, str]
    verified: frozenset[Path] = frozenset()


Environment = Mapping[str, str] | CleanEnvironment
Program = Sequence[str]


def start_outside(
    program: Program,
    *,
    workspace: Path | None,
    env: Environment,
    cwd: Path | str = "/",
    verified: Collection[Path] = (),
    **options: Any,
) -> "subprocess.Popen[bytes]":
    """Start a program with the `options` of `Popen`. Raises `OSError`, and `ProgramRefused` is one.

    `workspace` is where commands can write; None is enough for our own interpreter and the shell of the system.
    `verified` are files and directories of the workspace that the caller has just compared with what the user agreed
    to.
    """
    argv, variables = _prepared(program, workspace, env, cwd, verified)
    try:
        return subprocess.Popen(argv, cwd=cwd, env=variables, **options)
    except ValueError as error:
        raise OSError(22, str(error)) from error


def run_outside(
    program: Program,
    *,
    workspace: Path | None,
    env: Environment,
    cwd: Path | str = "/",
    verified: Collection[Path] = (),
    **options: Any,
) -> "subprocess.CompletedProcess[bytes]":
    """Run a program to its end, with the `options` of `subprocess.run`. Raises like `start_outside`."""
    argv, variables = _prepared(program, workspace, env, cwd, verified)
    return subprocess.run(argv, cwd=cwd, env=variables, check=False, **options)


async def start_outside_async(
    program: Program,
    *,
    workspace: Path | None,
    env: Environment,
    cwd: Path | str = "/",
    verified: Collection[Path] = (),
    **options: Any,
) -> asyncio.subprocess.Process:
    """The asyncio form of `start_outside`."""
    argv, variables = _prepared(program, workspace, env, cwd, verified)
    return await asyncio.create_subprocess_exec(*argv, cwd=cwd, env=variables, **options)


def find_program(name: str, environment: Mapping[str, str], *, not_beneath: Path | None) -> str | None:
    """The absolute path of a program that commands cannot have written; None if there is none.

    Entries of the PATH in `not_beneath`, such as an active virtual environment there, are skipped, and programs that
    lie there behind a link or are run by an interpreter there. A name with a `/` is a path, from `/` on.
    """
    if "/" in name:
        return name if _is_program(name) and not _is_writable(name, not_beneath) else None
    for folder in clean_path(environment.get("PATH", os.defpath), not_beneath).split(os.pathsep):
        program = f"{folder}/{name}"
        if folder and _is_program(program) and not _is_writable(program, not_beneath):
            return program
    return None


def chosen_program(command: str, environment: Mapping[str, str], workspace: Path) -> list[str]:
    """The command line of a program that a variable of the user names, such as `$EDITOR`, with its arguments.

    Raises `ProgramRefused` if it is not there, or if it or an argument lies in the workspace.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    program = find_program(words[0], environment, not_beneath=workspace) if words else None
    if program is None:
        raise ProgramRefused(command, "it was not found outside the workspace")
    if any(_names_path_in(word, workspace) for word in words[1:] if "/" in word):
        raise ProgramRefused(command, "it names a file of the workspace, where commands of the agent can write")
    return [program, *words[1:]]


def clean_environment(environment: Mapping[str, str], workspace: Path | None) -> dict[str, str]:
    """Remove what makes a program load code from the workspace, or from the directory it starts in."""
    kept = dict(environment)
    for name in CODE_DIRECTORIES.intersection(environment):
        kept[name] = clean_path(environment[name], workspace)
        if not kept[name] and name != "PATH":
            del kept[name]
    if workspace is None:
        return kept
    for name in CODE_SETTINGS.intersection(environment):
        if _names_path_in(environment[name], workspace):
            del kept[name]
    settings = [name for name in kept if GIT_SETTING.fullmatch(name)]
    if any(str(workspace) in kept[name] for name in settings):
        kept = {name: value for name, value in kept.items() if name not in settings}
    return kept


def clean_path(path: str, workspace: Path | None) -> str:
    """Remove the entries of a PATH that are relative, or that lead to or through a place that commands can write."""
    return _clean_path(path, None if workspace is None else str(workspace))


@lru_cache(maxsize=64)
def _clean_path(path: str, workspace: str | None) -> str:
    # Remembered, because what is kept lies where no command can change it.
    root = None if workspace is None else Path(workspace)
    folders = (folder for folder in path.split(os.pathsep) if folder.startswith("/"))
    return os.pathsep.join(folder for folder in folders if not is_writable_by_commands(folder, root))


def is_writable_by_commands(path: str, workspace: Path | None) -> bool:
    """Whether an absolute path leads to or through the workspace or a private /tmp, following every link."""
    roots = () if workspace is None else _roots(str(workspace))
    return any(_is_in(step, roots) or f"/{PRIVATE_TMP_PREFIX}" in step for step in _steps(path))


def removed_from_path(path: str, workspace: Path | None) -> tuple[str, ...]:
    """The absolute entries of a PATH that programs outside the sandbox do not get."""
    kept = clean_path(path, workspace).split(os.pathsep)
    return tuple(folder for folder in path.split(os.pathsep) if folder.startswith("/") and folder not in kept)


def not_found(name: str, path: str, workspace: Path | None) -> str:
    """Why a program was not found, and what the user can do."""
    for folder in removed_from_path(path, workspace):
        if _is_program(f"{folder}/{name}"):
            return (
                f"{name} is only in {folder}, where commands of the agent can write, so it is not found by its name "
                f"outside the sandbox. Give its path instead: {folder}/{name}. It is then protected, and asked about "
                "when it changes"
            )
    return f"there is no program {name} on the PATH"


def _prepared(
    program: Program, workspace: Path | None, env: Environment, cwd: Path | str, verified: Collection[Path]
) -> tuple[list[str], Mapping[str, str] | Mapping[bytes, bytes]]:
    """The command line with the absolute path of the program, and its environment."""
    if isinstance(env, CleanEnvironment):
        variables: Mapping[str, str] | Mapping[bytes, bytes] = env.variables
        path = ""
    else:
        path = env.get("PATH", os.defpath)
        variables = clean_environment(env, workspace)
    return [_resolved(program[0], workspace, path, cwd, verified), *program[1:]], variables


def _resolved(name: str, workspace: Path | None, path: str, cwd: Path | str, verified: Collection[Path]) -> str:
    if name in OWN_PROGRAMS:
        return name
    if workspace is None:
        raise ValueError(f"{name!r} is not a program of our own, so the workspace must be known")
    if "/" not in name:
        program = find_program(name, {"PATH": path}, not_beneath=workspace)
        if program is None:
            raise ProgramRefused(name, not_found(name, path, workspace))
        return program
    absolute = os.path.normpath(os.path.join(cwd, name))  # noqa: PTH118 - `Path` would keep `..`
    if _is_writable(absolute, workspace) and not _is_in(absolute, {str(each) for each in verified}):
        reason = "it lies where commands of the agent can write, and its content was not verified"
        raise ProgramRefused(name, reason)
    return absolute


@lru_cache(maxsize=256)
def _is_writable(program: str, workspace: Path | None) -> bool:
    """Whether commands can write the program, or the interpreter in its first line."""
    if is_writable_by_commands(program, workspace):
        return True
    interpreter = _interpreter(program)
    return interpreter is not None and is_writable_by_commands(interpreter, workspace)


def _interpreter(program: str) -> str | None:
    try:
        with Path(program).open("rb") as file:
            first = file.read(MAX_SHEBANG_BYTES).partition(b"\n")[0]
    except OSError:
        return None
    words = first[2:].split() if first.startswith(b"#!") else ()
    return os.fsdecode(words[0]) if words and words[0].startswith(b"/") else None


def _names_path_in(value: str, workspace: Path) -> bool:
    """Whether a value names a path in the workspace, or a relative one, which the directory it starts in decides."""
    if LOADED_BY_NAME.search(value):
        return True
    paths = (os.path.join(workspace, word) for word in BETWEEN_PATHS.split(value) if "/" in word)  # noqa: PTH118
    return any(is_writable_by_commands(os.path.normpath(path), workspace) for path in paths)


def _is_program(path: str) -> bool:
    return os.access(path, os.X_OK) and Path(path).is_file()


def _is_in(path: str, roots: Collection[str]) -> bool:
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def _roots(workspace: str) -> frozenset[str]:
    """The workspace by its names; for a worktree of ours also the project that holds it."""
    names = {workspace, os.path.realpath(workspace)}
    return frozenset(names | {name.partition(WORKTREES)[0] for name in names if WORKTREES in name})


def _steps(path: str) -> Iterator[str]:
    """Every absolute path that the kernel passes on the way to this one, link by link."""
    yield path
    left = [part for part in reversed(path.split("/")) if part]
    reached, links = "", 0
    while left:
        part = left.pop()
        if part == ".":
            continue
        reached = reached.rpartition("/")[0] if part == ".." else f"{reached}/{part}"
        yield reached or "/"
        try:
            target = os.readlink(reached) if part != ".." else None  # noqa: PTH115 - a third of the time of a `Path`
        except OSError:
            continue
        if target is None:
            continue
        links += 1
        if links > MAX_LINKS:
            return
        left += [piece for piece in reversed(target.split("/")) if piece]
        reached = "" if target.startswith("/") else reached.rpartition("/")[0]
