"""Adds intents to the context: the instruction to select one, and the active one again after condensing."""

from collections.abc import Callable, Sequence
from typing import Final
from xml.sax.saxutils import escape

from robota.contracts.hook import CompletedCall, HookContext
from robota.contracts.tool import ToolResult
from robota.intents.intent import Intent, IntentProblem, selectable
from robota.intents.intent_context import intent_context
from robota.intents.intent_files import INTENTS
from robota.intents.selection import IntentRefused, IntentSelection

MOST_LISTED: Final = 20
TOOL: Final = "select_active_intent"
DEMAND: Final = f"""# Intents

This project says in {INTENTS} what may be worked on. Before you change anything, call {TOOL} with the id of the \
intent that the request belongs to. Until then, tools that write files and commands that do more than look are \
refused. Change only files that the intent owns."""


class ContextInjectorHook:
    """A `ContextKeeper` and a `PostToolHook`. `history` gives lines about earlier changes for an intent."""

    def __init__(self, selection: IntentSelection, history: Callable[[str], Sequence[str]]) -> None:
        self._selection = selection
        self._history = history

    def context_of(self, intent: Intent) -> str:
        """The block that describes an intent to the model."""
        files = self._selection.files
        return intent_context(intent, self._history(intent.id), files.lessons(), files.start)

    def prompt_section(self) -> str:
        """The instruction to select an intent, and the present intents as quoted data."""
        try:
            intents = selectable(self._selection.files.intents())[:MOST_LISTED]
        except IntentProblem:
            return DEMAND
        listed = (f'<intent id="{intent.id}">{escape(intent.name)}</intent>' for intent in intents)
        return "\n".join((DEMAND, "<intents>", *listed, "</intents>")) if intents else DEMAND

    def after_shortening(self, task_id: str) -> str:
        """The active intent again, because its block may be among the removed turns."""
        try:
            return f"# Active intent\n\n{self.context_of(self._selection.active())}"
        except IntentRefused:
            return ""

    async def after_tool(self, completed: CompletedCall, context: HookContext) -> ToolResult:
        if completed.tool.name == TOOL and not completed.result.is_error and self._selection.selected is not None:
            context.tell(f"Context injected by hook: {self._selection.selected}.")
        return completed.result
