"""The code of a session's workspace: language servers where there are any, grammars and search otherwise."""

import asyncio
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final, assert_never

import msgspec

from robota.workspace.code.answer import (
    Certainty,
    CodeAnswer,
    Described,
    Finding,
    Findings,
    Places,
    SeveralSymbols,
    Unknown,
)
from robota.workspace.code.edit_effect import EditEffect, FileEffect, file_effect, moved_lines
from robota.workspace.code.question import Question
from robota.workspace.code.reading_code import Definition, Definitions, ReadingCode, Use, Uses
from robota.workspace.code.repository_map import RepositoryMap
from robota.workspace.code.symbol import Symbol
from robota.workspace.files.files import EditableFiles
from robota.workspace.language_servers.connection import NotAnswered, RequestFailed, ServerEnded
from robota.workspace.language_servers.messages import Diagnostic, Position
from robota.workspace.language_servers.positions import PositionedText
from robota.workspace.language_servers.server import FilePlace, LanguageServer
from robota.workspace.language_servers.session_servers import LanguageServers, NoServer
from robota.workspace.problems import BinaryContent, FileProblem
from robota.workspace.text.encoding import decode
from robota.workspace.text.syntax import check

READY_S: Final = 30.0
DIAGNOSTICS_S: Final = 10.0
# What the result of an edit waits for a server, and how many other files it is asked about.
EDIT_S: Final = 1.5
MAX_OTHER_FILES: Final = 5
MAX_FILE_BYTES: Final = 4 * 1024 * 1024
MAX_DOCUMENTATION_LINES: Final = 12
SERVER_TROUBLE: Final = (ServerEnded, RequestFailed, NotAnswered)
BY_GRAMMAR: Final = "names compared by a grammar"
BY_TEXT: Final = "text search"


class Target(msgspec.Struct, frozen=True):
    """A name at a place; `column` counts characters from 1."""

    name: str
    path: str
    line: int
    column: int


class Anchor(msgspec.Struct, frozen=True):
    """A target in a file that a server was shown."""

    server: LanguageServer
    path: Path
    position: Position


class SessionCode:
    """Answers questions; `servers` is None if none may be used."""

    def __init__(self, files: EditableFiles, reading: ReadingCode, servers: LanguageServers | None) -> None:
        self._files = files
        self._reading = reading
        self._servers = servers

    async def outline(self, path: str) -> tuple[Symbol, ...] | None:
        """The definitions of a file; None if no grammar reads it."""
        return await self._reading.outline(path)

    async def map(self, max_characters: int, below: str = "", focus: Collection[str] = ()) -> RepositoryMap:
        """The most important files below a directory, and what they define."""
        return await self._reading.map(max_characters, below, focus)

    async def definitions(self, name_path: str, path: str | None = None) -> Definitions:
        """The definitions of a name or of the end of a name path; of similar names if there is none."""
        return await self._reading.definitions(name_path, path)

    async def ask(self, question: Question, symbol: str, path: str | None, line: int | None) -> CodeAnswer:
        """Answer a question about a symbol, given by its name or name path and, if that is not enough, a place."""
        target = await self._target(symbol, path, line)
        if not isinstance(target, Target):
            return target
        uses = await self._reading.uses(target.name, self._files.root)
        anchor = await self._anchor(target)
        if not isinstance(anchor, NoServer):
            try:
                answer = await self._exact(question, target, anchor, uses)
            except SERVER_TROUBLE as error:
                anchor = NoServer(f"{anchor.server.kind.name}: {error}")
            else:
                if answer is not None:
                    return answer
                anchor = NoServer(f"{anchor.server.kind.name} cannot answer this")
        return await self._by_grammar(question, target, uses, anchor.reason)

    async def diagnostics(self, path: str) -> Findings:
        """What is wrong with a file as it is on disk."""
        server = await self._server(path)
        if isinstance(server, NoServer):
            return await self._syntax(path, server.reason)
        assert self._servers is not None
        self._servers.show(server, path)
        try:
            is_ready = await server.is_ready(READY_S)
            found = await server.diagnostics(self._files.root / path, DIAGNOSTICS_S)
        except SERVER_TROUBLE as error:
            return await self._syntax(path, f"{server.kind.name}: {error}")
        text = server.text_of(self._files.root / path)
        findings = None if found is None or text is None else _findings(found, text)
        certainty = Certainty.EXACT if is_ready else Certainty.PARTIAL
        return Findings(path=path, findings=findings, certainty=certainty, source=server.info)

    async def effect_of_edit(self, path: str, before: bytes | None, after: bytes) -> EditEffect | None:
        """What an edit that is written changed about the diagnostics of the file and of others that a server was shown.

        None if no server runs that could say it: none is started for this.
        """
        server = None if self._servers is None else self._servers.warm(path)
        if server is None:
            return None
        try:
            async with asyncio.timeout(EDIT_S):
                files = await self._compared(server, path, before, after)
        except (TimeoutError, BinaryContent, *SERVER_TROUBLE):
            files = None
        return EditEffect(files=files, source=server.info)

    async def _compared(
        self, server: LanguageServer, path: str, before: bytes | None, after: bytes
    ) -> tuple[FileEffect, ...] | None:
        edited = self._files.root / path
        others = [each for each in server.shown() if each != edited][-MAX_OTHER_FILES:]
        old, new = "" if before is None else decode(before).content, decode(after).content
        if before is not None:
            server.show(edited, old)
        known_before = others if before is None else [edited, *others]
        earlier = {each: await self._said(server, each) for each in known_before}
        server.show(edited, new)
        effects = []
        for each in (edited, *others):
            later, known = await self._said(server, each), earlier.get(each, ())
            if later is None or known is None:
                return None
            moved = moved_lines(old, new) if each == edited else _stays
            effects.append(file_effect(self._name(each), known, later, moved))
        return tuple(each for each in effects if each.new or each.fixed)

    async def _said(self, server: LanguageServer, path: Path) -> tuple[Finding, ...] | None:
        found, text = await server.diagnostics(path, EDIT_S), server.text_of(path)
        return None if found is None or text is None else _findings(found, text)

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self._files.root)) if path.is_relative_to(self._files.root) else str(path)

    async def close(self) -> None:
        """End servers and readers."""
        self._reading.close()
        if self._servers is not None:
            await self._servers.close()

    async def _target(self, symbol: str, path: str | None, line: int | None) -> Target | SeveralSymbols | Unknown:
        name = symbol.replace("::", ".").rpartition(".")[2]
        if path is not None and line is not None:
            uses = await self._reading.uses(name, self._files.resolve(path))
            nearest = min((*uses.code, *uses.text), key=lambda use: abs(use.line - line), default=None)
            if nearest is not None:
                return Target(name, nearest.path, nearest.line, nearest.column or _column(nearest.text, name))
        definitions = await self._reading.definitions(symbol.replace("::", "."), path)
        if not definitions.found or not definitions.is_exact:
            return await self._used_only(name, path, definitions)
        if len(definitions.found) > 1:
            return SeveralSymbols(definitions.found)
        only = definitions.found[0]
        column = await asyncio.to_thread(self._column_of, only, name)
        return Target(name, only.path, only.symbol.line, column)

    async def _used_only(self, name: str, path: str | None, definitions: Definitions) -> Target | Unknown:
        """A name that nothing in the workspace defines, such as one of a library, where it is used first."""
        below = self._files.root if path is None else self._files.resolve(path)
        uses = await self._reading.uses(name, below)
        first = next(iter((*uses.code, *uses.text)), None)
        if first is None:
            return Unknown(definitions.found)
        return Target(name, first.path, first.line, first.column or _column(first.text, name))

    def _column_of(self, definition: Definition, name: str) -> int:
        lines = self._lines(definition.path)
        number = definition.symbol.line
        return _column(lines[number - 1], name) if number <= len(lines) else 1

    async def _server(self, path: str) -> LanguageServer | NoServer:
        if self._servers is None:
            return NoServer("language servers are switched off")
        return await self._servers.for_file(path)

    async def _anchor(self, target: Target) -> Anchor | NoServer:
        server = await self._server(target.path)
        if isinstance(server, NoServer):
            return server
        assert self._servers is not None
        self._servers.show(server, target.path)
        path = self._files.root / target.path
        text = server.text_of(path)
        if text is None:
            return NoServer(f"{server.kind.name} closed the file")
        line_start = text.offset(Position(target.line - 1, 0))
        return Anchor(server, path, text.position(line_start + target.column - 1))

    async def _exact(self, question: Question, target: Target, anchor: Anchor, uses: Uses) -> CodeAnswer | None:
        """The answer of the server; None if it cannot answer such a question."""
        server = anchor.server
        is_ready = await server.is_ready(READY_S)
        certainty = Certainty.EXACT if is_ready else Certainty.PARTIAL
        match question:
            case "definition":
                found = await server.definition(anchor.path, anchor.position)
            case "references" | "callers":
                found = await server.references(anchor.path, anchor.position)
            case "implementations":
                if not server.can("implementation_provider"):
                    return None
                found = await server.implementations(anchor.path, anchor.position)
            case "hover":
                text = await server.hover(anchor.path, anchor.position)
                return Described(text=text, certainty=certainty, source=server.info) if text else None
            case "diagnostics":
                return None
            case _:
                assert_never(question)
        places, elsewhere = await asyncio.to_thread(self._in_workspace, found, server, uses)
        known = {(each.path, each.line) for each in places}
        others = tuple(use for use in uses.code if (use.path, use.line) not in known)
        if question == "callers":
            places = tuple(use for use in places if not use.is_definition and _is_called(use, target.name))
        return Places(
            places=places,
            certainty=certainty,
            source=server.info,
            elsewhere=elsewhere,
            others=others if question == "references" else (),
        )

    def _in_workspace(
        self, found: Iterable[FilePlace], server: LanguageServer, uses: Uses
    ) -> tuple[tuple[Use, ...], tuple[str, ...]]:
        """The places with their lines, and the files outside of the workspace."""
        known = {(use.path, use.line): use for use in uses.code}
        texts: dict[str, PositionedText | None] = {}
        inside: list[Use] = []
        outside: dict[str, None] = {}
        for place in found:
            path = Path(place.path)
            if not path.is_relative_to(self._files.root):
                outside[f"{place.path}:{place.range.start.line + 1}"] = None
                continue
            relative = str(path.relative_to(self._files.root))
            if relative not in texts:
                texts[relative] = self._positioned(relative, server)
            text = texts[relative]
            if text is None:
                continue
            line = place.range.start.line
            column = text.offset(place.range.start) - text.offset(Position(line, 0)) + 1
            use = known.get((relative, line + 1))
            inside.append(
                Use(
                    path=relative,
                    line=line + 1,
                    text=text.line(line).strip(),
                    within="" if use is None else use.within,
                    column=column,
                    is_definition=use is not None and use.is_definition,
                )
            )
        return tuple(inside), tuple(outside)

    def _positioned(self, path: str, server: LanguageServer) -> PositionedText | None:
        """The text of a file that a server names; None if it is hidden from the model or cannot be read."""
        if self._reading.is_hidden(path):
            return None
        try:
            return PositionedText(decode(self._files.read(path, MAX_FILE_BYTES).data).content, server.encoding)
        except FileProblem:
            return None

    async def _by_grammar(self, question: Question, target: Target, uses: Uses, reason: str) -> CodeAnswer:
        certainty = Certainty.SYNTACTIC if uses.code else Certainty.TEXTUAL
        source = BY_GRAMMAR if uses.code else BY_TEXT
        match question:
            case "definition":
                places = tuple(use for use in uses.code if use.is_definition)
            case "references":
                places = (*uses.code, *uses.text)
            case "callers":
                every_use = (*uses.code, *uses.text)
                places = tuple(use for use in every_use if not use.is_definition and _is_called(use, target.name))
            case "implementations":
                found = await self._reading.subclasses(target.name)
                places = tuple(_as_use(each) for each in found)
                certainty, source = Certainty.SYNTACTIC, BY_GRAMMAR
            case "hover":
                text = await asyncio.to_thread(self._described, target)
                return Described(text=text, certainty=Certainty.TEXTUAL, source="its source", reason=reason)
            case "diagnostics":
                return await self.diagnostics(target.path)
            case _:
                assert_never(question)
        return Places(
            places=places,
            certainty=certainty,
            source=source,
            in_texts=uses.in_texts,
            is_cut=uses.is_cut,
            reason=reason,
        )

    def _described(self, target: Target) -> str:
        """The beginning of a definition, and what is written above and below it."""
        lines = self._lines(target.path)
        first = target.line - 1
        while first > 0 and lines[first - 1].lstrip().startswith(("#", "//", "/*", "*", "@")):
            first -= 1
        return "\n".join(lines[first : target.line + MAX_DOCUMENTATION_LINES])

    def _lines(self, path: str) -> list[str]:
        return decode(self._files.read(path, MAX_FILE_BYTES).data).content.splitlines()

    async def _syntax(self, path: str, reason: str) -> Findings:
        """Only whether the file parses."""
        data = (await asyncio.to_thread(self._files.read, path, MAX_FILE_BYTES)).data
        broken = await asyncio.to_thread(check, path, None, data)
        findings = () if broken is None else (Finding(broken.line, broken.column, 1, broken.problem),)
        return Findings(
            path=path, findings=findings, certainty=Certainty.SYNTACTIC, source="the grammar", reason=reason
        )


def _findings(diagnostics: Iterable[Diagnostic], text: PositionedText) -> tuple[Finding, ...]:
    return tuple(
        sorted(
            Finding(
                line=each.range.start.line + 1,
                column=text.offset(each.range.start) - text.offset(Position(each.range.start.line, 0)) + 1,
                severity=each.severity,
                message=" ".join(each.message.split()),
                code="" if each.code is None else str(each.code),
            )
            for each in diagnostics
        )
    )


def _stays(line: int) -> int:
    return line


def _column(line: str, name: str) -> int:
    return max(line.find(name), 0) + 1


def _is_called(use: Use, name: str) -> bool:
    """Whether the name is followed by an argument list, or is a decorator."""
    _, found, after = use.text.partition(name)
    return bool(found) and (after.lstrip().startswith(("(", "<", "!")) or use.text.startswith(f"@{name}"))


def _as_use(definition: Definition) -> Use:
    symbol = definition.symbol
    return Use(
        path=definition.path, line=symbol.line, text=symbol.signature, within=symbol.container, is_definition=True
    )
