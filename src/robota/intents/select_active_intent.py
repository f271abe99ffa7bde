"""The tool with which a model selects the intent to work on, before it changes anything."""

import asyncio
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Final
from xml.sax.saxutils import escape

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
from robota.intents.context_injector import TOOL, ContextInjectorHook
from robota.intents.intent import Intent
from robota.intents.leases import Lease, LeaseBook
from robota.intents.refusal import RefusalKind, message_of, refusal
from robota.intents.selection import IntentRefused, IntentSelection
from robota.protocol.views import TextView

DESCRIPTION: Final = """Choose the intent that your work belongs to, before you change anything.

This project says in .orchestration/active_intents.yaml what may be worked on. Calls that write files or run commands
are refused until you have chosen an intent that is IN_PROGRESS. The result tells which files the intent owns, what to
keep to and when it is done. If you do not know the ids, call it with a guess: the error lists those to choose from."""
LOOK_AGAIN_S: Final = 0.5


class Overlap(StrEnum):
    """How to handle an intent that shares files with that of another session in the same checkout."""

    SPLIT = "split"  # selected; the shared files are refused while the other session works
    WAIT = "wait"  # selected when the other session is done
    REFUSE = "refuse"  # not selected


class SelectIntentParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    intent_id: Annotated[str, msgspec.Meta(description="The id of the intent, for example `INT-001`.")]


class IntentDesk(msgspec.Struct, frozen=True, kw_only=True):
    """The services that selecting needs."""

    selection: IntentSelection
    context: ContextInjectorHook
    leases: LeaseBook
    overlap: Overlap = Overlap.SPLIT

    async def select(self, id: str, context: ToolContext) -> ToolResult:
        """Make it the active intent, unless other sessions are in the way."""
        try:
            intent = self.selection.candidate(id)
            in_the_way = await self._cleared(intent, context)
            if in_the_way and self.overlap is Overlap.REFUSE:
                raise IntentRefused(_held(intent, in_the_way))
            intent = self.selection.select(id)
        except IntentRefused as refused:
            view = TextView(text=message_of(str(refused)))
            return ToolResult(content=str(refused), view=view, is_error=True)
        self.leases.take(intent)
        return ToolResult(content=f"{self.context.context_of(intent)}{_lease_note(self.leases, intent)}")

    async def _cleared(self, intent: Intent, context: ToolContext) -> Sequence[Lease]:
        """The sessions in the way, after waiting for those that should be waited for."""
        is_announced = False
        while True:
            leases = [lease for lease in self.leases.overlapping(intent) if self.leases.is_in_the_way(lease)]
            if not leases or self.overlap is not Overlap.WAIT:
                return leases
            if not is_announced:
                context.announce(f"{intent.id} waits for {leases[0].holder}.")
                is_announced = True
            await asyncio.sleep(LOOK_AGAIN_S)


def select_tool(desk: IntentDesk) -> AnyTool:
    """The tool for one session."""

    async def prepare(params: SelectIntentParams, context: ToolContext) -> Prepared:
        async def run() -> ToolResult:
            return await desk.select(params.intent_id.strip(), context)

        return Prepared(preview=Preview(ask="tool", text=_preview_text(params)), run=run)

    return Tool(
        name=TOOL,
        label="Intent",
        group=ToolGroup.TASK,
        params=SelectIntentParams,
        description=lambda: DESCRIPTION,
        effects=frozenset({Effect.TALK}),
        touches=lambda params: Touches(),
        prepare=prepare,
        title=titled("Intent", "intent_id"),
    )


def _held(intent: Intent, leases: Sequence[Lease]) -> str:
    what = f"{intent.id} shares files with what is held by {'; '.join(lease.holder for lease in leases)}."
    return refusal(RefusalKind.SCOPE_HELD, f"{what} Select another intent, or stop.", intent.id)


def _lease_note(leases: LeaseBook, intent: Intent) -> str:
    """A note about other sessions that work on files of the intent."""
    overlapping = leases.overlapping(intent)
    if not overlapping:
        return ""
    listed = "\n".join(
        f"<lease>{escape(lease.holder)}: {escape(', '.join(lease.owned_scope))}"
        f"{'' if leases.is_in_the_way(lease) else ' (in another worktree)'}</lease>"
        for lease in overlapping
    )
    return (
        f"\n<leases>\n{listed}\n</leases>\nOther sessions work on files of this intent. While one in this "
        "directory does, calls that change its files are refused: change others first."
    )


def _preview_text(params: SelectIntentParams) -> str:
    return msgspec.json.encode({"tool": "selectActiveIntent", "reason": params.intent_id}).decode()
