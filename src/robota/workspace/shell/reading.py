"""Reading a command: plain only if two independent readers agree on every word of it."""

from typing import Final

from robota.workspace.shell.assembly import Assembled, assemble
from robota.workspace.shell.script import Opaque, Plain, Refused, Script
from robota.workspace.shell.tokens import NotPlain

MAX_CHARACTERS: Final = 100_000
MAX_COMMANDS: Final = 10_000
# The grammar needs quadratic time for here-documents; nobody writes that many.
MAX_HERE_DOCUMENTS: Final = 50


def read_script(command: str) -> Script:
    """What the command says. Never fails, never takes long, runs nothing."""
    if "\0" in command:
        return Refused(reason="It has a NUL byte in it.")
    if len(command) > MAX_CHARACTERS:
        return Refused(reason=f"It has {len(command):,} characters; more than {MAX_CHARACTERS:,} cannot be judged.")
    try:
        assembled = assemble(command)
    except NotPlain as problem:
        return _opaque(f"It has {problem}.", command)
    if not assembled:
        return Opaque(reason="There is no command in it.")
    if len(assembled) > MAX_COMMANDS:
        return Refused(reason=f"It is {len(assembled):,} commands in one; more than {MAX_COMMANDS:,} cannot be judged.")
    return _confirmed(command, assembled)


def _confirmed(command: str, assembled: tuple[Assembled, ...]) -> Script:
    """The second reader is the grammar of bash; where it sees anything else, nothing is certain."""
    # Loading the grammar takes longer than starting Robota, and most runs never need it.
    from robota.workspace.shell.grammar import in_ascii, skeletons

    if skeletons(command) == tuple(one.skeleton.spelled(in_ascii) for one in assembled):
        return Plain(commands=tuple(one.command for one in assembled))
    return _opaque("It can be read in more than one way.", command)


def _opaque(reason: str, command: str) -> Opaque:
    from robota.workspace.shell.grammar import commands_within

    within = commands_within(command) if command.count("<<") <= MAX_HERE_DOCUMENTS else ()
    return Opaque(reason=reason, possible=within)
