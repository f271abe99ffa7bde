"""Ask the person a question, with answers to choose from."""

from typing import Annotated

import msgspec

from robota.contracts.tool import Effect, Preview, Question, Tool, ToolContext, ToolResult, Touches
from robota.protocol.wire import Value
from robota.tools.description import description_beside


class FollowUp(msgspec.Struct, frozen=True, kw_only=True):
    text: Annotated[str, msgspec.Meta(description="A complete answer the person can choose.")]
    mode: Annotated[str | None, msgspec.Meta(description="The mode to switch to if it is chosen.")] = None


class AskFollowupQuestionParams(msgspec.Struct, frozen=True, kw_only=True):
    question: Annotated[str, msgspec.Meta(description="A clear question about what you need to know.")]
    follow_up: Annotated[
        tuple[FollowUp, ...],
        msgspec.Meta(description="2 to 4 suggested answers, most likely first.", min_length=1, max_length=4),
    ]


class Suggestion(Value, frozen=True, kw_only=True):
    answer: str
    mode: str | None = None


class FollowupText(Value, frozen=True, kw_only=True, omit_defaults=False):
    """The JSON inside the text of a `followup` ask."""

    question: str
    suggest: tuple[Suggestion, ...]


async def run(params: AskFollowupQuestionParams, context: ToolContext) -> ToolResult:
    return ToolResult(content="", control=Question(text=_text(params)))


async def preview(params: AskFollowupQuestionParams, context: ToolContext) -> Preview:
    return Preview(ask="followup", text=_text(params))


def touches(params: AskFollowupQuestionParams) -> Touches:
    return Touches()


def _text(params: AskFollowupQuestionParams) -> str:
    suggest = tuple(Suggestion(answer=item.text, mode=item.mode) for item in params.follow_up)
    return msgspec.json.encode(FollowupText(question=params.question, suggest=suggest)).decode()


TOOL = Tool(
    name="ask_followup_question",
    label="ask_followup_question",
    params=AskFollowupQuestionParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.TALK}),
    run=run,
    touches=touches,
    preview=preview,
)
