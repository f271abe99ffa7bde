"""Finds the files that decide what a command means.

They are the entry, not everything that it loads: a script imports other files, a Makefile calls programs. What these
may do is limited by the sandbox. Files outside the workspace are not among them, because commands cannot change those.
"""

import os
import posixpath
import re
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.config.durable_file import read_file
from robota.workspace.entry_files.entry import CommandEntry, PinnedFile
from robota.workspace.entry_files.programs import (
    CUSTOMIZING_MODULES,
    INTERPRETERS,
    MAKE,
    MAKE_DIRECTORY,
    MAKE_FILE,
    MAKE_FLAGS,
    MODULE_SUFFIXES,
    NODE_PROGRAMS,
    PACKAGE_MANAGERS,
    PACKAGE_SETTINGS,
    PROJECT_RUNNERS,
    PYTHON_ENVIRONMENT,
    PYTHON_PROGRAMS,
    QUIET,
    RUN,
    RUNNER_FLAGS,
    SHORT_NAMES,
    SHORT_SCRIPTS,
    TASK_RUNNERS,
    VERSION,
    Interpreter,
)
from robota.workspace.files.package_directories import VIRTUAL_ENVIRONMENT
from robota.workspace.shell.expansion import files_matching
from robota.workspace.shell.script import Argv

MAX_FILE_BYTES: Final = 1024 * 1024
MAX_FILES: Final = 40
MAX_DEPTH: Final = 4
MAX_PATH_LENGTH: Final = 4096
# A sandboxed command has its own of these, which cannot be looked at from outside.
OWN_IN_SANDBOX: Final = ("/tmp/", "/var/tmp/", "/dev/", "/proc/")
# `load` loads a library into make. Before the first rule, a tab at the beginning of a line means nothing.
INCLUDE: Final = re.compile(r"^[ \t]*(?:-?include|sinclude|-?load)[ \t]+([^#\n]+)", re.MULTILINE)
CONTINUED_LINE: Final = re.compile(r"\\\r?\n")
SHEBANG: Final = re.compile(rb"#!([^\n]*)")
FROM_INPUT: Final = "it runs what it reads from its input"
NO_FILE: Final = "the file that says what it does was not found"


class Unpinnable(Exception):
    """What the command means cannot be tied to files. The text says why, as words to follow a colon."""


def find_entry(argv: Argv, directory: str, root: Path) -> CommandEntry:
    """The files that decide what the command means when it runs in a directory of the workspace.

    Raises `Unpinnable`.
    """
    real_root = posixpath.realpath(root)
    search = _EntrySearch(real_root, posixpath.normpath(posixpath.join(real_root, directory)))
    search.command(argv)
    return CommandEntry(files=tuple(search.files.values()))


def knows_entry_of(argv: Argv) -> bool:
    """Whether it is known which files the program of a command starts from."""
    name = posixpath.basename(argv[0])
    programs = (*INTERPRETERS, *TASK_RUNNERS, *PACKAGE_MANAGERS)
    return VERSION.sub("", name) in programs or _project_runner(argv) is not None


class _EntrySearch:
    """The files of one command that have been found so far, by path."""

    def __init__(self, root: str, directory: str) -> None:
        self._root = root
        self._directory = directory
        self.files: dict[str, PinnedFile] = {}

    def command(self, argv: Argv, depth: int = 0) -> None:
        if not argv or depth > MAX_DEPTH:
            raise Unpinnable("it is not clear which program it runs")
        if argv[:3] == ("git", "bisect", "run"):
            raise Unpinnable("it runs other versions of its files")
        if "/" in argv[0]:
            self._add(argv[0])
            self._environment(posixpath.dirname(argv[0]))
        name = posixpath.basename(argv[0])
        interpreter = VERSION.sub("", name)
        runner = _project_runner(argv)
        if runner is not None:
            self._run_in_project(argv, runner, depth)
        elif interpreter in INTERPRETERS:
            self._run_script(argv, INTERPRETERS[interpreter], is_python=interpreter in {"python", "pypy"})
        elif name in MAKE:
            self._read_make(argv)
        elif name in TASK_RUNNERS:
            self._task_runner(argv)
        elif name in PACKAGE_MANAGERS:
            self._package_script(argv)

    def _run_in_project(self, argv: Argv, runner: tuple[str, ...], depth: int) -> None:
        for name in PROJECT_RUNNERS[runner]:
            self._add_nearest((name,))
        rest = argv[len(runner) :]
        while rest and rest[0] in RUNNER_FLAGS:
            rest = rest[1:]
        if not rest or rest[0].startswith("-"):
            raise Unpinnable("its options may name other files")
        self._add(rest[0])  # `uv run x.py` needs no interpreter
        if rest[0].endswith(".py"):
            self._modules_instead_of_python(posixpath.dirname(rest[0]))
        if "/" not in rest[0]:
            for programs in (NODE_PROGRAMS, PYTHON_PROGRAMS):
                self._add_nearest((f"{programs}/{rest[0]}",))
        if (directory := self._nearest_directory((PYTHON_ENVIRONMENT,))) is not None:
            self._add(posixpath.join(directory, PYTHON_ENVIRONMENT))
        self.command(rest, depth + 1)

    def _environment(self, programs: str) -> None:
        """What makes Python take its own modules from elsewhere, beside the program or above it."""
        for directory in (programs, posixpath.join(programs, "..")):
            file = posixpath.join(directory, VIRTUAL_ENVIRONMENT)
            if self._relative(file) is not None:
                self._add(file)

    def _run_script(self, argv: Argv, interpreter: Interpreter, *, is_python: bool) -> None:
        words = iter(argv[1:])
        for word in words:
            if is_python and re.fullmatch(f"(?:{interpreter.flags})?m|-m", word):
                self._modules_instead_of_python("")
                self._module(next(words, ""))
                return
            if re.fullmatch(interpreter.inline, word):
                if is_python:
                    self._modules_instead_of_python("")
                return
            if word in interpreter.valued:
                next(words, None)
            elif not word.startswith("-"):
                self._script(word)
                if is_python:
                    self._modules_instead_of_python(posixpath.dirname(word))
                return
            elif not re.fullmatch(interpreter.flags, word):
                raise Unpinnable(f"its option {word} may name other files" if word != "-" else FROM_INPUT)
        if interpreter.needs_no_script not in argv[1:]:
            raise Unpinnable(FROM_INPUT)

    def _script(self, word: str) -> None:
        """A script must be a file. What an interpreter makes of a directory or a missing name, it decides itself."""
        path = posixpath.realpath(posixpath.join(self._directory, word))
        if not self._add(word) and not posixpath.isfile(path):
            raise Unpinnable(f"{word} is not a file, and what is run instead is not known")

    def _module(self, name: str) -> None:
        """The files of `python -m NAME`, if they are in the workspace."""
        parts = name.split(".")
        for count in range(1, len(parts)):
            self._module_files("/".join(parts[:count]), "__init__")
        self._module_files("/".join(parts[:-1]), parts[-1])
        for module in ("__init__", "__main__"):
            self._module_files("/".join(parts), module)

    def _module_files(self, directory: str, module: str) -> None:
        """All files that Python may load as this module: libraries come before source."""
        for name in self._names(directory):
            if name.partition(".")[0] == module and name.endswith(MODULE_SUFFIXES):
                self._add(posixpath.join(directory, name))

    def _names(self, directory: str) -> list[str]:
        try:
            return sorted(entry.name for entry in os.scandir(posixpath.join(self._directory, directory)))
        except (OSError, ValueError):
            return []

    def _modules_instead_of_python(self, directory: str) -> None:
        """Files that Python would load instead of modules of its own: any program could import them."""
        for name in self._names(directory):
            module, dot, _ = name.partition(".")
            if module not in sys.stdlib_module_names | CUSTOMIZING_MODULES or module == "test":
                continue
            if not dot:
                self._module_files(posixpath.join(directory, name), "__init__")
            elif name.endswith(MODULE_SUFFIXES):
                self._add(posixpath.join(directory, name))

    def _read_make(self, argv: Argv) -> None:
        directory, named = _make_options(argv)
        names = named or TASK_RUNNERS[posixpath.basename(argv[0])].files
        makefiles = [file for name in names if self._add(file := posixpath.join(directory, name))]
        if not makefiles:
            raise Unpinnable(NO_FILE)
        for file in makefiles:
            self._included(file, directory)
        for word in argv[1:]:
            self._add(word.partition("=")[2])  # SHELL=./x

    def _included(self, file: str, directory: str) -> None:
        """The files that a Makefile names in `include` lines; names with variables cannot be known."""
        makefile = self.files.get(self._relative(posixpath.realpath(posixpath.join(self._directory, file))) or "")
        if makefile is None:
            return
        for line in INCLUDE.findall(CONTINUED_LINE.sub(" ", makefile.text)):
            for word in line.split():
                if "$" in word:
                    continue
                for each in _matching(posixpath.join(self._directory, directory), word):
                    if self._relative(each) not in self.files and self._add(each):
                        self._included(each, directory)

    def _task_runner(self, argv: Argv) -> None:
        runner = TASK_RUNNERS[posixpath.basename(argv[0])]
        words = iter(argv[1:])
        for word in words:
            if word in runner.valued:
                next(words, None)
            elif word.startswith("-") and word not in QUIET:
                raise Unpinnable(f"its option {word} may name other files")
        directory = self._add_nearest(runner.files)
        if directory is None:
            raise Unpinnable(NO_FILE)
        for name in runner.beside:
            self._add(posixpath.join(directory, name))

    def _package_script(self, argv: Argv) -> None:
        name = _script_name(argv)
        directory = self._nearest_directory(("package.json",))
        if name is None or directory is None:
            return
        package = posixpath.join(directory, "package.json")
        data = self._read(package)
        try:
            scripts = msgspec.json.decode(data, type=_Package).scripts
        except msgspec.DecodeError as error:
            raise Unpinnable("package.json cannot be understood") from error
        decisive = {each: scripts[each] for each in (f"pre{name}", name, f"post{name}") if each in scripts}
        if not decisive:
            # bun runs files, and all but npm run installed programs
            if not self._add(name) and self._add_nearest((f"{NODE_PROGRAMS}/{name}",)) is None:
                raise Unpinnable(f"package.json has no script {name}, and what is run instead is not known")
            return
        relative = self._relative(package) or package
        meaning = "".join(f"{each}: {text}\n" for each, text in decisive.items())
        self.files[relative] = PinnedFile(path=relative, data=data, meaning=meaning)
        for settings in PACKAGE_SETTINGS:
            self._add(posixpath.join(directory, settings))
            self._add(posixpath.join(self._root, settings))

    def _nearest_directory(self, names: Sequence[str]) -> str | None:
        """The directory, or the nearest one above it in the workspace, that has one of these files."""
        directory = posixpath.realpath(self._directory)
        while self._relative(directory) is not None:
            if any(posixpath.isfile(posixpath.join(directory, name)) for name in names):
                return directory
            directory = posixpath.dirname(directory)
        return None

    def _add_nearest(self, names: Sequence[str]) -> str | None:
        """Add those of the files that the nearest directory with one of them has; returns the directory."""
        directory = self._nearest_directory(names)
        for name in names if directory is not None else ():
            self._add(posixpath.join(directory or "", name))
        return directory

    def _add(self, word: str) -> bool:
        """Add the file that a word names, with links followed, if it is one of the workspace."""
        if not word or len(word) > MAX_PATH_LENGTH:
            return False
        named = posixpath.normpath(posixpath.join(self._directory, word))
        try:
            path = posixpath.realpath(named)
        except (OSError, ValueError):
            return False
        if any(self._relative(each) is None and each.startswith(OWN_IN_SANDBOX) for each in (named, path)):
            raise Unpinnable(f"{word} is not the same file for each command")
        relative = self._relative(path)
        status = _status(path)
        if status is None or relative is None or not stat.S_ISREG(status.st_mode):
            return False
        if relative not in self.files:
            if len(self.files) >= MAX_FILES:
                raise Unpinnable(f"more than {MAX_FILES} files decide what it does")
            file = PinnedFile(path=relative, data=self._read(path), is_executable=bool(status.st_mode & 0o111))
            self.files[relative] = file
            for each in _words_of_first_line(file):
                self._add(each)
        return True

    def _read(self, path: str) -> bytes:
        try:
            return read_file(Path(path), most=MAX_FILE_BYTES)
        except OSError as error:
            raise Unpinnable(f"{self._relative(path)} is too large, or cannot be read") from error

    def _relative(self, path: str) -> str | None:
        whole = posixpath.normpath(posixpath.join(self._directory, path))
        if whole == self._root:
            return "."
        return whole.removeprefix(f"{self._root}/") if whole.startswith(f"{self._root}/") else None


class _Package(msgspec.Struct, frozen=True):
    scripts: dict[str, str] = {}


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - with links already followed
    except OSError:
        return None


def _project_runner(argv: Argv) -> tuple[str, ...] | None:
    return next((words for words in PROJECT_RUNNERS if argv[: len(words)] == words), None)


def _words_of_first_line(script: PinnedFile) -> Sequence[str]:
    """The program in the first line of a script and its arguments, which may be files of the workspace too."""
    shebang = SHEBANG.match(script.data) if script.is_executable else None
    return [] if shebang is None else [os.fsdecode(word) for word in shebang[1].split()]


def _script_name(argv: Argv) -> str | None:
    """The script that a package manager runs; None if it runs none. Raises `Unpinnable` if an option hides that."""
    before_dashes = argv[1 : argv.index("--")] if "--" in argv else argv[1:]
    words = [word for word in before_dashes if word not in QUIET]
    if words[:1] and words[0] in RUN:
        words = words[1:]
    elif argv[0] == "npm" and (words[:1] and words[0].isalpha()) and words[0] not in SHORT_SCRIPTS:
        return None
    if any(word.startswith("-") for word in words):
        raise Unpinnable("its options may name another package")
    return SHORT_NAMES.get(words[0], words[0]) if words else None


def _make_options(argv: Argv) -> tuple[str, tuple[str, ...]]:
    """The directory and the files that the arguments of make name. Raises `Unpinnable` for unknown options."""
    directory, files = "", list[str]()
    words = iter(argv[1:])
    for word in words:
        if not word.startswith("-") or re.fullmatch(MAKE_FLAGS, word):
            continue
        name, joined, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
        value = value if joined else next(words, "")
        if name in MAKE_DIRECTORY:
            directory = posixpath.join(directory, value)
        elif name in MAKE_FILE and value != "-":
            files.append(value)
        else:
            raise Unpinnable(f"its option {word} may name other files")
    return directory, tuple(files)


def _matching(directory: str, pattern: str) -> Sequence[str]:
    if not any(sign in pattern for sign in "*?["):
        return (posixpath.join(directory, pattern),)
    return files_matching(directory, pattern)
