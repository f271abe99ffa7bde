"""What policy says of a shell command: of each simple command in it, and so of the whole."""

import posixpath
from collections.abc import Iterator
from typing import Final

import msgspec

from robota.contracts.verdict import Decision, PartVerdict, Subject, Verdict
from robota.policy.context import PolicyContext
from robota.policy.protected.path_resolver import Places
from robota.policy.rules.suggest import command_suggestions
from robota.policy.shell.command_stages import PART_STAGES
from robota.policy.shell.opaque_stages import OPAQUE_STAGES, OpaqueCommand
from robota.policy.shell.part import CommandPart, command_part
from robota.policy.stages import deny, first_opinion
from robota.workspace.shell.reading import read_script
from robota.workspace.shell.script import Opaque, Plain, Refused, SimpleCommand
from robota.workspace.shell.wrappers import MAX_DEPTH, TooDeep, unwrap

STRICTEST_FIRST: Final = (Decision.DENY, Decision.ASK, Decision.ALLOW)
MAX_DIRECTORIES: Final = 8


def decide_command(subject: Subject, command: str, context: PolicyContext) -> Verdict:
    """The strictest verdict about any part is the verdict about the whole."""
    script = read_script(command)
    if isinstance(script, Refused):
        return msgspec.structs.replace(deny(f"The command cannot be judged. {script.reason}"), steps=("hard limits",))
    if isinstance(script, Opaque):
        opaque = OpaqueCommand(text=command, reason=script.reason, possible=script.possible, label=subject.label)
        verdict = first_opinion(OPAQUE_STAGES, opaque, context)
        return msgspec.structs.replace(verdict, parts=(_part(command, verdict),))
    return _decide_plain(subject, script, context)


def _decide_plain(subject: Subject, script: Plain, context: PolicyContext) -> Verdict:
    parts = _parts(subject, script, context, context.places)
    if len(script.commands) > 1 and parts and any(part.looks is None or part.written for part in parts):
        # One of them may bring a file whose name another takes for a flag.
        parts = _parts(subject, script, context, None)
    if parts is None:
        reason = f"More than {MAX_DEPTH} commands are wrapped in one another, which hides what runs."
        return msgspec.structs.replace(deny(reason), steps=("hard limits",))
    if len(parts) > 1 and any(part.may_bring_files for part in parts):
        # What is known of the repository was found out before; a file more or less makes it another one.
        context = msgspec.structs.replace(context, trusted=False)
    judged = [(part, first_opinion(PART_STAGES, part, context)) for part in parts]
    worst = min((verdict for _, verdict in judged), key=lambda verdict: STRICTEST_FIRST.index(verdict.decision))
    reason = worst.reason
    if len(judged) > 1:
        text = next(part.command.text for part, verdict in judged if verdict is worst)
        reason = f"{_shortened(text)}: {worst.reason}" if worst.decision is not Decision.ALLOW else worst.reason
    return msgspec.structs.replace(
        worst,
        reason=reason,
        parts=tuple(_part(part.command.text, verdict) for part, verdict in judged),
        suggestions=command_suggestions(judged) if worst.decision is Decision.ASK else (),
    )


def _parts(subject: Subject, script: Plain, context: PolicyContext, places: Places | None) -> list[CommandPart] | None:
    """Each command with what is known of it, in its order; None if one is wrapped too deep. See `command_part`."""
    parts: list[CommandPart] = []
    for command, directories in _with_directories(script, _start(subject, context), context):
        unwrapped = unwrap(command.argv)
        if isinstance(unwrapped, TooDeep):
            return None
        parts.append(command_part(command, unwrapped, directories, subject.label, places))
    return parts


def _start(subject: Subject, context: PolicyContext) -> tuple[str, ...]:
    """The directory the command starts in; a command's only path is that."""
    places = (context.places.inside(path) for path in subject.touches.paths)
    return tuple(dict.fromkeys(place for place in places if place is not None)) or (".",)


def _with_directories(
    script: Plain, start: tuple[str, ...], context: PolicyContext
) -> Iterator[tuple[SimpleCommand, tuple[str, ...]]]:
    """Each command with every directory it may run in: a `cd` before it may have happened or not."""
    directories = start
    for command in script.commands:
        yield command, directories
        if "cd" in command.argv:
            moved = (posixpath.normpath(posixpath.join(each, _target(command, context))) for each in directories)
            # The workspace by its full name is the workspace.
            known = (context.places.inside(each) or each for each in moved)
            directories = tuple(dict.fromkeys((*directories, *known)))
        if len(directories) > MAX_DIRECTORIES:
            directories = ("/",)


def _target(command: SimpleCommand, context: PolicyContext) -> str:
    """Where a `cd` leads; to the root of everything if that cannot be told."""
    if command.argv == ("cd",):
        return str(context.places.home or "/")
    if len(command.argv) != 2 or command.argv[1].startswith("-") or command.globs:
        return "/"
    return context.places.locations(command.argv[1])[0] if command.argv[1].startswith("~") else command.argv[1]


def _part(text: str, verdict: Verdict) -> PartVerdict:
    return PartVerdict(text=text, decision=verdict.decision, reason=verdict.reason, rule=verdict.rule)


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:57]}..."
