"""One command prints a gigabyte while somebody else wants the event loop.

Run as a process: `python command_flood.py`; prints the longest time in seconds that the other had to wait.
"""

import asyncio
import time
from pathlib import Path

from robota.workspace.process.processes import LocalProcesses

GIGABYTE = 1_000_000_000
BEAT_S = 0.005


async def flood() -> float:
    processes = LocalProcesses()
    beating = asyncio.create_task(longest_pause())
    outcome = await processes.run(f"head -c {GIGABYTE} /dev/zero", Path(), None, lambda _: None)
    beating.cancel()
    assert outcome.total_bytes == GIGABYTE
    if outcome.output_file is not None:
        outcome.output_file.unlink()
    processes.close()
    return await beating


async def longest_pause() -> float:
    """How much longer than planned a short sleep took, at worst, until cancelled."""
    longest, last = 0.0, time.perf_counter()
    try:
        while True:
            await asyncio.sleep(BEAT_S)
            now = time.perf_counter()
            longest, last = max(longest, now - last - BEAT_S), now
    except asyncio.CancelledError:
        return longest


if __name__ == "__main__":
    print(asyncio.run(flood()))
