"""Process the events of the session: update the view and the scrollback, and ask the user."""

import time
from typing import TYPE_CHECKING, Final

from robota.clients.answering.question_line import words_for
from robota.clients.tui.flows.entered_text import Written, blocking_ask, is_running, words_for_session
from robota.clients.tui.flows.prompt_history import prompts_in
from robota.clients.tui.theme import Role
from robota.clients.view.model import OpenAsk
from robota.clients.view.reduce import reduce, windowed
from robota.protocol.asks.ask import ApprovalAsk, CompletionAsk, QuestionAsk, ResumeAsk
from robota.protocol.events import (
    Event,
    MessageCreated,
    QueuedMessagesUpdated,
    RetryScheduled,
    RewindPoints,
    Rewound,
    State,
    TaskAborted,
    TaskAskResponded,
    TaskTokenUsageUpdated,
)

if TYPE_CHECKING:
    from robota.clients.tui.app import ScreenConversation

# Printed rows belong to the terminal; only this many are kept, for later changes.
PAGES_KEPT: Final = 2
ASK_ROLES: Final = {"?": Role.BOLD, "!": Role.ERROR}
WAITING: Final = "Robota is waiting for you"
DONE: Final = "Robota is done"
ASK_BEHIND: Final = "? Robota has a question: press Esc to return to it."


class SessionEvents:
    """Follows the session of one conversation."""

    def __init__(self, conversation: "ScreenConversation") -> None:
        self._conversation = conversation

    async def follow(self, prompt: str | None) -> None:
        """Process events until the session ends; `prompt` begins the conversation."""
        conversation = self._conversation
        events = conversation.session.events()
        conversation.view = reduce(conversation.view, await anext(events))
        conversation.picture.branch = conversation.setup.git_branch()
        self._show_past()
        ask = blocking_ask(conversation.view)
        if prompt is not None:
            written = Written(text=prompt)
            conversation.start(conversation.sending.send(words_for_session(written, conversation.view), written))
        elif ask is not None:
            self._put(ask)
        conversation.status.look(conversation.view)
        conversation.picture.draw()
        async for event in events:
            self._take(event)
        conversation.leave(0)

    def _show_past(self) -> None:
        """Show the conversation of a resumed session."""
        conversation, session = self._conversation, self._conversation.view.session
        if len(conversation.view.rows):
            from robota.clients.render.past_rows import PastConversation

            conversation.input.remember(prompts_in(conversation.view.rows))
            conversation.scrollback.resume(session.current_task_id if session is not None else None)
            older = session.older_rows if session is not None else 0
            rows, calls = tuple(conversation.view.rows), conversation.view.past_calls
            conversation.scrollback.show_past(PastConversation(rows=rows, calls=calls, older=older))
            if conversation.setup.is_past_shown:
                conversation.scrollback.take_rows()  # it is on the screen already; only Ctrl+O needs it

    def _take(self, event: Event) -> None:
        conversation = self._conversation
        conversation.view = windowed(reduce(conversation.view, event), PAGES_KEPT)
        conversation.scrollback.take(event)
        match event:
            case MessageCreated(message=message) if message.ask and (ask := blocking_ask(conversation.view)):
                self._put(ask)
            case TaskAskResponded(ts=ts):
                conversation.approvals.answered(ts)
            case TaskAborted():
                conversation.approvals.withdrawn()
            case RetryScheduled(delay_ms=delay_ms):
                conversation.picture.retry_at = time.monotonic() + delay_ms / 1000
            case TaskTokenUsageUpdated(token_usage=used) if not is_running(conversation.view):
                conversation.scrollback.set_shown_usage(used)  # the usage before this process
            case QueuedMessagesUpdated() if conversation.dialog is not None:
                conversation.keys.queue.refresh()
            case Rewound() | RewindPoints():
                self._take_rewind(event)
            case State():
                if blocking_ask(conversation.view) is None:
                    conversation.approvals.withdrawn()
        conversation.picture.watch_work()
        conversation.status.look(conversation.view, event)
        conversation.picture.draw_soon()

    def _put(self, ask: OpenAsk) -> None:
        """Show an ask to the user. A requested stop is complete by then."""
        conversation = self._conversation
        conversation.is_stopping = False
        match ask.asked or QuestionAsk(question=ask.message.text or ""):
            case ApprovalAsk() as asked:
                conversation.approvals.put(asked, ask.message)
            case CompletionAsk():
                conversation.scrollback.tell_usage(conversation.view.usage)
                if conversation.view.has_ended:
                    conversation.start(conversation.keys.queue.take_all_back())
            case asked:
                if isinstance(asked, ResumeAsk):
                    conversation.scrollback.tell_stopped_usage(conversation.view.usage)
                    conversation.approvals.withdrawn()
                    conversation.start(conversation.keys.queue.take_all_back())
                for words in words_for(asked, "press Esc"):
                    conversation.scrollback.tell(words, ASK_ROLES.get(words[:1], Role.PLAIN))
        is_done = isinstance(ask.asked, CompletionAsk)
        if not is_done:
            notice = conversation.theme.row([(ASK_BEHIND, Role.WARNING)], conversation.width)
            conversation.region.full_screen.tell(notice)
        conversation.keys.call_person(DONE if is_done else WAITING)

    def _take_rewind(self, event: Rewound | RewindPoints) -> None:
        from robota.clients.render.rewind_lines import result_lines
        from robota.clients.terminal.line import Line
        from robota.clients.tui.flows.rewind_choice import rewind_choice

        if isinstance(event, Rewound):
            self._conversation.show_lines(map(Line, result_lines(event.result)))
            if event.result.draft:
                self._conversation.input.put_back(Written(text=event.result.draft))
            return
        choice = rewind_choice(event.points)
        if choice is None:
            self._conversation.tell("There is nothing to rewind to yet.")
        else:
            self._conversation.offer(choice, ())
