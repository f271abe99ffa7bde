"""How print mode is asked to behave."""

from collections.abc import Callable, Sequence
from enum import StrEnum

import msgspec

from robota.protocol.slash_commands import SlashCommandInfo


class OutputFormat(StrEnum):
    """What print mode writes to standard output."""

    TEXT = "text"
    JSON = "json"
    STREAM_JSON = "stream-json"
    MESSAGES = "messages"


# The answer as it shall be printed, and what is wrong with it; None if nothing is.
CheckAnswer = Callable[[str], tuple[str, str | None]]


class HeadlessOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`cancel_grace_s` is how long a cancelled task may take to end before the result is printed without it.

    With `check` an answer that is wrong is sent back once, with what is wrong with it.
    `commands` gives the slash commands of the session, for the formats that list them.
    With `leaves_asks` a request for permission ends the run, so that somebody can answer it later; otherwise it is no.
    """

    output_format: OutputFormat = OutputFormat.TEXT
    include_partial_messages: bool = False
    verbose: bool = False
    quiet: bool = False
    check: CheckAnswer | None = None
    images: tuple[str, ...] = ()
    cancel_grace_s: float = 10.0
    leaves_asks: bool = False
    commands: Callable[[], Sequence[SlashCommandInfo]] = tuple
