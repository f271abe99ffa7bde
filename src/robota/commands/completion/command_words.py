"""Completes slash commands and their arguments from the registry."""

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from robota.commands.registry import CommandRegistry
from robota.protocol.commands import Refused
from robota.protocol.completion import CandidateKind, CompletionCandidate, PromptCompletion
from robota.protocol.slash_commands import SlashCommandInfo, SubcommandInfo
from robota.text.visible import single_line

MAX_DESCRIPTION: Final = 200
TYPED: Final = re.compile(r"\s*/(?P<name>[^\s/]*)(?P<rest>\s.*)?\Z", re.DOTALL)
WORD_END: Final = re.compile(r"\s|\Z")

Named = TypeVar("Named")


class CommandWords:
    """Completes the commands of a registry."""

    def __init__(self, registry: CommandRegistry) -> None:
        self._registry = registry

    async def complete(self, text: str, caret: int, limit: int) -> PromptCompletion | None:
        """The completions at the caret; None if the text before it is not a command."""
        typed = TYPED.match(text[:caret])
        if typed is None:
            return None
        end = _word_end(text, caret)
        if typed["rest"] is None:
            return PromptCompletion(
                start=typed.start("name") - 1, end=end, candidates=self._commands(typed["name"], limit)
            )
        *before, word = re.split(r"\s+", typed["rest"].lstrip())
        values = await asyncio.to_thread(self._values, typed["name"], before)
        matching = _matches(word, values, lambda value: (value.name,))[:limit]
        return PromptCompletion(start=caret - len(word), end=end, candidates=tuple(map(_argument_candidate, matching)))

    def _commands(self, typed: str, limit: int) -> tuple[CompletionCandidate, ...]:
        infos = [command.info for command in self._registry.all()]
        return tuple(map(_command_candidate, _matches(typed, infos, lambda info: (info.name, *info.aliases))[:limit]))

    def _values(self, name: str, before: Sequence[str]) -> Sequence[SubcommandInfo]:
        command = self._registry.find(name)
        if isinstance(command, Refused):
            return ()
        return (*(() if before else command.full_info.subcommands), *command.complete(tuple(before)))


def _command_candidate(info: SlashCommandInfo) -> CompletionCandidate:
    hint = single_line(info.argument_hint, MAX_DESCRIPTION)
    return CompletionCandidate(
        kind=CandidateKind.COMMAND,
        insert=f"/{info.name}{' ' if info.argument_hint or info.subcommands else ''}",
        label=f"/{info.name} {hint}".strip(),
        description=single_line(info.description, MAX_DESCRIPTION),
        source=info.source,
    )


def _argument_candidate(value: SubcommandInfo) -> CompletionCandidate:
    return CompletionCandidate(
        kind=CandidateKind.ARGUMENT,
        insert=f"{value.name}{' ' if value.argument_hint else ''}",
        label=f"{value.name} {value.argument_hint}".strip(),
        description=single_line(value.description, MAX_DESCRIPTION),
    )


def _matches(typed: str, items: Iterable[Named], names: Callable[[Named], Sequence[str]]) -> list[Named]:
    """The items with a name that fuzzily matches: prefixes first, then words and substrings, then scattered letters."""
    ranked = [
        (rank, item)
        for item in items
        if (rank := min((_rank(typed.lower(), name.lower()) for name in names(item)), default=NO_MATCH)) < NO_MATCH
    ]
    return [item for _, item in sorted(ranked, key=lambda each: each[0])]


NO_MATCH: Final = 4


def _rank(typed: str, name: str) -> int:
    if name.startswith(typed):
        return 0
    if re.search(rf"[-_:.]{re.escape(typed)}", name):
        return 1
    if typed in name:
        return 2
    letters = iter(name)
    return 3 if all(letter in letters for letter in typed) else NO_MATCH


def _word_end(text: str, caret: int) -> int:
    end = WORD_END.search(text, caret)
    return len(text) if end is None else end.start()
