"""Find the files of a workspace that a program outside the sandbox would run, by reading its command line.

Rather too many than too few: every word that is a file of the workspace counts, whatever the program does with it. What
such a script loads in turn is followed as far as its text says it, within limits.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, assert_never

import msgspec

from robota.workspace.files.path_status import Presence, presence_of
from robota.workspace.outside_code.command_words import (
    MODULE_FLAG,
    TEXT_FLAG,
    package_words,
    program_index,
    script_index,
    shell_commands,
    words_after,
)
from robota.workspace.outside_code.conventions import (
    CONVENTIONS,
    ENTERING,
    INTERPRETERS,
    LOADING,
    PYTHON,
    TAKING_PACKAGES,
    Convention,
)
from robota.workspace.outside_code.loaded_files import (
    JAVASCRIPT_SUFFIXES,
    PYTHON_SUFFIXES,
    SEARCHES_ELSEWHERE,
    TYPESCRIPT_SUFFIXES,
    JavaScriptModules,
    NothingLoaded,
    PythonModules,
    ShellText,
    loaded_by,
    python_modules,
)
from robota.workspace.outside_program import CODE_DIRECTORIES, CODE_SETTINGS
from robota.workspace.shell.expansion import ANYTHING, files_matching
from robota.workspace.shell.first_line import shebang_words
from robota.workspace.shell.script import is_assignment

MAX_FILES: Final = 400
MAX_TOTAL_BYTES: Final = 16 * 1024 * 1024
MAX_WORDS: Final = 50_000
MAX_DEPTH: Final = 12
MAX_PATH: Final = 4_096
HAS_MORE_COMMANDS: Final = re.compile(r"[\s;|&`'\"]|\$\(")
# A variable whose value is unknown, and what follows it: a path from some directory on.
AFTER_UNKNOWN: Final = re.compile(r".*(?:\$\{[^}]*\}|\$\w+|\))/+")
GLOB: Final = re.compile(r"[*?\[]")
CODE_SUFFIXES: Final = (
    PYTHON_SUFFIXES
    | JAVASCRIPT_SUFFIXES
    | {".sh", ".bash", ".zsh", ".fish", ".rb", ".pl", ".pm", ".php", ".lua", ".awk", ".mk", ".env", ".jar", ".exe"}
)
JAVASCRIPT_ENDINGS: Final = (
    *("", ".json"),
    *(f"{before}{suffix}" for before in ("", "/index") for suffix in sorted(JAVASCRIPT_SUFFIXES)),
)
# Arguments that are read and written, not run: pinning them would stop the program that writes them.
DATA_SUFFIXES: Final = frozenset(
    {".db", ".sqlite", ".sqlite3", ".duckdb", ".md", ".txt", ".csv", ".tsv", ".log", ".jsonl", ".parquet", ".lock"}
)
EVERYWHERE: Final = "it runs code from all over the workspace"
VIRTUAL_ENVIRONMENT: Final = "pyvenv.cfg"
NODE_MODULES: Final = "node_modules"
LOADING_VARIABLES: Final = CODE_DIRECTORIES | CODE_SETTINGS | {"CLAUDE_PLUGIN_ROOT", "ROBOTA_PLUGIN_ROOT"}


class NamedProgram(msgspec.Struct, frozen=True, kw_only=True):
    """A program as the settings name it. `label` is for messages; `variables` are set for it."""

    label: str
    argv: tuple[str, ...]
    cwd: Path
    variables: Mapping[str, str] = {}


class CodeFiles(msgspec.Struct, frozen=True, kw_only=True):
    """What a program runs from the workspace.

    `files` by their paths as used, links included. `trees` are directories as a whole. From `module_directories` Python
    imports by name, so a new file there may be run. `missing` are named, but do not exist. `unbounded` says why not all
    of it could be found, `named_by_git` why git would run programs if it is started.
    """

    files: tuple[Path, ...] = ()
    trees: tuple[Path, ...] = ()
    module_directories: tuple[Path, ...] = ()
    missing: tuple[Path, ...] = ()
    unbounded: str = ""
    named_by_git: str = ""
    starts_python_modules: bool = False

    @property
    def protected_paths(self) -> tuple[Path, ...]:
        """The paths that must neither change nor appear."""
        return (*self.files, *self.trees, *self.missing)

    @property
    def verified(self) -> frozenset[Path]:
        """The paths that a program may be started from once they were compared."""
        return frozenset((*self.files, *self.trees))


def find_code(program: NamedProgram, root: Path) -> CodeFiles:
    """The code of the workspace that a program runs. Reads files, and runs nothing."""
    search = _Search(root, program.variables)
    search.at_words(program.argv, (str(program.cwd),), 0)
    for name, value in program.variables.items():
        if name in LOADING_VARIABLES:
            search.at_value(value, str(program.cwd))
    search.follow_files()
    return search.found()


class _Search:
    """The files found so far. `_bases` are the directories that relative paths may start from."""

    def __init__(self, root: Path, variables: Mapping[str, str]) -> None:
        self._root = os.path.realpath(root)
        self._roots = {str(root), self._root}
        self._known = {"PWD": str(root), "CLAUDE_PROJECT_DIR": str(root), "ROBOTA_PROJECT_DIR": str(root), **variables}
        self._files: dict[str, None] = {}
        self._read: set[str] = set()
        self._trees: dict[str, None] = {}
        self._module_directories: dict[str, None] = {}
        self._missing: dict[str, None] = {}
        self._unbounded = ""
        self._left_bytes = MAX_TOTAL_BYTES
        self._left_words = MAX_WORDS
        self._runs_python_file = False
        self._starts_python_module = False
        self._started_in: list[str] = []
        self._seen: set[tuple[str, tuple[str, ...], bool, bool]] = set()
        self._waiting: list[tuple[str, tuple[str, ...]]] = []

    def found(self) -> CodeFiles:
        if not self._roots.isdisjoint(self._trees):
            self._trees = {tree: None for tree in self._trees if tree not in self._roots}
            self._unbounded = self._unbounded or EVERYWHERE
        outside_trees = [each for each in self._files if not any(_is_in(each, tree) for tree in self._trees)]
        starts_modules = self._starts_python_module and not self._runs_python_file
        if self._starts_python_module and self._runs_python_file:
            self._module_directories.update(dict.fromkeys(self._started_in))
        return CodeFiles(
            files=_paths(outside_trees),
            trees=_paths(self._trees),
            module_directories=_paths(self._module_directories),
            missing=_paths(each for each in self._missing if presence_of(each) is not Presence.PRESENT),
            unbounded=self._unbounded,
            starts_python_modules=starts_modules,
        )

    def follow_files(self) -> None:
        """Read the files that are run, the files that these load, and so on."""
        while self._waiting:
            path, bases = self._waiting.pop()
            self._follow(path, self._data(path), bases)

    def at_words(self, words: Sequence[str], bases: tuple[str, ...], depth: int, *, in_script: bool = False) -> None:
        """One simple command: its program, its arguments, and what the program takes from where it starts."""
        index = program_index(words)
        name = words[index].rpartition("/")[2] if index < len(words) else ""
        entered = [base for each in words_after(words, ENTERING) for base in self._directories(each, bases)]
        bases = tuple(dict.fromkeys((*bases, *entered)))
        is_python = PYTHON.fullmatch(name) is not None
        script = script_index(words, index) if is_python or name in INTERPRETERS else None
        if is_python:
            self._at_python(words[index + 1 :], bases)
        for flag, text in pairwise(words[index:]) if name in INTERPRETERS else ():
            if TEXT_FLAG.fullmatch(flag):
                self.at_text(text, bases, depth + 1, in_script=in_script)
        started = words[index : index + 1] if name not in TAKING_PACKAGES else words[index:]
        for each in started:
            self._obey(CONVENTIONS.get(each.rpartition("/")[2]), bases)
        for package in package_words(words, index, name):
            self._trees.update(dict.fromkeys(self._directories(package, bases)))
        if script is not None or name in INTERPRETERS:
            self._at_options(words[index + 1 : len(words) if script is None else script + 1], bases)
        for number, word in enumerate(words):
            if number <= index and "/" not in word and not is_assignment(word):
                continue  # found on the PATH, never in the directory it starts in
            is_run = number in (index, script) or (number > index and name in TAKING_PACKAGES)
            is_run = is_run or (number > 0 and words[number - 1] in LOADING)
            self._at_word(word, bases, depth, is_run=is_run, in_script=in_script)
            if number == script and (directories := self._directories(word, bases)):
                self._trees.update(dict.fromkeys(directories))

    def _at_options(self, options: Sequence[str], bases: tuple[str, ...]) -> None:
        """Options of an interpreter: a directory among them, as in `-Ilib` or `-cp a:b`, is one with code."""
        for word in options:
            value = word.partition("=")[2] or (word[2:] if re.match(r"-[A-Za-z]", word) else word)
            for part in value.split(os.pathsep):
                self._trees.update(dict.fromkeys(each for each in self._directories(part, bases)))

    def at_text(self, text: str, bases: tuple[str, ...], depth: int, *, in_script: bool = False) -> None:
        """The commands of a shell text. Where it changes the directory, all later paths may start there."""
        if depth > MAX_DEPTH:
            self._unbounded = self._unbounded or f"its commands are nested more than {MAX_DEPTH} times"
            return
        for words in shell_commands(self._expanded(text)):
            entered = [base for each in words_after(words, ENTERING) for base in self._directories(each, bases)]
            bases = tuple(dict.fromkeys((*bases, *entered)))
            self.at_words(words, bases, depth, in_script=in_script)

    def at_value(self, value: str, base: str) -> None:
        """A variable that is set for the program: its directories in the workspace may hold code."""
        for part in value.split(os.pathsep):
            self._trees.update(dict.fromkeys(each for each in self._directories(part, (base,)) if each != self._root))
            self._at_word(part, (base,), 0, is_run=False, in_script=False)

    def _expanded(self, text: str) -> str:
        if "$" not in text:
            return text
        for name, value in self._known.items():
            text = text.replace(f"${{{name}}}", value)
            text = re.sub(rf"\${name}\b", value.replace("\\", r"\\"), text)
        return text

    def _at_word(self, word: str, bases: tuple[str, ...], depth: int, *, is_run: bool, in_script: bool) -> None:
        key = (word, bases, is_run, in_script)
        if key in self._seen:
            return
        self._seen.add(key)
        self._left_words -= 1
        if self._left_words < 0 or "\0" in word:
            self._unbounded = self._unbounded or f"it has more than {MAX_WORDS:,} words"
            return
        word = self._expanded(word)
        if HAS_MORE_COMMANDS.search(word):
            self.at_text(word, bases, depth + 1, in_script=in_script)
        names = [word, word.partition("=")[2]] if "=" in word else [word]
        names = [name for name in names if 0 < len(name) <= MAX_PATH]
        names += [after for each in names if (after := AFTER_UNKNOWN.sub("", each)) not in ("", each)]
        for name in names:
            if GLOB.search(name):
                self._at_pattern(name, bases)
            for base in bases:
                self._at_path(_joined_path(base, name), bases, is_run=is_run, in_script=in_script)
        if is_run and "/" in word.partition("$")[0] and "$" in word:
            # One of the files of a directory, but which one is not known before it runs.
            self._trees.update(dict.fromkeys(self._directories(word.partition("$")[0].rpartition("/")[0], bases)))
        is_path = ("/" in word and len(word) <= MAX_PATH) or (is_run and Path(word).suffix in CODE_SUFFIXES)
        if is_run and is_path and "$" not in word and not HAS_MORE_COMMANDS.search(word):
            self._note_missing(word, bases)

    def _at_path(self, path: str, bases: tuple[str, ...], *, is_run: bool, in_script: bool) -> None:
        if not self._is_inside(path) or not _is_file(path):
            return
        is_program, suffix = os.access(path, os.X_OK), Path(path).suffix
        is_code = is_run or is_program or suffix in CODE_SUFFIXES
        if is_code or (not in_script and suffix not in DATA_SUFFIXES):
            self._add(path, bases, is_run=is_run or is_program)

    def _at_pattern(self, pattern: str, bases: tuple[str, ...]) -> None:
        for base in bases:
            matching = files_matching(base, pattern)
            if matching == ANYTHING:
                continue
            self._files.update(dict.fromkeys(each for each in matching if self._is_code(each)))

    def _is_code(self, path: str) -> bool:
        is_code = Path(path).suffix in CODE_SUFFIXES or os.access(path, os.X_OK)
        return is_code and self._is_inside(path) and _is_file(path)

    def _note_missing(self, word: str, bases: tuple[str, ...]) -> None:
        paths = [_joined_path(base, word) for base in bases]
        if not any(presence_of(each) is Presence.PRESENT for each in paths):
            self._missing.update(dict.fromkeys(each for each in paths if self._is_inside(each)))

    def _add(self, path: str, bases: tuple[str, ...], *, is_run: bool) -> None:
        """A file, and if it is run, what it loads."""
        self._files[path] = None
        real = os.path.realpath(path)
        if _is_in(real, self._root):
            self._files[real] = None
        self._add_surroundings(path)
        if not is_run or path in self._read or any(_is_in(path, tree) for tree in self._trees):
            return
        self._read.add(path)
        if len(self._read) > MAX_FILES:
            self._unbounded = self._unbounded or f"it loads more than {MAX_FILES} files"
            return
        self._waiting.append((path, bases))
        if real != path and _is_in(real, self._root):
            self._add(real, bases, is_run=True)

    def _data(self, path: str) -> bytes:
        try:
            with Path(path).open("rb") as file:
                data = file.read(self._left_bytes + 1)
        except OSError:
            return b""
        self._left_bytes -= len(data)
        if self._left_bytes < 0:
            self._unbounded = self._unbounded or f"it loads more than {MAX_TOTAL_BYTES >> 20} MiB"
            return b""
        return data

    def _follow(self, path: str, data: bytes, bases: tuple[str, ...]) -> None:
        directory = os.path.dirname(path)  # noqa: PTH120 - paths are texts here
        if interpreter := shebang_words(data):
            self.at_words(interpreter, (directory, *bases), 0)
        loaded = loaded_by(Path(path), data)
        around = tuple(dict.fromkeys((*bases, directory)))
        match loaded:
            case ShellText(text):
                self.at_text(text, around, 0, in_script=True)
            case PythonModules(names):
                self._runs_python_file = True
                if not self._module_directories_with(path):
                    self._module_directories[directory] = None
                self._import(names, path, bases)
                self._at_strings(loaded.texts, around)
            case JavaScriptModules():
                self._import_javascript(loaded, path, bases)
                self._at_strings(loaded.texts, around)
            case NothingLoaded():
                return
            case _:
                assert_never(loaded)
        self._unbounded = self._unbounded or loaded.unknown

    def _at_strings(self, texts: Iterable[str], bases: tuple[str, ...]) -> None:
        """Strings of a program: each may name a file that it runs, or be a command."""
        for text in texts:
            if len(text) <= MAX_PATH:
                self._at_word(text, bases, 0, is_run=False, in_script=True)

    def _module_directories_with(self, path: str) -> list[str]:
        return [each for each in self._module_directories if _is_in(path, each)]

    def _import(self, names: frozenset[str], path: str, bases: tuple[str, ...]) -> None:
        here = os.path.dirname(path)  # noqa: PTH120
        for name in sorted(names):
            dots = len(name) - len(name.lstrip("."))
            start = here
            for _ in range(dots - 1):
                start = os.path.dirname(start)  # noqa: PTH120
            starts = [start] if dots else [*self._module_directories_with(path)]
            for each in starts:
                self._add_module(each, name.lstrip("."), bases)

    def _add_module(self, directory: str, name: str, bases: tuple[str, ...]) -> bool:
        """Add a module and the packages it lies in; whether there is one."""
        path, is_there = directory, False
        for part in name.split(".") if name else ():
            path = f"{path}/{part}"
            for file in (f"{path}.py", f"{path}/__init__.py", f"{path}/__main__.py"):
                if self._is_inside(file) and _is_file(file):
                    is_there = True
                    self._add(file, bases, is_run=True)
        return is_there

    def _at_python(self, words: Sequence[str], bases: tuple[str, ...]) -> None:
        """`python -m MODULE` and `python -c TEXT` import from the directory they start in."""
        for flag, value in pairwise(words):
            if not flag.startswith("-"):
                return
            if MODULE_FLAG.fullmatch(flag):
                self._start_module(value, bases)
            if TEXT_FLAG.fullmatch(flag):
                self._starts_python_module = True
                self._started_in += bases
                for name in python_modules(value):
                    for base in bases:
                        self._add_local(base, name, bases)
            if MODULE_FLAG.fullmatch(flag) or TEXT_FLAG.fullmatch(flag):
                return

    def _start_module(self, name: str, bases: tuple[str, ...]) -> None:
        self._starts_python_module = True
        self._started_in += bases
        self._obey(CONVENTIONS.get(name), bases)
        for base in bases:
            self._add_local(base, name, bases)

    def _add_local(self, base: str, name: str, bases: tuple[str, ...]) -> None:
        if not self._is_inside(base):
            return
        was_known = base in self._module_directories
        self._module_directories[base] = None
        if not self._add_module(base, name, bases) and not was_known:
            del self._module_directories[base]

    def _import_javascript(self, loaded: JavaScriptModules, path: str, bases: tuple[str, ...]) -> None:
        directory, is_mapped = os.path.dirname(path), Path(path).suffix in TYPESCRIPT_SUFFIXES  # noqa: PTH120
        for name in loaded.files:
            named = _joined_path(directory, name)
            for ending in JAVASCRIPT_ENDINGS:
                if self._is_inside(named + ending) and _is_file(named + ending):
                    self._add(named + ending, bases, is_run=True)
        if loaded.packages:
            self._add_node_modules(directory)
        installed = [tree for tree in self._trees if tree.endswith(f"/{NODE_MODULES}")]
        if is_mapped and not all(
            any(_is_directory(f"{tree}/{name}") for tree in installed) for name in loaded.packages
        ):
            # What is not installed may be mapped to any file by the settings of the project.
            self._unbounded = self._unbounded or SEARCHES_ELSEWHERE

    def _add_node_modules(self, directory: str) -> None:
        """Packages are looked for in every directory above, too."""
        while self._is_inside(directory):
            modules = f"{directory}/{NODE_MODULES}"
            if _is_directory(modules):
                self._trees[modules] = None
            if directory in self._roots:
                return
            directory = os.path.dirname(directory)  # noqa: PTH120

    def _add_surroundings(self, path: str) -> None:
        """A program in a virtual environment or an installed package loads code from the whole of it."""
        parent = path
        while self._is_inside(parent) and parent not in self._roots:
            if os.path.basename(parent) == NODE_MODULES or _is_file(f"{parent}/{VIRTUAL_ENVIRONMENT}"):  # noqa: PTH119
                self._trees[parent] = None
            parent = os.path.dirname(parent)  # noqa: PTH120

    def _obey(self, convention: Convention | None, bases: tuple[str, ...]) -> None:
        if convention is None:
            return
        inside = [base for base in bases if self._is_inside(base)]
        if convention.everywhere and inside:
            self._unbounded = self._unbounded or EVERYWHERE
        for base in inside:
            if convention.node_modules:
                self._add_node_modules(base)
            if convention.virtual_environment:
                self._trees.update(dict.fromkeys(self._directories(".venv", (base,))))
            for pattern in convention.obeys:
                for file in files_matching(base, pattern) if GLOB.search(pattern) else (f"{base}/{pattern}",):
                    if file != "/" and _is_file(file):
                        self._add(file, (base,), is_run=True)

    def _directories(self, word: str, bases: tuple[str, ...]) -> list[str]:
        word = self._expanded(word)
        if not 0 < len(word) <= MAX_PATH or "\0" in word:
            return []
        paths = (_joined_path(base, word) for base in bases)
        return [each for each in paths if self._is_inside(each) and _is_directory(each)]

    def _is_inside(self, path: str) -> bool:
        if any(_is_in(path, root) for root in self._roots):
            return True
        return _is_in(os.path.realpath(path), self._root)


def _joined_path(base: str, name: str) -> str:
    name = name.removeprefix("file:")
    if name == "~" or name.startswith("~/"):
        name = os.path.expanduser(name)  # noqa: PTH111
    return os.path.normpath(os.path.join(base, name))  # noqa: PTH118


def _is_file(path: str) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 - false for names that no file can have


def _is_directory(path: str) -> bool:
    return os.path.isdir(path)  # noqa: PTH112


def _is_in(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _paths(paths: Iterable[str]) -> tuple[Path, ...]:
    return tuple(Path(each) for each in sorted(paths))
