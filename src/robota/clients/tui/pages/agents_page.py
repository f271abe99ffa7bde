"""A full screen for agents: all of them live, and the conversation of each, in which the user can take part."""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from robota.clients.tui.flows.agent_watch import (
    AgentWatch,
    SendWatched,
    StopWatched,
    WatchLeft,
    WatchOrder,
    press_while_watching,
)
from robota.clients.tui.painted_rows import wrap_row
from robota.clients.tui.theme import Role, Theme
from robota.clients.tui.widgets.agent_rows import LIST_KEYS, TALK_KEYS, agents_in, head_row, list_rows
from robota.clients.view.model import ViewModel
from robota.protocol.calls import BackgroundTask

PROMPT: Final = "> "
LOADING: Final = "…"
AROUND: Final = 3  # rows: the head, the input, the keys


def line_of(order: WatchOrder) -> str:
    """The command that does it."""
    match order:
        case SendWatched(agent, text):
            return f"/agent send {agent} {text}"
        case StopWatched(agent):
            return f"/agent stop {agent}"


class AgentsPage:
    """Draws an `AgentWatch` over the present view, and passes it the keys.

    `load` is called when the conversation of an agent has changed; `show` supplies its rows. `run` runs a command.
    """

    def __init__(
        self,
        view: Callable[[], ViewModel],
        theme: Theme,
        load: Callable[[BackgroundTask], None],
        run: Callable[[str], None],
        opened: str | None = None,
    ) -> None:
        """`opened` is the task of the agent whose conversation is shown first."""
        self._view = view
        self._theme = theme
        self._load = load
        self._run = run
        agent = next((each for each in agents_in(view()) if opened is not None and each.task_id == opened), None)
        self._watch = AgentWatch(opened=None if agent is None else agent.id)
        self._height = 1
        self._rows: Sequence[str] | None = None
        self._shown: tuple[str, int, str] | None = None  # which conversation was loaded, and what it was like then

    def show(self, agent: BackgroundTask, rows: Sequence[str]) -> None:
        """Set the rows of a conversation."""
        if agent.id == self._watch.opened:
            self._rows = rows

    def press(self, key: str) -> bool:
        """Handle a key; False closes the page."""
        after = press_while_watching(self._watch, agents_in(self._view()), key, max(1, self._height - AROUND))
        if isinstance(after, WatchLeft):
            return False
        if after.watch.opened != self._watch.opened:
            self._rows = self._shown = None
        self._watch = after.watch
        if after.order is not None:
            self._run(line_of(after.order))
        return True

    def rows(self, width: int, height: int) -> Sequence[str]:
        """The list, or the conversation with its newest rows at the bottom."""
        self._height = height
        view = self._view()
        agent = self._watch.chosen(agents_in(view))
        if self._watch.opened is None or agent is None:
            self._watch = replace(self._watch, opened=None)
            rows = list(list_rows(view, self._watch, self._theme, width))[: height - 1]
            return [*rows, *[""] * (height - 1 - len(rows)), self._theme.row([(LIST_KEYS, Role.CHOSEN)], width)]
        self._follow(view, agent)
        return [
            head_row(view, agent, self._theme, width),
            *self._conversation(view, agent, width, height - AROUND),
            self._theme.row([(PROMPT, Role.BOLD), (self._watch.draft, Role.PLAIN), ("▏", Role.DIM)], width),
            self._theme.row([(TALK_KEYS, Role.CHOSEN)], width),
        ]

    def _follow(self, view: ViewModel, agent: BackgroundTask) -> None:
        """Load the conversation again if something has happened in it."""
        other = view.others.get(agent.task_id or "")
        now = (agent.id, 0 if other is None else other.changes, agent.status.value)
        if now != self._shown:
            self._shown = now
            self._load(agent)

    def _conversation(self, view: ViewModel, agent: BackgroundTask, width: int, room: int) -> Sequence[str]:
        other = view.others.get(agent.task_id or "")
        source = [LOADING] if self._rows is None else list(self._rows)
        if other is not None and other.words:
            source += ["", self._theme.paint(other.words)]
        if other is not None and other.action:
            source.append(self._theme.row([("□ ", Role.ACTIVE), (other.action, Role.BOLD)], width))
        rows = [part for row in source for part in wrap_row(row, width, keeps_words=True)]
        scrolled = min(self._watch.scrolled, max(0, len(rows) - room))
        self._watch = replace(self._watch, scrolled=scrolled)
        end = len(rows) - scrolled
        shown = rows[max(0, end - room) : end]
        return [*[""] * (room - len(shown)), *shown]
