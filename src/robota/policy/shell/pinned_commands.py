"""Rules with a digest and commands: whether a rule still means the same, and what changed if it does not."""

from typing import TYPE_CHECKING, Final

import msgspec

from robota.policy.rules.pinned import covers_words
from robota.policy.rules.rule import Rule
from robota.policy.shell.command_part import CommandPart
from robota.policy.stages import PolicyContext

if TYPE_CHECKING:
    from robota.protocol.views import DiffView
    from robota.workspace.entry_files.entry import CommandEntry, PinnedFile

NO_SANDBOX: Final = "without bubblewrap, what it means cannot be tied to its files"
NEW_FILES: Final = "a command before it creates files, which may change what it means"


class NoEntry(msgspec.Struct, frozen=True):
    """Why the meaning of a command cannot be tied to files, as words to follow a colon."""

    why: str


class ChangedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A command that the user allowed when other files decided what it means. `changes` are empty if unknown."""

    rule: Rule
    names: tuple[str, ...]
    changes: "tuple[DiffView, ...]"


def pinned_files(rule: Rule, part: CommandPart, context: PolicyContext) -> "tuple[PinnedFile, ...] | None":
    """The files that the command must find as they are now, if the rule with its digest covers it; else None."""
    if not _is_about(rule, part):
        return None
    entry = entry_of(part, context)
    return entry.files if not isinstance(entry, NoEntry) and entry.digest == rule.pin else None


def changed_entry(part: CommandPart, context: PolicyContext) -> ChangedEntry | None:
    """What changed since the user allowed these words; None if they did not."""
    rules = [rule for rule in (*context.grants, *context.allow) if rule.pin is not None and _is_about(rule, part)]
    if not rules or context.entries is None:
        return None
    entry = entry_of(part, context)
    if isinstance(entry, NoEntry):
        return None
    newest = rules[-1]
    changes = context.entries().changes(newest.pin or "", entry)
    return ChangedEntry(rule=newest, names=tuple(each.path for each in changes) or entry.names, changes=changes)


def entry_of(part: CommandPart, context: PolicyContext) -> "CommandEntry | NoEntry":
    """What decides the meaning of the command."""
    from robota.workspace.entry_files.finding import Unpinnable

    if context.entries is None or not context.sandboxed:
        return NoEntry(NO_SANDBOX)
    if part.follows_new_files:
        return NoEntry(NEW_FILES)
    try:
        return context.entries().find(part.inner, part.directories)
    except Unpinnable as error:
        return NoEntry(str(error))


def _is_about(rule: Rule, part: CommandPart) -> bool:
    # A word that the shell expands could become anything.
    return not part.command.globs and covers_words(rule.spec or "", part.command.argv)
