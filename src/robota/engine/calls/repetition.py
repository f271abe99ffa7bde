"""Detects a model that makes the same calls over and over, and answers such a call."""

import json
from collections import deque
from enum import Enum
from hashlib import sha256
from typing import Any, Final

from robota.engine.calls.call_stopped import TaskGivenUp
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.protocol.asks.answer import Approve
from robota.protocol.asks.ask import MistakeKind, MistakesAsk

MAX_CYCLE: Final = 4
REPEATING: Final = "The model is repeating the same tool call. Tell it how to continue, or start a new task."
LAST_WARNING: Final = "This is the last warning: the next repetition ends the task."


class Repetition(Enum):
    """What happens to a repeated call, from the first time over the limit to the third."""

    REFUSED = 1
    WARNED = 2
    STOPPED = 3


class RepetitionGuard:
    """Detects a model that loops: one call over and over, or a short cycle of calls.

    `limit` identical calls in a row pass, and four times as many rounds of a cycle. Each call after that is refused,
    the second time with a warning; the third time the task has to stop, unless many other calls came between.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.forget()

    def forget(self) -> None:
        """Start counting again, as after a prompt of the user."""
        self._recent: deque[bytes] = deque(maxlen=MAX_CYCLE)
        self._matches = dict.fromkeys(range(1, MAX_CYCLE + 1), 0)
        self._refusals = 0
        self._passed = 0

    def count(self, name: str, arguments: dict[str, Any]) -> Repetition | None:
        """Count the call; the consequence if it is one too many."""
        if self._limit <= 0:
            return None
        key = sha256(f"{name}:{json.dumps(arguments, sort_keys=True, default=str)}".encode("utf-8", "replace")).digest()
        recent = self._recent
        for length in self._matches:
            is_match = len(recent) >= length and recent[-length] == key
            self._matches[length] = self._matches[length] + 1 if is_match else 0
        recent.append(key)
        rounds = 4 * self._limit
        if self._matches[1] < self._limit and all(
            matches < length * (rounds - 1) for length, matches in self._matches.items() if length > 1
        ):
            self._passed += 1
            if self._passed > rounds:
                self._refusals = 0
            return None
        self._passed = 0
        self._refusals += 1
        return Repetition(min(self._refusals, Repetition.STOPPED.value))


async def answer_repetition(runtime: TaskRuntime, tool: str, *, asks: bool, is_last: bool) -> str:
    """The message for the model. With `asks` the user is asked too, and `TaskGivenUp` is raised if they say no."""
    message = f"Tool call repetition limit reached for {tool}. Please try a different approach."
    message = f"{message} {LAST_WARNING}" if is_last else message
    if asks:
        answer = await runtime.ask(MistakesAsk(message=REPEATING, mistake=MistakeKind.REPEATED_CALL))
        if answer.has_words:
            runtime.rows.say("user_feedback", answer.text, images=answer.images or None)
            message = f"{message} The user says: {answer.text}"
        elif not isinstance(answer, Approve):
            raise TaskGivenUp("The user stopped the task, because the model kept repeating the same call.")
    return message
