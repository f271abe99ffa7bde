"""Questions that wait for an answer: a table of futures. The first valid answer wins."""

import asyncio
from typing import Final

import msgspec

from robota.engine.calls.answer_changes import ChangedInput, ChosenHunks, wish_in
from robota.protocol.commands import Accepted, AskResponse, Receipt, Refused
from robota.protocol.message import Message

RESPONSES: Final = frozenset({"yesButtonClicked", "noButtonClicked", "messageResponse", "objectResponse"})


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came back for an ask."""

    response: str
    text: str = ""
    images: tuple[str, ...] = ()
    grant: tuple[str, ...] = ()
    grant_scope: str = "session"

    @property
    def wish(self) -> ChangedInput | ChosenHunks | None:
        """What the person wants instead of what they were asked about."""
        return wish_in(self.text) if self.response == "objectResponse" else None

    @property
    def is_yes(self) -> bool:
        return self.response == "yesButtonClicked"

    @property
    def has_words(self) -> bool:
        return bool(self.text.strip() or self.images)


class PendingAsk(msgspec.Struct, frozen=True, kw_only=True):
    message: Message
    future: asyncio.Future[Answer]


class AskTable:
    """The asks that wait now. More than one only if tasks are nested."""

    def __init__(self) -> None:
        self._pending: dict[int, PendingAsk] = {}

    @property
    def newest(self) -> PendingAsk | None:
        return next(reversed(self._pending.values()), None)

    async def wait(self, message: Message) -> Answer:
        """Wait for the answer to this ask. However the wait ends, the ask is then no longer answerable."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._pending[message.ts] = PendingAsk(message=message, future=future)
        try:
            return await future
        finally:
            self._pending.pop(message.ts, None)

    def answer(self, command: AskResponse) -> Receipt:
        """Hand an answer to the ask it names, or refuse it and change nothing."""
        if command.ask_response not in RESPONSES:
            return Refused(
                code="unknown_response",
                message=f"{command.ask_response!r} is not an answer; answers are {', '.join(sorted(RESPONSES))}.",
            )
        pending = self.newest if command.ts is None else self._pending.get(command.ts)
        if pending is None or pending.future.done():
            return Refused(code="stale_ask", message=_why_stale(command.ts, self.newest))
        pending.future.set_result(
            Answer(
                response=command.ask_response,
                text=command.text or "",
                images=command.images,
                grant=command.grant,
                grant_scope=command.grant_scope,
            )
        )
        return Accepted(id=str(pending.message.ts))


def _why_stale(ts: int | None, newest: PendingAsk | None) -> str:
    if ts is None or newest is None:
        return "Nothing is being asked now; the answer changed nothing."
    return f"The ask {ts} is not pending (now pending: {newest.message.ts}); the answer changed nothing."
