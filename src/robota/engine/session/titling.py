"""Asks the model for a title of the session, if the settings allow the extra request."""

import asyncio
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from robota.engine.model.plain_reply import plain_reply
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.log.kinds.session import TitleRecord
from robota.protocol.conversation import TextBlock, UserTurn
from robota.providers.chunks import ModelRequest
from robota.providers.fault import ProviderFault

PROMPT_SHOWN: Final = 4_000
MAX_TITLE_LENGTH: Final = 80
MAX_TOKENS: Final = 1_000
# Closing the session waits at most this long for a title.
LAST_SECONDS: Final = 5.0


class Titling:
    """A request for a title, beside the task. Without an answer, the session is named after its first prompt."""

    def __init__(self, runtime: TaskRuntime, prompt: str) -> None:
        self._runtime = runtime
        self._work = asyncio.create_task(self._ask(prompt))

    async def finish(self) -> None:
        """Wait for the answer up to `LAST_SECONDS`, then give up."""
        await asyncio.wait([self._work], timeout=LAST_SECONDS)
        self._work.cancel()
        with suppress(asyncio.CancelledError):
            await self._work

    async def _ask(self, prompt: str) -> None:
        runtime = self._runtime
        words = f"<prompt>\n{prompt[:PROMPT_SHOWN]}\n</prompt>"
        request = ModelRequest(
            model=runtime.options.model,
            system=Path(__file__).with_name("title.md").read_text(encoding="utf-8").strip(),
            turns=(UserTurn(content=(TextBlock(text=words),)),),
            max_output_tokens=min(MAX_TOKENS, runtime.services.model.info.max_output_tokens or MAX_TOKENS),
        )
        before = runtime.meter.cost
        try:
            title = title_in((await plain_reply(runtime, request)).text)
        except ProviderFault:
            title = ""
        cost = None if runtime.meter.cost is None or before is None else runtime.meter.cost - before
        if title or cost:
            runtime.journal.write(TitleRecord(task_id=runtime.task_id, title=title, cost=cost))


def title_in(reply: str) -> str:
    """The first non-empty line without quotes and heading marks; empty if it is too long for a title."""
    lines = (line.strip() for line in re.sub(r"<think>.*?</think>", "", reply, flags=re.DOTALL).splitlines())
    first = next((line for line in lines if line), "")
    title = re.sub(r"^(?:#+|title:)\s*", "", first, flags=re.IGNORECASE).strip("\"'`*. \t")
    return title if len(title) <= MAX_TITLE_LENGTH else ""
