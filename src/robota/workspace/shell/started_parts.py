"""Split a failed chain of commands into the parts that ran, the part that failed, and the rest."""

from collections.abc import Sequence
from typing import Final

import msgspec

from robota.workspace.shell.reading import read_script
from robota.workspace.shell.script import Plain

AND: Final = "&&"
PIPE: Final = "|"


class StartedParts(msgspec.Struct, frozen=True, kw_only=True):
    """`done` completed before `failed`; `rest` is the command from `failed` on, None if it cannot be split."""

    done: tuple[str, ...]
    failed: str
    rest: str | None


def started_parts(command: str, started: int) -> StartedParts | None:
    """The parts of a command after `started` simple commands were started. None if the number does not fit."""
    script = read_script(command)
    if not isinstance(script, Plain) or not 0 < started <= len(script.commands):
        return None
    texts = [part.text for part in script.commands]
    starts = _start_indices(command, texts)
    if starts is None:
        return None
    between = [
        command[start + len(text) : following].strip()
        for start, text, following in zip(starts, texts, starts[1:], strict=False)
    ]
    first = _beginning_of_pipe(between, started - 1)
    moves = [part.text for part in script.commands[:first] if part.argv[:1] == ("cd",)]
    can_be_cut = first > 0 and set(between) <= {AND, PIPE}
    return StartedParts(
        done=tuple(texts[:first]),
        failed=f" {PIPE} ".join(texts[first:started]),
        rest=f" {AND} ".join([*moves, command[starts[first] :]]) if can_be_cut else None,
    )


def _start_indices(command: str, texts: Sequence[str]) -> list[int] | None:
    """The position of each part in the command."""
    indices, index = [], 0
    for text in texts:
        index = command.find(text, index)
        if index < 0:
            return None
        indices.append(index)
        index += len(text)
    return indices


def _beginning_of_pipe(between: Sequence[str], last: int) -> int:
    while last > 0 and between[last - 1] == PIPE:
        last -= 1
    return last
