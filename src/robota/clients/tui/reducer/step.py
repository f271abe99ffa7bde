"""A step of the reducer: the state after an event so far, and the effects. Every part of the reducer extends it."""

from typing import Any, Final, NamedTuple

import msgspec

from robota.clients.tui.effects import After, AskBackground, CompletionRequest, Effect, Paint, PrintText, Submit
from robota.clients.tui.events import RedrawDue
from robota.clients.tui.flows.completion_popup import wants_completion
from robota.clients.tui.flows.draft import Draft
from robota.clients.tui.flows.typing_pause import QUIET_S, QUIET_WITH_DRAFT_S, TypingPause
from robota.clients.tui.key_table import Action
from robota.clients.tui.state import Hint, QuestionDialog, ScreenState
from robota.clients.tui.theme import Role
from robota.protocol.appearance import ON_ONE_BACKGROUND, Appearance
from robota.protocol.commands import Command, CompletePrompt, Refused

HINT_S: Final = 5.0
DRAFT_KEPT: Final = "Your draft is kept: press Ctrl+R to find it."
NO_TASK_YET: Final = "There is no task yet. Enter a prompt first."


class ScreenStep(NamedTuple):
    """The state, and the effects to perform."""

    state: ScreenState
    effects: tuple[Effect, ...] = ()

    def change(self, **fields: Any) -> "ScreenStep":
        """The step with other values in the state."""
        return ScreenStep(msgspec.structs.replace(self.state, **fields), self.effects)

    def plus(self, *effects: Effect) -> "ScreenStep":
        """The step with more effects."""
        return ScreenStep(self.state, (*self.effects, *effects))

    def tell(self, text: str, role: Role = Role.DIM) -> "ScreenStep":
        """Print a sentence."""
        return self.plus(PrintText(text, role))

    def submit(self, command: Command) -> "ScreenStep":
        """Submit a command whose reply matters only if it is a refusal."""
        return self.plus(Submit(command))

    def refuse(self, refusal: Refused) -> "ScreenStep":
        """Print why a command was refused."""
        return self.tell(f"! {NO_TASK_YET if refusal.code == 'no_active_task' else refusal.message}", Role.ERROR)

    def hint(self, text: str, offered: Action | None = None) -> "ScreenStep":
        """Show a hint below the input for a while; an empty one removes it."""
        step = self.change(hint=Hint(text=text, until=self.state.now + HINT_S, offered=offered))
        return step.plus(After(HINT_S, RedrawDue())) if text else step

    def write(self, draft: Draft) -> "ScreenStep":
        """The draft after the user has written something, or a key has done so for them."""
        return self.change(draft=draft).after_typing()

    def insert(self, key: str) -> "ScreenStep":
        """Write a key into the input, which an open dialog did not want."""
        return self.write(self.state.draft.inserted(" " if key == "space" else key))

    def replace_draft(self, text: str) -> "ScreenStep":
        """Replace the text of the input; the previous one is kept in the history."""
        draft = self.state.draft
        step = self.change(draft=draft.replaced(text))
        return step.hint(DRAFT_KEPT) if draft.replaces(text) else step

    def pressed(self) -> "ScreenStep":
        """Any key withdraws the offer of the previous key."""
        return self.change(last_key_at=self.state.now, hint=Hint())

    def after_typing(self) -> "ScreenStep":
        """Request completions, and let an open question wait: what is typed is not for it."""
        step = self.pressed()
        state, draft = step.state, step.state.draft
        if wants_completion(draft.text, draft.caret):
            step = step.complete()
        if isinstance(state.dialog, QuestionDialog):
            pause = TypingPause(since=state.now)
            step = step.change(dialog=msgspec.structs.replace(state.dialog, pause=pause)).wake_after_pause()
        approval = state.approval
        if approval is not None and approval.input_use is None:
            focus = approval.focus.typed(state.now)
            step = step.change(approval=msgspec.structs.replace(approval, focus=focus)).wake_after_pause()
        return step

    def complete(self) -> "ScreenStep":
        """Request completions at the cursor."""
        text, caret = self.state.draft.position
        return self.plus(Submit(CompletePrompt(text=text, caret=caret), CompletionRequest(text, caret)))

    def wake_after_pause(self) -> "ScreenStep":
        """Redraw when a card or question starts to accept keys."""
        return self.plus(*(After(quiet_s + 0.01, RedrawDue()) for quiet_s in (QUIET_S, QUIET_WITH_DRAFT_S)))

    def preview(self, appearance: Appearance | None) -> "ScreenStep":
        """Preview this appearance; None ends the preview."""
        if appearance == self.state.colours.previewed:
            return self
        return self.change(colours=msgspec.structs.replace(self.state.colours, previewed=appearance)).paint()

    def paint(self) -> "ScreenStep":
        """Paint with the colours of the state."""
        colours = self.state.colours
        return self.plus(Paint(colours.shown, colours.background)).ask_background()

    def ask_background(self) -> "ScreenStep":
        """Ask the terminal for its background, once, if the colours depend on it."""
        colours = self.state.colours
        if colours.shown.theme in ON_ONE_BACKGROUND or not colours.may_ask_background:
            return self
        colours = msgspec.structs.replace(colours, may_ask_background=False)
        return self.change(colours=colours).plus(AskBackground())
