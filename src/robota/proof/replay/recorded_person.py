"""The person of a recording: gives the prompts and answers of then to a session that is run again."""

from robota.proof.replay.recording import COMPLETION, RecordedAnswer, Recording
from robota.protocol.asks.answer import Answer, Approve, Reject, Say
from robota.protocol.asks.kinds import is_non_blocking_ask
from robota.protocol.commands import AskResponse, NewTask, Refused
from robota.protocol.events import MessageCreated, MessageUpdated, TaskAborted, TaskEnded
from robota.protocol.message import Message
from robota.protocol.port import SessionPort


class RecordedPerson:
    """Drives a session to the end of its recording. `trouble` says why it ended before that, if it did."""

    def __init__(self, session: SessionPort, recording: Recording) -> None:
        self._session = session
        self._recording = recording
        self._answers = list(recording.answers)
        self._prompted = 0
        self._answered: set[int] = set()
        self._tasks: set[str] = set()
        self.trouble = ""

    async def drive(self) -> None:
        """Return when nothing is left to say."""
        events = self._session.events()
        await self._next_prompt()
        async for event in events:
            if isinstance(event, MessageCreated | MessageUpdated) and not await self._goes_on(event.message):
                return
            is_over = isinstance(event, TaskAborted | TaskEnded) and event.task_id in self._tasks
            if is_over and not await self._next_prompt():
                return

    async def _next_prompt(self) -> bool:
        if self._prompted >= len(self._recording.prompts):
            return False
        prompt = self._recording.prompts[self._prompted]
        self._prompted += 1
        receipt = await self._session.submit(NewTask(text=prompt.text, mode=prompt.mode or None))
        if isinstance(receipt, Refused):
            self.trouble = receipt.message
            return False
        self._tasks.add(receipt.id or "")
        return True

    async def _goes_on(self, row: Message) -> bool:
        """Answer an ask as it was answered; one that was not answered ends the session, or the next prompt came."""
        if row.ask is None or row.partial or row.is_answered or row.ts in self._answered:
            return True
        if is_non_blocking_ask(row.ask):
            return True
        self._answered.add(row.ts)
        answer = self._answer_to(row)
        if answer is not None:
            await self._session.submit(AskResponse(answer=answer, ts=row.ts))
            return True
        if row.ask != COMPLETION:
            self.trouble = f"it asked {row.ask}: {row.text or ''}"
            return False
        return await self._next_prompt()

    def _answer_to(self, row: Message) -> Answer | None:
        for number, answer in enumerate(self._answers):
            if (answer.kind, answer.call_id, answer.prompt) == (row.ask, row.call_id, self._prompted):
                del self._answers[number]
                return _answer_in(answer)
        return None


def _answer_in(recorded: RecordedAnswer) -> Answer:
    match recorded.response:
        case "yesButtonClicked":
            return Approve(text=recorded.text)
        case "noButtonClicked":
            return Reject(text=recorded.text)
        case _:
            return Say(text=recorded.text)
