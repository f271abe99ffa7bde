"""The tool that a model calls before it changes anything: choose the intent to work on."""

from typing import Annotated

import msgspec

from robota.contracts.tool import (
    AnyTool,
    Effect,
    Prepared,
    Preview,
    Tool,
    ToolContext,
    ToolGroup,
    ToolResult,
    Touches,
    titled,
)
from robota.intents.intent_context import intent_context
from robota.intents.selection import IntentRefused, IntentSelection
from robota.intents.trace_file import TraceFile, history_of

NAME = "select_active_intent"
DESCRIPTION = """Choose the intent that your work belongs to, before you change anything.

This project says in .orchestration/active_intents.yaml what may be worked on. Calls that write files or run commands
are refused until you have chosen an intent that is IN_PROGRESS. The result tells which files the intent owns, what to
keep to and when it is done. If you do not know the ids, call it with a guess: the error lists those to choose from."""


class SelectIntentParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    intent_id: Annotated[str, msgspec.Meta(description="The id of the intent, for example `INT-001`.")]


def select_tool(selection: IntentSelection, trace: TraceFile) -> AnyTool:
    """The tool for one session."""

    async def prepare(params: SelectIntentParams, context: ToolContext) -> Prepared:
        async def run() -> ToolResult:
            try:
                intent = selection.select(params.intent_id.strip())
            except IntentRefused as refused:
                return ToolResult(content=str(refused), is_error=True)
            lessons = selection.files.lessons()
            return ToolResult(content=intent_context(intent, history_of(trace, intent.id), lessons))

        return Prepared(preview=Preview(ask="tool", text=_shown(params)), run=run)

    return Tool(
        name=NAME,
        label="Intent",
        group=ToolGroup.TASK,
        params=SelectIntentParams,
        description=lambda: DESCRIPTION,
        effects=frozenset({Effect.TALK}),
        touches=lambda params: Touches(),
        prepare=prepare,
        title=titled("Intent", "intent_id"),
    )


def _shown(params: SelectIntentParams) -> str:
    return msgspec.json.encode({"tool": "selectActiveIntent", "reason": params.intent_id}).decode()
