"""Compares a recorded system prompt with the one that would be built today."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain, combinations
from typing import Final

import msgspec

from robota.engine.model.system_prompt import conditions, lines_for

OWN_BEGINNING: Final = "You are Robota,"
ROLE: Final = "{role}"
AFTER_ROLE: Final = "\n\n# "
# Values depend on the machine, the day and the session, so they are copied from the recording.
VALUE: Final = re.compile(r"\\\{[a-z_]+\\\}")


class PromptPair(msgspec.Struct, frozen=True, kw_only=True):
    """Our own part of a recorded prompt, and the same part as built today."""

    recorded: str
    today: str


def own_prompts(recorded: str, role: str | None) -> PromptPair | None:
    """Pair our own part of both prompts; None if the user had replaced it with a prompt of their own.

    `role` is that of the mode today; None if the mode is unknown here, so that the recorded one is used. The rest of a
    prompt comes from instruction files, memory, skills, hooks and options.
    """
    if not recorded.startswith(OWN_BEGINNING):
        return None
    recorded_lines = recorded.split("\n")
    has = cache(lambda line: any(each.startswith(line.partition("{")[0]) for each in recorded_lines))
    # What kind of session it was is not recorded: the closest variant of today's prompt is the one to compare with.
    text = "\n".join(max(_variants(), key=lambda lines: sum(1 if has(line) else -1 for line in lines if line)))
    text = text.replace(ROLE, _role(recorded, text) if role is None else f" {role}" * bool(role))
    return _paired(recorded.split("\n"), text.split("\n"))


def _variants() -> Iterator[list[str]]:
    """The lines of today's prompt for every kind of session."""
    names = sorted(conditions())
    subsets = chain.from_iterable(combinations(names, count) for count in range(len(names) + 1))
    return (lines_for(frozenset(subset)) for subset in subsets)


def _role(recorded: str, text: str) -> str:
    start, end = text.index(ROLE), recorded.find(AFTER_ROLE)
    return recorded[start:end] if end >= start else ""


def _paired(recorded: list[str], template_lines: list[str]) -> PromptPair:
    today: list[str] = []
    for line in template_lines:
        at = len(today)
        pattern = VALUE.sub("(.*)", re.escape(line))
        is_as_it_was = at < len(recorded) and re.fullmatch(pattern, recorded[at]) is not None
        today.append(recorded[at] if is_as_it_was else line)
    return PromptPair(recorded="\n".join(recorded[: len(today)]), today="\n".join(today))
