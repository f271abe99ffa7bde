"""The options of print mode."""

from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum

import msgspec

from robota.protocol.slash_commands import SlashCommandInfo


class OutputFormat(StrEnum):
    """What print mode writes to standard output."""

    TEXT = "text"
    JSON = "json"
    STREAM_JSON = "stream-json"
    MESSAGES = "messages"


# Returns the answer to print, and the problem with it, or None.
CheckAnswer = Callable[[str], tuple[str, str | None]]


class HeadlessOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`cancel_grace_s` is the time that a cancelled task has to end before the result is printed without it.

    With `check`, an invalid answer is sent back to the model once, with the problem.
    `until_saved` waits until the session is on disk, and returns why something is missing.
    `commands` returns the slash commands of the session, for the formats that list them.
    With `leaves_asks`, a request for approval ends the run and can be answered later; otherwise it is rejected.
    """

    output_format: OutputFormat = OutputFormat.TEXT
    include_partial_messages: bool = False
    verbose: bool = False
    quiet: bool = False
    check: CheckAnswer | None = None
    until_saved: Callable[[], Awaitable[str | None]] | None = None
    images: tuple[str, ...] = ()
    cancel_grace_s: float = 10.0
    leaves_asks: bool = False
    commands: Callable[[], Sequence[SlashCommandInfo]] = tuple
