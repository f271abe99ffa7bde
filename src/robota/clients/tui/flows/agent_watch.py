"""Watching agents: which one is selected or open, what is written to it, and what a key does."""

from collections.abc import Sequence
from enum import Enum, auto

import msgspec
from msgspec.structs import replace

from robota.protocol.calls import ENDED, BackgroundTask


class WatchLeft(Enum):
    """The agents are no longer watched."""

    LEFT = auto()


class SendWatched(msgspec.Struct, frozen=True):
    """Send an agent a message."""

    agent: str
    text: str


class StopWatched(msgspec.Struct, frozen=True):
    """Stop an agent."""

    agent: str


class AgentWatch(msgspec.Struct, frozen=True, kw_only=True):
    """The list of agents with the selected one, or the conversation of the one that is `opened`.

    `draft` is what is written to it, `scrolled` how many rows above the end are shown.
    """

    selected: int = 0
    opened: str | None = None
    draft: str = ""
    scrolled: int = 0

    def chosen(self, agents: Sequence[BackgroundTask]) -> BackgroundTask | None:
        """The opened agent, or the selected one."""
        if self.opened is not None:
            return next((agent for agent in agents if agent.id == self.opened), None)
        return agents[min(self.selected, len(agents) - 1)] if agents else None


WatchOrder = SendWatched | StopWatched


class WatchStep(msgspec.Struct, frozen=True):
    """What is watched after a key, and what is to be done."""

    watch: AgentWatch
    order: WatchOrder | None = None


def press_while_watching(
    watch: AgentWatch, agents: Sequence[BackgroundTask], key: str, page: int
) -> WatchStep | WatchLeft:
    """What a key does. `page` is the number of rows that are visible at a time."""
    if watch.opened is not None:
        return _in_conversation(watch, key, page)
    chosen = watch.chosen(agents)
    last = max(0, len(agents) - 1)
    match key:
        case "up":
            return WatchStep(replace(watch, selected=max(0, min(watch.selected, last) - 1)))
        case "down":
            return WatchStep(replace(watch, selected=min(last, watch.selected + 1)))
        case "enter" if chosen is not None:
            return WatchStep(replace(watch, opened=chosen.id, draft="", scrolled=0))
        case "x" if chosen is not None and chosen.status not in ENDED:
            return WatchStep(watch, StopWatched(chosen.id))
        case "escape" | "q":
            return WatchLeft.LEFT
        case _:
            return WatchStep(watch)


def _in_conversation(watch: AgentWatch, key: str, page: int) -> WatchStep | WatchLeft:
    agent, draft = watch.opened, watch.draft
    assert agent is not None
    moves = {"up": 1, "down": -1, "pageup": page, "pagedown": -page}
    if key in moves:
        return WatchStep(replace(watch, scrolled=max(0, watch.scrolled + moves[key])))
    match key:
        case "escape" if draft:
            return WatchStep(replace(watch, draft=""))
        case "escape":
            return WatchStep(replace(watch, opened=None, scrolled=0))
        case "enter" if draft.strip():
            return WatchStep(replace(watch, draft="", scrolled=0), SendWatched(agent, draft.strip()))
        case "backspace":
            return WatchStep(replace(watch, draft=draft[:-1]))
        case "c-u":
            return WatchStep(replace(watch, draft=""))
    is_text = key.isprintable() and len(key) == 1
    return WatchStep(replace(watch, draft=draft + key) if is_text else watch)
