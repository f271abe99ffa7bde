"""Ask the user a question, with suggested answers."""

from typing import Annotated

import msgspec

from robota.contracts.tool import (
    Effect,
    Prepared,
    Preview,
    Question,
    Tool,
    ToolContext,
    ToolGroup,
    ToolResult,
    Touches,
    titled,
)
from robota.protocol.asks.ask import QuestionAsk, SuggestedAnswer
from robota.protocol.asks.seed import seed_ask
from robota.protocol.calls import CallPurpose
from robota.tools.presentation import description_beside


class FollowUp(msgspec.Struct, frozen=True, kw_only=True):
    text: Annotated[str, msgspec.Meta(description="A complete answer.")]
    mode: Annotated[str | None, msgspec.Meta(description="The mode to switch to if it is chosen.")] = None


class AskFollowupQuestionParams(msgspec.Struct, frozen=True, kw_only=True):
    question: Annotated[str, msgspec.Meta(description="The question.")]
    follow_up: Annotated[
        tuple[FollowUp, ...],
        msgspec.Meta(description="Suggested answers, the most likely first.", min_length=1, max_length=4),
    ]


async def prepare(params: AskFollowupQuestionParams, context: ToolContext) -> Prepared:
    """The question; the engine asks it."""
    suggest = tuple(SuggestedAnswer(answer=item.text, mode=item.mode) for item in params.follow_up)
    asked = QuestionAsk(question=params.question, suggestions=suggest)

    async def run() -> ToolResult:
        return ToolResult(content="", control=Question(asked=asked))

    return Prepared(preview=Preview(ask="followup", text=seed_ask(asked).text or ""), run=run)


def touches(params: AskFollowupQuestionParams) -> Touches:
    """What the call touches, for policy."""
    return Touches()


TOOL = Tool(
    name="ask_followup_question",
    label="ask_followup_question",
    group=ToolGroup.TASK,
    params=AskFollowupQuestionParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.TALK}),
    touches=touches,
    prepare=prepare,
    title=titled("Question", "question"),
    purpose=CallPurpose.QUESTION,
)
