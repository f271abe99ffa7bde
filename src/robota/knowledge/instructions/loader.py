"""The instruction files of a session: read, with what they import, nothing twice, within bounds."""

import hashlib
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from robota.knowledge.front_matter import read_front_matter
from robota.knowledge.instructions.markdown_parts import Comment, Import, Part, markdown_parts
from robota.knowledge.instructions.places import Candidate, InstructionPlaces, InstructionScope, candidates
from robota.knowledge.instructions.reading import (
    FileContent,
    FileNotRead,
    FileNotThere,
    FileOutside,
    read_in_project,
    read_of_person,
    read_outside,
    text_of,
)

MOST_CHARACTERS: Final = 256 * 1024
MOST_FILES: Final = 200
# Of all files, told or not: a hostile tree must not keep a session from starting.
MOST_BYTES_READ: Final = 1024 * 1024
MOST_HOPS: Final = 4
MOST_IMPORTS: Final = 500
DENIED: Final = "it must not be read: it is named like a secret, or a rule denies it"
# A rule for some files as nearly all of them are written: it is told apart without starting a YAML parser.
_FOR_SOME_FILES: Final = re.compile(
    r"---[ \t]*\n(?:(?!---)[^\n]*\n)*?paths:(?P<globs>[ \t]*(?:\[[ \t]*)?[\"'*][^\n]*|(?:[ \t]*\n[ \t]*-[ \t]+[^\n]+)+)"
)


class InstructionFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the model is told."""

    path: str
    scope: InstructionScope
    text: str
    imported_by: str | None = None


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A file, or a part of one, that the model is not told."""

    path: str
    why: str


class UndecidedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file outside the project that is not told, because the person was not asked about it as it is now."""

    path: str
    data: bytes
    led_from: str


class ReadingRules(msgspec.Struct, frozen=True, kw_only=True):
    """What may be read for a project. `is_denied` names files that must not be.

    `is_agreed` says whether the person wants a file outside of the project told; None: nobody could have agreed.
    """

    is_denied: Callable[[str], bool]
    is_agreed: Callable[[str, bytes], bool | None] | None = None


class Instructions(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was found, in the order in which it is told."""

    files: tuple[InstructionFile, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    undecided: tuple[UndecidedFile, ...] = ()


def load_instructions(places: InstructionPlaces, mode: str, rules: ReadingRules) -> Instructions:
    """Read them all. Never raises for a file."""
    loading = _Loading(places, rules)
    for candidate in candidates(places, mode):
        loading.add(candidate)
    return loading.done()


def load_some(places: InstructionPlaces, wanted: Iterable[Candidate], rules: ReadingRules) -> Instructions:
    """Read only these, with what they import, whichever files they are for. Never raises for a file."""
    loading = _Loading(places, rules, for_all_files=False)
    for candidate in wanted:
        loading.add(candidate)
    return loading.done()


class _Importer(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    hops: int


class _Loading:
    """What was read so far."""

    def __init__(self, places: InstructionPlaces, rules: ReadingRules, *, for_all_files: bool = True) -> None:
        """`for_all_files`: leave out the rules that are for some files only."""
        self._for_all_files = for_all_files
        self.files: list[InstructionFile] = []
        self.left_out: list[LeftOut] = []
        self.undecided: dict[str, UndecidedFile] = {}
        self._home = places.home
        self._top = places.project[0] if places.project else None
        self._rules = rules
        self._known: dict[tuple[int, int], str] = {}
        self._texts: dict[bytes, str] = {}
        self._characters = 0
        self._imports = 0
        self._bytes = 0

    def done(self) -> Instructions:
        return Instructions(
            files=tuple(self.files), left_out=tuple(self.left_out), undecided=tuple(self.undecided.values())
        )

    def add(self, candidate: Candidate, importer: _Importer | None = None) -> None:
        """Read a file and what it imports, unless it is known or there is a reason not to."""
        path = str(candidate.path)
        try:
            content = self._content(candidate, importer)
            if content.identity in self._known:
                self._leave_out_twin(path, self._known[content.identity], importer)
                return
            self._known[content.identity] = path
            parts = self._parts(candidate, content)
        except FileNotThere:
            if importer is not None and _is_surely_a_path(path):
                self._leave_out(path, f"it is not there; {importer.path} imports it")
            return
        except FileNotRead as error:
            self._leave_out(path, str(error) if importer is None else f"{error}; {importer.path} imports it")
            return
        self._tell(candidate, content, parts, importer)
        self._import_all(candidate, parts, 0 if importer is None else importer.hops)

    def _content(self, candidate: Candidate, importer: _Importer | None) -> FileContent:
        if candidate.scope is InstructionScope.USER or self._top is None:
            return read_of_person(candidate.path)
        try:
            content = read_in_project(candidate.path, self._top)
        except FileOutside as error:
            return self._outside(error, str(candidate.path) if importer is None else importer.path)
        if self._rules.is_denied(content.path):
            raise FileNotRead(DENIED)
        return content

    def _outside(self, error: FileOutside, led_from: str) -> FileContent:
        """A file outside of the project, if the person agreed to this content of it."""
        if self._rules.is_agreed is None:
            raise error
        if self._rules.is_denied(error.path):
            raise FileNotRead(DENIED)
        content = read_outside(error.path)
        match self._rules.is_agreed(content.path, content.data):
            case True:
                return content
            case False:
                raise FileNotRead("it lies outside the project, and you did not want it told")
            case None:
                self.undecided[content.path] = UndecidedFile(path=content.path, data=content.data, led_from=led_from)
                raise FileNotRead("it lies outside the project, and you were not asked about it yet: robota trust")

    def _parts(self, candidate: Candidate, content: FileContent) -> tuple[Part, ...]:
        self._bytes += len(content.data)
        if self._bytes > MOST_BYTES_READ:
            raise FileNotRead(f"the files before it have more than {MOST_BYTES_READ:,} bytes together")
        text = text_of(content)
        if candidate.is_rule:
            if self._for_all_files and (found := _FOR_SOME_FILES.match(text)) is not None:
                raise FileNotRead(f"it is a rule for some files only: {' '.join(found['globs'].split())}")
            matter = read_front_matter(text)
            if self._for_all_files and matter.fields.get("paths"):
                raise FileNotRead(f"it is a rule for some files only: {_listed(matter.fields['paths'])}")
            text = matter.text
        return markdown_parts(text)

    def _tell(
        self, candidate: Candidate, content: FileContent, parts: tuple[Part, ...], importer: _Importer | None
    ) -> None:
        path = str(candidate.path)
        text = "".join(part.text for part in parts if not isinstance(part, Comment)).strip()
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        if not text:
            return self._leave_out(path, "it says nothing")
        if digest in self._texts:
            return self._leave_out(path, f"it says the same as {self._texts[digest]}")
        if len(self.files) >= MOST_FILES or self._characters >= MOST_CHARACTERS:
            return self._leave_out(path, f"there are already {len(self.files)} files, {self._characters:,} characters")
        self._texts[digest] = path
        text = self._within_bounds(path, content, text)
        self._characters += len(text)
        by = None if importer is None else importer.path
        self.files.append(InstructionFile(path=path, scope=candidate.scope, text=text, imported_by=by))
        return None

    def _within_bounds(self, path: str, content: FileContent, text: str) -> str:
        """The text, or its beginning with a note that there was more."""
        if content.is_cut:
            why = f"only its first {len(content.data):,} of {content.size:,} bytes are told"
        elif len(text) > (room := MOST_CHARACTERS - self._characters):
            why = f"only its first {room:,} of {len(text):,} characters are told: all files together are too long"
            text = text[:room]
        else:
            return text
        self._leave_out(path, why)
        return f"{text}\n[Cut here: of this file {why}.]"

    def _import_all(self, candidate: Candidate, parts: tuple[Part, ...], hops: int) -> None:
        importer = _Importer(path=str(candidate.path), hops=hops + 1)
        for part in parts:
            if not isinstance(part, Import):
                continue
            self._imports += 1
            if self._imports > MOST_IMPORTS:
                self._leave_out(importer.path, f"its imports from {part.text[:200]} on: there are too many")
                return
            target = self._target(candidate.path, part.path)
            if hops < MOST_HOPS:
                self.add(Candidate(path=target, scope=candidate.scope), importer)
            elif _is_surely_a_path(part.path):
                self._leave_out(str(target), f"it is imported over more than {MOST_HOPS} files")

    def _target(self, importing: Path, written: str) -> Path:
        if written.startswith("~/") and self._home is not None:
            return Path(os.path.normpath(self._home / written[2:]))
        return Path(os.path.normpath(importing.parent / written))

    def _leave_out_twin(self, path: str, known: str, importer: _Importer | None) -> None:
        # That two files import a third, or one the other, is how it should be.
        if importer is None and path != known:
            self._leave_out(path, f"it is the same file as {known}")

    def _leave_out(self, path: str, why: str) -> None:
        self.left_out.append(LeftOut(path=path, why=why))


def _is_surely_a_path(written: str) -> bool:
    """Rather than the name of a person or a package with an `@` before it."""
    return written.endswith((".md", ".txt", ".mdc"))


def _listed(paths: object) -> str:
    return ", ".join(map(str, paths)) if isinstance(paths, list) else str(paths)
