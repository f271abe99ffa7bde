"""Loads instruction files with their imports, without duplicates and within limits."""

import hashlib
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from robota.knowledge.front_matter import read_front_matter
from robota.knowledge.instructions.markdown_parts import Comment, Import, Part, markdown_parts
from robota.knowledge.instructions.paths import Candidate, InstructionPaths, InstructionScope, candidates
from robota.knowledge.instructions.reading import (
    FileContent,
    FileMissing,
    FileNotRead,
    FileOutsideProject,
    decoded_text,
    read_in_project,
    read_outside_project,
    read_user_file,
)

MAX_CHARACTERS: Final = 256 * 1024
MAX_FILES: Final = 200
# Includes files that are left out in the end: a hostile tree must not keep a session from starting.
MAX_BYTES_READ: Final = 1024 * 1024
MAX_IMPORT_DEPTH: Final = 4
MAX_IMPORTS: Final = 500
TOO_DEEP: Final = f"it is imported over more than {MAX_IMPORT_DEPTH} files"
DENIED: Final = "it must not be read: it is named like a secret, or a rule denies it"
# The common form of a rule with `paths:`, recognised without loading a YAML parser.
_PATH_RULE: Final = re.compile(
    r"---[ \t]*\n(?:(?!---)[^\n]*\n)*?paths:(?P<globs>[ \t]*(?:\[[ \t]*)?[\"'*][^\n]*|(?:[ \t]*\n[ \t]*-[ \t]+[^\n]+)+)"
)


class InstructionFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that goes into the prompt."""

    path: str
    scope: InstructionScope
    text: str
    imported_by: str | None = None


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A file, or a part of one, that is not in the prompt."""

    path: str
    why: str


class UndecidedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file outside the project that is left out, because the user has not decided about its current content."""

    path: str
    data: bytes
    referenced_by: str


class ReadingRules(msgspec.Struct, frozen=True, kw_only=True):
    """Which files may be read for a project. `is_denied` tells whether a path must not be read.

    `is_agreed` returns the decision of the user about a file outside the project, or None if there is none. Without
    `is_agreed`, no file outside the project is read.
    """

    is_denied: Callable[[str], bool]
    is_agreed: Callable[[str, bytes], bool | None] | None = None


class Instructions(msgspec.Struct, frozen=True, kw_only=True):
    """The loaded files in prompt order, and what was left out."""

    files: tuple[InstructionFile, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    undecided: tuple[UndecidedFile, ...] = ()


def load_instructions(places: InstructionPaths, mode: str, rules: ReadingRules) -> Instructions:
    """Load all instruction files, except rules for some files only. Files that cannot be read are left out."""
    loader = _Loader(places, rules, skips_path_rules=True)
    return loader.load(candidates(places, mode))


def load_candidates(places: InstructionPaths, chosen: Iterable[Candidate], rules: ReadingRules) -> Instructions:
    """Load only these files, with their imports, also rules for some files only."""
    return _Loader(places, rules, skips_path_rules=False).load(chosen)


class _Importer(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    depth: int


class _LoadedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was read. `depth` is the number of imports on the shortest path to it so far."""

    path: Path
    depth: int
    parts: tuple[Part, ...] = ()


class _Loader:
    """Loads files one by one and keeps track of duplicates and limits."""

    def __init__(self, places: InstructionPaths, rules: ReadingRules, *, skips_path_rules: bool) -> None:
        """`skips_path_rules`: leave out the rules that are for some files only."""
        self._skips_path_rules = skips_path_rules
        self._files: list[InstructionFile] = []
        self._left_out: list[LeftOut] = []
        self._undecided: dict[str, UndecidedFile] = {}
        self._home = places.home
        self._top = places.project[0] if places.project else None
        self._rules = rules
        self._loaded: dict[tuple[int, int], _LoadedFile] = {}
        self._texts: dict[bytes, str] = {}
        self._characters = 0
        self._imports = 0
        self._bytes = 0

    def load(self, candidates: Iterable[Candidate]) -> Instructions:
        for candidate in candidates:
            self._add(candidate)
        loaded = {str(file.path) for file in self._loaded.values()}
        return Instructions(
            files=tuple(self._files),
            # A file may be too far away on one path of imports and loaded by another.
            left_out=tuple(file for file in self._left_out if file.why != TOO_DEEP or file.path not in loaded),
            undecided=tuple(self._undecided.values()),
        )

    def _add(self, candidate: Candidate, importer: _Importer | None = None) -> None:
        """Read a file and its imports, unless it is already loaded or must be left out."""
        path = str(candidate.path)
        depth = 0 if importer is None else importer.depth
        try:
            content = self._content(candidate, importer)
            if content.identity in self._loaded:
                self._add_again(candidate, content, importer)
                return
            self._loaded[content.identity] = _LoadedFile(path=candidate.path, depth=depth)
            parts = self._file_parts(candidate, content)
            self._loaded[content.identity] = _LoadedFile(path=candidate.path, depth=depth, parts=parts)
        except FileMissing:
            if importer is not None and _is_clearly_a_path(path):
                self._leave_out(path, f"it does not exist; {importer.path} imports it")
            return
        except FileNotRead as error:
            self._leave_out(path, str(error) if importer is None else f"{error}; {importer.path} imports it")
            return
        self._add_file(candidate, content, parts, importer)
        self._import_all(candidate, parts, depth)

    def _add_again(self, candidate: Candidate, content: FileContent, importer: _Importer | None) -> None:
        """A loaded file was found again: by a shorter path of imports, its own imports may reach further."""
        loaded = self._loaded[content.identity]
        self._leave_out_duplicate(str(candidate.path), str(loaded.path), importer)
        depth = 0 if importer is None else importer.depth
        if depth < loaded.depth:
            self._loaded[content.identity] = msgspec.structs.replace(loaded, depth=depth)
            # With the scope of this path, which decides what may be read.
            self._import_all(Candidate(path=loaded.path, scope=candidate.scope), loaded.parts, depth)

    def _content(self, candidate: Candidate, importer: _Importer | None) -> FileContent:
        if candidate.scope is InstructionScope.USER or self._top is None:
            return read_user_file(candidate.path)
        try:
            content = read_in_project(candidate.path, self._top)
        except FileOutsideProject as error:
            return self._outside(error, str(candidate.path) if importer is None else importer.path)
        if self._rules.is_denied(content.path):
            raise FileNotRead(DENIED)
        return content

    def _outside(self, error: FileOutsideProject, referenced_by: str) -> FileContent:
        """The content of a file outside the project, if the user agreed to it."""
        if self._rules.is_agreed is None:
            raise error
        if self._rules.is_denied(error.path):
            raise FileNotRead(DENIED)
        content = read_outside_project(error.path)
        match self._rules.is_agreed(content.path, content.data):
            case True:
                return content
            case False:
                raise FileNotRead("it is outside the project, and you did not allow it")
            case None:
                self._undecided[content.path] = UndecidedFile(
                    path=content.path, data=content.data, referenced_by=referenced_by
                )
                raise FileNotRead("it is outside the project and not allowed yet: robota trust")

    def _file_parts(self, candidate: Candidate, content: FileContent) -> tuple[Part, ...]:
        self._bytes += len(content.data)
        if self._bytes > MAX_BYTES_READ:
            raise FileNotRead(f"the files before it have more than {MAX_BYTES_READ:,} bytes together")
        text = decoded_text(content)
        if candidate.is_rule:
            if self._skips_path_rules and (path_rule := _PATH_RULE.match(text)) is not None:
                raise FileNotRead(f"it is a rule for some files only: {' '.join(path_rule['globs'].split())}")
            matter = read_front_matter(text)
            if self._skips_path_rules and matter.fields.get("paths"):
                raise FileNotRead(f"it is a rule for some files only: {_glob_list(matter.fields['paths'])}")
            text = matter.text
        return markdown_parts(text)

    def _add_file(
        self, candidate: Candidate, content: FileContent, parts: tuple[Part, ...], importer: _Importer | None
    ) -> None:
        path = str(candidate.path)
        text = "".join(part.text for part in parts if not isinstance(part, Comment)).strip()
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        if not text:
            return self._leave_out(path, "it is empty")
        if digest in self._texts:
            return self._leave_out(path, f"it has the same content as {self._texts[digest]}")
        if len(self._files) >= MAX_FILES or self._characters >= MAX_CHARACTERS:
            return self._leave_out(path, f"there are already {len(self._files)} files, {self._characters:,} characters")
        self._texts[digest] = path
        text = self._within_bounds(path, content, text)
        self._characters += len(text)
        by = None if importer is None else importer.path
        self._files.append(InstructionFile(path=path, scope=candidate.scope, text=text, imported_by=by))
        return None

    def _within_bounds(self, path: str, content: FileContent, text: str) -> str:
        """The text, cut with a note if the file or all files together are too long."""
        if content.is_cut:
            why = f"only its first {len(content.data):,} of {content.size:,} bytes are included"
        elif len(text) > (limit := MAX_CHARACTERS - self._characters):
            why = f"only its first {limit:,} of {len(text):,} characters are included: all files together are too long"
            text = text[:limit]
        else:
            return text
        self._leave_out(path, why)
        return f"{text}\n[Truncated: of this file {why}.]"

    def _import_all(self, candidate: Candidate, parts: tuple[Part, ...], depth: int) -> None:
        importer = _Importer(path=str(candidate.path), depth=depth + 1)
        for part in parts:
            if not isinstance(part, Import):
                continue
            self._imports += 1
            if self._imports > MAX_IMPORTS:
                self._leave_out(importer.path, f"its imports from {part.text[:200]} on: there are too many")
                return
            target = self._target(candidate.path, part.path)
            if depth < MAX_IMPORT_DEPTH:
                self._add(Candidate(path=target, scope=candidate.scope), importer)
            elif _is_clearly_a_path(part.path):
                self._leave_out(str(target), TOO_DEEP)

    def _target(self, importing: Path, written: str) -> Path:
        if written.startswith("~/") and self._home is not None:
            return Path(os.path.normpath(self._home / written[2:]))
        return Path(os.path.normpath(importing.parent / written))

    def _leave_out_duplicate(self, path: str, loaded_path: str, importer: _Importer | None) -> None:
        # Not worth a note if two files import a third, or one imports the other.
        if importer is None and path != loaded_path:
            self._leave_out(path, f"it is the same file as {loaded_path}")

    def _leave_out(self, path: str, why: str) -> None:
        note = LeftOut(path=path, why=why)
        if note not in self._left_out:
            self._left_out.append(note)


def _is_clearly_a_path(written: str) -> bool:
    """Whether it is a path rather than the `@name` of a user or a package."""
    return written.endswith((".md", ".txt", ".mdc"))


def _glob_list(paths: object) -> str:
    return ", ".join(map(str, paths)) if isinstance(paths, list) else str(paths)
