"""Ask the user a question, with suggested answers."""

from typing import Annotated

import msgspec

from robota.contracts.tool import Preview, Question, ToolRole, titled
from robota.protocol.asks.ask import QuestionAsk, SuggestedAnswer
from robota.protocol.asks.seed import seed_ask
from robota.protocol.calls import CallPurpose
from robota.tools.steering_tool import steering_tool


class FollowUp(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    mode: Annotated[str | None, msgspec.Meta(description="The mode to switch to if it is chosen.")] = None


class AskFollowupQuestionParams(msgspec.Struct, frozen=True, kw_only=True):
    question: str
    follow_up: Annotated[
        tuple[FollowUp, ...],
        msgspec.Meta(description="Suggested answers, the most likely first.", min_length=1, max_length=4),
    ]


def order(params: AskFollowupQuestionParams) -> Question:
    """The question that the engine asks."""
    suggestions = tuple(SuggestedAnswer(answer=item.text, mode=item.mode) for item in params.follow_up)
    return Question(asked=QuestionAsk(question=params.question, suggestions=suggestions))


def preview(params: AskFollowupQuestionParams) -> Preview:
    """The question as a row."""
    return Preview(ask="followup", text=seed_ask(order(params).asked).text or "")


TOOL = steering_tool(
    __file__,
    AskFollowupQuestionParams,
    order,
    preview,
    title=titled("Question", "question"),
    purpose=CallPurpose.QUESTION,
    role=ToolRole.ASKER,
)
