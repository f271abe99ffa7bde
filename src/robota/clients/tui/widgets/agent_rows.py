"""Agents as rows: the list with state, cost and what each does, and the head of a conversation."""

from collections.abc import Iterator, Sequence
from typing import Final

from robota.clients.tui.flows.agent_watch import AgentWatch
from robota.clients.tui.theme import Role, Theme
from robota.clients.tui.widgets.live_rows import BACKGROUND_ROLES, ENDED_MARK, RUNNING_MARK, UNREAD, agent_action
from robota.clients.view.model import ViewModel
from robota.protocol.calls import ENDED, BackgroundTask
from robota.text.visible import single_line

LIST_KEYS: Final = "Up/Down select  Enter opens  x stops  Esc closes"
TALK_KEYS: Final = "Write to it and press Enter  Up/Down PgUp/PgDn scroll  Esc back"
NO_AGENTS: Final = "No agents work in the background. To start one: /agent PROMPT"
INDENT: Final = "  "
TEXT_LENGTH: Final = 400


def agents_in(view: ViewModel) -> Sequence[BackgroundTask]:
    """The agents that are listed, also those that a call waits for."""
    return [task for task in view.background if task.agent_type is not None]


def list_rows(view: ViewModel, watch: AgentWatch, theme: Theme, width: int) -> Iterator[str]:
    """Two rows for each agent: who works on what, and what it does now, its requests, tokens and cost."""
    agents = agents_in(view)
    running = sum(agent.status not in ENDED for agent in agents)
    yield theme.row([("Agents", Role.BOLD), (f"  {running} of {len(agents)} work", Role.DIM)], width)
    if not agents:
        yield theme.row([(f"{INDENT}{NO_AGENTS}", Role.DIM)], width)
    chosen = watch.chosen(agents)
    for agent in agents:
        mark = ENDED_MARK if agent.status in ENDED else RUNNING_MARK
        margin = INDENT * agent.depth
        role = Role.CHOSEN if agent is chosen else Role.PLAIN
        unread = [(f"  {UNREAD}", Role.WARNING)] if agent.is_unread else []
        title = single_line(agent.command, TEXT_LENGTH)
        yield theme.row([(f"{margin}{mark} ", BACKGROUND_ROLES[agent.status]), (title, role), *unread], width)
        yield theme.row([(f"{margin}{INDENT}{figures(view, agent)}", Role.DIM)], width)


def figures(view: ViewModel, agent: BackgroundTask) -> str:
    """The state of an agent, what it has used, and what it does or how it ended."""
    other = view.others.get(agent.task_id or "")
    tokens = agent.tokens if other is None else max(agent.tokens, other.tokens)
    cost = agent.cost if other is None or other.tokens <= agent.tokens else other.cost
    used = [f"{tokens:,} tokens"] if tokens else []
    used += [f"${cost:.4f}"] if cost else []
    used += [f"{agent.left} left"] if agent.left else []
    does = agent_action(view, agent) or agent.preview or ("" if other is None else other.words)
    return "  ".join([agent.limit or agent.status, *used, single_line(does, TEXT_LENGTH)]).rstrip()


def head_row(view: ViewModel, agent: BackgroundTask, theme: Theme, width: int) -> str:
    """Who is talked to, and its figures."""
    return theme.row([(agent.command, Role.BOLD), (f"  {figures(view, agent)}", Role.DIM)], width)
