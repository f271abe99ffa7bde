"""The popup under the input: what it completes, and which of the candidates is chosen."""

import re
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from robota.clients.tui.flows.selection import Selection
from robota.protocol.slash_commands import SlashCommandInfo

POPUP_ROWS: Final = 8
MENTION: Final = re.compile(r"(?:^|(?<=\s))@(\S*)$")


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """Something that can be put in: `text` replaces what was typed of it. `has_more`: words follow it."""

    text: str
    label: str
    detail: str = ""
    group: str = ""
    has_more: bool = False


class CompletionPopup(msgspec.Struct, frozen=True, kw_only=True):
    """An open popup. `typed` is the part before the cursor that a candidate replaces."""

    typed: str
    candidates: tuple[Candidate, ...]
    rows: Selection

    @property
    def chosen(self) -> Candidate:
        """The candidate that Tab and Enter take."""
        return self.candidates[self.rows.index or 0]

    def moved(self, by: int) -> "CompletionPopup":
        """With the candidate above or below chosen."""
        return replace(self, rows=self.rows.moved(by))


def popup_of(typed: str, candidates: Sequence[Candidate]) -> CompletionPopup | None:
    """A popup with these candidates; None if there are none."""
    if not candidates:
        return None
    rows = Selection(count=len(candidates), height=POPUP_ROWS)
    return CompletionPopup(typed=typed, candidates=tuple(candidates), rows=rows)


def command_popup(before_cursor: str, commands: Sequence[SlashCommandInfo]) -> CompletionPopup | None:
    """The commands, or the words behind one, that begin like what was typed; None where no command is typed."""
    if not before_cursor.startswith("/") or "\n" in before_cursor:
        return None
    name, space, rest = before_cursor[1:].partition(" ")
    if not space:
        return popup_of(before_cursor, [_offered(each) for each in commands if _begins(each, name)])
    command = next((each for each in commands if name in (each.name, *each.aliases)), None)
    if command is None or " " in rest:
        return None
    words = [
        Candidate(
            text=f"/{name} {word.name}",
            label=f"{word.name} {word.argument_hint}".rstrip(),
            detail=word.description,
            has_more=bool(word.argument_hint),
        )
        for word in command.subcommands
        if word.name.lower().startswith(rest.lower())
    ]
    return popup_of(before_cursor, words)


def mention_before(before_cursor: str) -> str | None:
    """What was typed of an `@` mention, without the sign; None if the cursor is not behind one."""
    found = MENTION.search(before_cursor)
    return None if found is None else found[1]


def _begins(command: SlashCommandInfo, name: str) -> bool:
    return any(each.lower().startswith(name.lower()) for each in (command.name, *command.aliases))


def _offered(command: SlashCommandInfo) -> Candidate:
    return Candidate(
        text=f"/{command.name}",
        label=f"/{command.name} {command.argument_hint}".rstrip(),
        detail=command.description,
        group=command.source,
        has_more=bool(command.subcommands or command.argument_hint),
    )
