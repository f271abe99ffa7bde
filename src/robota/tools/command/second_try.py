"""Offers the user a retry after the sandbox made a command fail, with only the missing access if that is known.

Parts that have already run are not repeated if the rest of the command can be isolated; otherwise the offer says that
they would be.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.contracts.tool import Alternative
from robota.tools.command.report import FAILED_INSIDE
from robota.workspace.git.writing_commands import writes_git_data
from robota.workspace.sandbox.extra_access import describe_extra_access, problem_with_extra_access
from robota.workspace.shell.started_parts import StartedParts

REFUSED_HOST: Final = re.compile(r"refused a connection to (\S+) \(not in ")
UNKNOWN_HOST: Final = re.compile(
    r"(?:Could not resolve host: |Failed to resolve '|dial tcp: lookup |EAI_AGAIN |ENOTFOUND "
    r"|unable to resolve host address .)"
    r"([A-Za-z0-9.-]+\.[A-Za-z]{2,})"
)
# Programs whose message about an unknown name does not contain it.
UNNAMED_HOST: Final = re.compile(r"Temporary failure in name resolution|Name or service not known|EAI_AGAIN")
IN_COMMAND: Final = re.compile(r"\bhttps?://(?:[^\s/@'\"]*@)?([A-Za-z0-9.-]+\.[A-Za-z]{2,})")
READ_ONLY: Final = re.compile(r"Read-only file system|EROFS")
PATH: Final = re.compile(r"(?<![\w.~])(/[^\s'\"`:;,()\[\]]+)")
STOPPED_AT_LIMIT: Final = "The command was stopped at the limit of {} for what nobody approved."
OF_GIT: Final = "/.git/"
SHOWN_CHARACTERS: Final = 100


class FailedCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command that the sandbox stopped. `refused` says what it was refused, `parts` what was started."""

    arguments: dict[str, Any]
    command: str
    output: str
    refused: Sequence[str]
    parts: StartedParts | None
    root: Path
    home: Path | None
    read_only: tuple[str, ...] | None = None  # in the workspace, for a command that nobody approved


def second_try(failed: FailedCommand) -> Alternative:
    """The retry with the least additional access."""
    rest = failed.parts.rest if failed.parts is not None else None
    if rest is not None and writes_git_data(rest) and OF_GIT in failed.output:
        return _offered(failed, {}, "on its own, because git may change its data")
    if (closed := _closed_to_unapproved(failed)) is not None:
        return _offered(failed, {}, f"approved, so that it can write in {closed}", needs_approval=True)
    missing = _missing(failed)
    if missing and _can_open(missing, failed):
        return _offered(failed, {"opened": list(missing)}, f"so that it can {describe_extra_access(missing)}")
    offered = _offered(failed, {"opened": [], "without_sandbox": True}, "without the sandbox")
    return msgspec.structs.replace(offered, cause=" ".join((offered.manner, *missing)))


def beyond_limits(failed: FailedCommand, limit: str) -> Alternative:
    """The retry of a command that was stopped at a limit for what nobody approved."""
    stopped = msgspec.structs.replace(failed, refused=(STOPPED_AT_LIMIT.format(limit),))
    return _offered(stopped, {}, f"approved, without the limit of {limit}", needs_approval=True)


def _closed_to_unapproved(failed: FailedCommand) -> str | None:
    """The place in the workspace that is read-only only because nobody approved the command, if it failed there."""
    lines = [line for line in failed.output.splitlines() if READ_ONLY.search(line)]
    for name in failed.read_only or ():
        whole = str(failed.root / name)
        if any(whole in line or name in line for line in lines):
            return name
    return None


def _offered(
    failed: FailedCommand, change: dict[str, Any], manner: str, *, needs_approval: bool = False
) -> Alternative:
    parts = failed.parts
    rest = parts.rest if parts is not None else None
    why = " ".join(failed.refused) or FAILED_INSIDE
    arguments = {**failed.arguments, **change, "command": rest or failed.command}
    why = f"{why} {_what_ran(parts)}"
    return Alternative(input=arguments, why=why, manner=manner, cause=manner, needs_approval=needs_approval)


def _what_ran(parts: StartedParts | None) -> str:
    if parts is None or not parts.done:
        return "Running it again repeats everything it did before it failed."
    done = ", ".join(f"`{_shortened(text)}`" for text in parts.done)
    again = "and is not run again" if parts.rest is not None else "and would be run again"
    return f"Already done {again}: {done}. What failed: `{_shortened(parts.failed)}`."


def _missing(failed: FailedCommand) -> tuple[str, ...]:
    """The hosts and directories in its error messages."""
    hosts = [match[1] for sentence in failed.refused if (match := REFUSED_HOST.search(sentence))]
    hosts = hosts or UNKNOWN_HOST.findall(failed.output)
    if not hosts and UNNAMED_HOST.search(failed.output):
        hosts = IN_COMMAND.findall(failed.command)
    refusals = [line for line in failed.output.splitlines() if READ_ONLY.search(line)]
    directories = [directory for line in refusals for directory in _directories(line)]
    return tuple(dict.fromkeys((*hosts, *directories)))


def _can_open(missing: tuple[str, ...], failed: FailedCommand) -> bool:
    return all(problem_with_extra_access(entry, failed.root, failed.home) is None for entry in missing)


def _directories(line: str) -> list[str]:
    """The nearest existing directory for the first path in a message."""
    match = PATH.search(line)
    if match is None:
        return []
    directory = Path(match[1])
    return [str(next(each for each in (directory, *directory.parents) if each.is_dir()))]


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[:SHOWN_CHARACTERS]}…"
