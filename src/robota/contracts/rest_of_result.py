"""How a result that was cut names the call that returns the rest."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

OUTPUT_READER: Final = "read_command_output"
# Room for the note in the middle of a text that was cut, and for the call at its end.
NOTE_CHARACTERS: Final = 300
NOT_SAVED: Final = "The rest could not be saved, because the session log cannot be written."


def named_call(tool: str, **arguments: Any) -> str:
    """A call as results name it: the tool, then its arguments as JSON."""
    return f"{tool} {msgspec.json.encode(arguments).decode()}"


def output_call(name: str, offset: int = 0) -> str:
    """The call that reads a stored output from byte `offset` on."""
    return named_call(OUTPUT_READER, artifact_id=name, **({"offset": offset} if offset else {}))


def how_to_read_rest(kept_as: str | None, offset: int = 0) -> str:
    """The sentence for a result of which the whole is stored as `kept_as`, if it could be stored."""
    return NOT_SAVED if kept_as is None else f"For the rest: {output_call(kept_as, offset)}"


def shortened(text: str, most: int, keep: Callable[[bytes], str | None]) -> str:
    """A text cut to a number of characters: its beginning, its end, and the call that returns the rest."""
    if len(text) <= most:
        return text
    half = (most - NOTE_CHARACTERS) // 2
    first, last = text[:half], text[-half:]
    note = f"[… {len(text) - 2 * half:,} of {len(text):,} characters were cut here …]"
    rest = how_to_read_rest(keep(text.encode("utf-8", "surrogateescape")), byte_offset(first))
    return f"{first}\n{note}\n{last}\n[{rest}]"


def byte_offset(text: str) -> int:
    """The position in a stored text at which `text` ends."""
    return len(text.encode("utf-8", "surrogateescape"))


def next_page(tool: str, params: msgspec.Struct, offset: int) -> str:
    """The same call for what comes after `offset`, without the arguments that have their default."""
    given = msgspec.to_builtins(msgspec.structs.replace(params, offset=offset))
    defaults = {field.name: field.default for field in msgspec.structs.fields(params)}
    return named_call(tool, **{name: value for name, value in given.items() if value != defaults[name]})
