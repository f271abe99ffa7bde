"""Answer questions about code from grammars and search: outlines, a map, where a name is defined and used.

Nothing is resolved: a name is a name, whatever it refers to. Each answer says how sure it is.
"""

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.code.repository_map import RepositoryMap, repository_map
from robota.workspace.code.symbol import Occurrences, Symbol
from robota.workspace.code.symbol_index import IndexState, SymbolIndex
from robota.workspace.code.symbol_reader import MAX_BYTES, SymbolReader, language_of
from robota.workspace.files.files import EditableFiles
from robota.workspace.problems import FileProblem
from robota.workspace.search.content import FoundFile, Query, search

# How long the first question waits until all files are read; later ones find them read.
PATIENCE_S: Final = 15.0
MAX_DEFINITIONS: Final = 200
MAX_MATCHES: Final = 2_000
MAX_CANDIDATES: Final = 300
INHERITING: Final = frozenset({"class", "interface", "enum"})


class Definition(msgspec.Struct, frozen=True):
    """A definition and the file that it is in."""

    path: str
    symbol: Symbol


class Definitions(msgspec.Struct, frozen=True, kw_only=True):
    """Definitions of a name. Unless `is_complete`, only files that contain the name were looked at so far."""

    found: tuple[Definition, ...]
    is_complete: bool
    is_exact: bool = True  # of exactly this name, otherwise of similar ones


class Use(msgspec.Struct, frozen=True, kw_only=True):
    """A line in which a name stands. `within` is the definition around it, as far as a grammar knows.

    `column` counts characters from 1, and is 0 if the line was only searched as text.
    """

    path: str
    line: int
    text: str
    within: str = ""
    column: int = 0
    is_definition: bool = False


class Uses(msgspec.Struct, frozen=True, kw_only=True):
    """Where a name stands as code, and as text in files without a grammar. `in_texts` counts comments and strings."""

    code: tuple[Use, ...]
    text: tuple[Use, ...]
    in_texts: int
    is_cut: bool


class ReadingCode:
    """The code of one workspace.

    `is_hidden` says which paths the model is not to see, `kept_in` is the directory of the user in which what was read
    is kept.
    """

    def __init__(self, files: EditableFiles, is_hidden: Callable[[str], bool], kept_in: Path | None) -> None:
        self._files = files
        self.is_hidden = is_hidden
        self._index = SymbolIndex(files.root, files, is_hidden, kept_in)
        self._reader = SymbolReader()

    async def outline(self, path: str) -> tuple[Symbol, ...] | None:
        """The definitions of a file; None if no grammar reads it."""
        data = await asyncio.to_thread(lambda: self._files.read(path, max_bytes=MAX_BYTES).data)
        symbols = await asyncio.to_thread(self._reader.symbols, path, data)
        return None if symbols is None else symbols.definitions

    async def map(self, max_characters: int, below: str = "", focus: Collection[str] = ()) -> RepositoryMap:
        """The most important files and what they define."""
        state = await self._index.state(PATIENCE_S)
        drawn = await asyncio.to_thread(repository_map, state.symbols, max_characters, below=below, focus=focus)
        return msgspec.structs.replace(drawn, is_complete=state.is_complete, left_out=state.left_out)

    async def definitions(self, name_path: str, path: str | None = None) -> Definitions:
        """The definitions of a name or of the end of a name path; of similar names if there is none."""
        state = await self._index.state(PATIENCE_S)
        name = name_path.rpartition(".")[2]
        if not state.is_complete:
            state = await self._with_files_naming(name, state)
        all_of_them = [
            Definition(file, symbol)
            for file, symbols in sorted(state.symbols.items())
            if path is None or file == path or file.startswith(f"{path}/")
            for symbol in symbols.definitions
        ]
        exact = [each for each in all_of_them if _ends_with(each.symbol.name_path, name_path)]
        similar = [] if exact else _similar(all_of_them, name)
        found = tuple((exact or similar)[:MAX_DEFINITIONS])
        return Definitions(found=found, is_complete=state.is_complete, is_exact=bool(exact))

    async def subclasses(self, name: str) -> tuple[Definition, ...]:
        """Classes and the like whose first line names this one."""
        state = await self._index.state(PATIENCE_S)
        word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        return tuple(
            Definition(path, symbol)
            for path, symbols in sorted(state.symbols.items())
            for symbol in symbols.definitions
            if symbol.kind in INHERITING and symbol.name != name and word.search(symbol.signature)
        )

    async def uses(self, name: str, below: Path) -> Uses:
        """Where a name stands in the files below a directory, or in a file."""
        query = Query(path=below, regex=rf"(^|\W){re.escape(name)}($|\W)", limit=MAX_MATCHES)
        result = await search(self._files.root, query, self.is_hidden)
        return await asyncio.to_thread(self._sorted_out, name, result.files, result.is_cut)

    def _sorted_out(self, name: str, files: Sequence[FoundFile], is_cut: bool) -> Uses:
        code: list[Use] = []
        text: list[Use] = []
        in_texts = 0
        for file in files:
            lines = {line.number: line.text.strip() for line in file.lines if line.is_match}
            occurrences = self._occurrences(file.path, name)
            if occurrences is None:
                text += (Use(path=file.path, line=number, text=line) for number, line in lines.items())
                continue
            seen = {each.line for each in occurrences.places}
            in_texts += len(lines.keys() - seen)
            code += (
                Use(
                    path=file.path,
                    line=each.line,
                    text=lines.get(each.line, ""),
                    within=each.within,
                    column=each.column,
                    is_definition=each.is_definition,
                )
                for each in occurrences.places
            )
        return Uses(code=tuple(code), text=tuple(text), in_texts=in_texts, is_cut=is_cut)

    def _occurrences(self, path: str, name: str) -> Occurrences | None:
        if language_of(path) is None:
            return None
        try:
            data = self._files.read(path, max_bytes=MAX_BYTES).data
        except FileProblem:
            return None
        return self._reader.occurrences(path, data, name)

    async def _with_files_naming(self, name: str, state: IndexState) -> IndexState:
        """What is known, and the symbols of the files that contain the name, while the others are still being read."""
        query = Query(path=self._files.root, regex=rf"(^|\W){re.escape(name)}($|\W)", limit=MAX_MATCHES)
        result = await search(self._files.root, query, self.is_hidden)
        unread = [file.path for file in result.files if file.path not in state.symbols and language_of(file.path)]

        def read() -> IndexState:
            found = dict(state.symbols)
            for path in unread[:MAX_CANDIDATES]:
                try:
                    data = self._files.read(path, max_bytes=MAX_BYTES).data
                except FileProblem:
                    continue
                symbols = self._reader.symbols(path, data)
                if symbols is not None:
                    found[path] = symbols
            return msgspec.structs.replace(state, symbols=found)

        return await asyncio.to_thread(read)

    def close(self) -> None:
        """Stop reading, and end the process that reads."""
        self._index.close()
        self._reader.end()


def _ends_with(name_path: str, wanted: str) -> bool:
    return name_path == wanted or name_path.endswith(f".{wanted}")


def _similar(definitions: Iterable[Definition], name: str) -> list[Definition]:
    """Definitions whose name contains this one, whatever the case; those of equal length first."""
    lowered = name.lower()
    found = [each for each in definitions if lowered in each.symbol.name.lower()]
    return sorted(found, key=lambda each: (len(each.symbol.name), each.path, each.symbol.line))
