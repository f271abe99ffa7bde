"""What background processes printed and nobody has read, added to the conversation when the session ends."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from robota.contracts.workspace import Processes
from robota.engine.record.rows import Rows
from robota.protocol.message import BACKGROUND_OUTPUT
from robota.text.visible import single_line

if TYPE_CHECKING:
    from robota.workspace.process.background import BackgroundProcess

MAX_ENDING_S: Final = 10.0
MAX_PROCESSES: Final = 20
# Of each process; half of it from the beginning and half from the end.
MAX_CHARACTERS: Final = 4000
MAX_COMMAND: Final = 200


async def keep_unread_output(processes: Processes, rows: Rows) -> None:
    """End the background processes, so that nothing more is printed, and keep what they printed since it was read.

    A single row contains the output of all of them, or of the newest if there are many.
    """
    was_running = {process.id for process in processes.background if process.ending is None}
    with suppress(TimeoutError):
        async with asyncio.timeout(MAX_ENDING_S):
            await processes.end_background()
    told = [each for process in processes.background if (each := await _unread(process, was_running))]
    if told:
        rows.say(BACKGROUND_OUTPUT, "\n\n".join(_newest(told)))


async def _unread(process: "BackgroundProcess", was_running: set[str]) -> str:
    news = await process.new_output(0)
    if not news.head.strip() and not news.tail.strip():
        return ""
    ended = "was stopped when Robota ended" if process.id in was_running else "had ended"
    text = _shortened(news.head, news.tail, news.total_characters)
    return f"{process.id} ({single_line(process.command, MAX_COMMAND)}) {ended}. Its output that was not read:\n{text}"


def _shortened(head: str, tail: str, total: int) -> str:
    if not tail and total <= MAX_CHARACTERS:
        return head.rstrip("\n")
    side = MAX_CHARACTERS // 2
    first, last = head[:side], (tail or head)[-side:]
    missing = total - len(first) - len(last)
    return f"{first}\n({missing:,} characters were left out here and are not kept)\n{last}".rstrip("\n")


def _newest(told: Sequence[str]) -> Sequence[str]:
    left_out = len(told) - MAX_PROCESSES
    return told if left_out <= 0 else [f"(The output of {left_out:,} older processes is left out.)", *told[left_out:]]
