"""The question for the next prompt, and what other questions have in common with it."""

from typing import assert_never

import msgspec

from robota.clients.answering.question_line import TalkAsk
from robota.protocol.asks.ask import (
    ApprovalAsk,
    Ask,
    CompletionAsk,
    FailureAsk,
    LimitAsk,
    MistakesAsk,
    QuestionAsk,
    ResumeAsk,
)


class NextTask(msgspec.Struct, frozen=True):
    """The question for the next prompt while no task exists that could ask."""


def is_at_rest(asked: Ask | NextTask | None) -> bool:
    """Whether nothing runs that could be stopped."""
    match asked:
        case CompletionAsk() | ResumeAsk() | NextTask():
            return True
        case ApprovalAsk() | QuestionAsk() | LimitAsk() | MistakesAsk() | FailureAsk() | None:
            return False
        case never:
            assert_never(never)


def wants_words(asked: TalkAsk) -> bool:
    """Whether any text is an answer, so that text typed before the question counts as one."""
    return isinstance(asked, CompletionAsk | ResumeAsk)
