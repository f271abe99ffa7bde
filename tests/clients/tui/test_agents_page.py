"""The page of agents: what each does, live, its conversation, and talking to it."""

from msgspec.structs import replace

from robota.clients.tui.pages.agents_page import AgentsPage
from robota.clients.tui.painted_rows import plain
from robota.clients.tui.palettes import NO_COLOURS
from robota.clients.tui.theme import Theme
from robota.clients.view.model import ViewModel
from robota.clients.view.reduce import reduce
from robota.protocol.calls import BackgroundKind, BackgroundStatus, BackgroundTask
from robota.protocol.events import (
    BackgroundTasks,
    Event,
    MessageCreated,
    MessageUpdated,
    State,
    TaskTokenUsageUpdated,
    TextDelta,
    TokenUsage,
    ToolEnd,
    ToolStart,
)
from robota.protocol.message import Message
from tests.clients.stories import TASK, state


def agent(number: int, command: str, **fields: object) -> BackgroundTask:
    base = BackgroundTask(
        id=f"agent_{number}",
        command=command,
        kind=BackgroundKind.AGENT,
        agent_type="Explore",
        depth=1,
        task_id=f"work-{number}",
        status=BackgroundStatus.RUNNING,
    )
    return replace(base, **fields)


LOOK, SEE = agent(1, "Explore: look"), agent(2, "Explore: see", tokens=1200, cost=0.5)
SERVER = BackgroundTask(id="bg1", command="npm run dev", status=BackgroundStatus.RUNNING)
READS = ToolStart(
    task_id="work-1", call_id="c", tool="read_file", label="Read", first_arg="x", input={}, title="Read x"
)
HAS_READ = ToolEnd(task_id="work-1", call_id="c", tool="read_file", label="Read", first_arg="x", status="success")
ANSWERS = MessageCreated(task_id="work-1", message=Message(ts=7, type="say", say="text", text="", partial=True))
WORDS = TextDelta(task_id="work-1", ts=7, delta="I found it")
ANSWERED = MessageUpdated(
    task_id="work-1", message=Message(ts=7, type="say", say="text", text="I found it.", partial=False)
)


class Watched:
    """A page over a view that changes."""

    def __init__(self, *events: Event, opened: str | None = None) -> None:
        self.view = ViewModel()
        self.loaded: list[str] = []
        self.ran: list[str] = []
        self.take(State(state=replace(state().state, current_task_id=TASK)), *events)
        self.page = AgentsPage(
            lambda: self.view, Theme(NO_COLOURS), lambda a: self.loaded.append(a.id), self.ran.append, opened
        )

    def take(self, *events: Event) -> None:
        for event in events:
            self.view = reduce(self.view, event)

    def rows(self) -> list[str]:
        return [plain(row) for row in self.page.rows(70, 12)]

    def press(self, *keys: str) -> bool:
        return all([self.page.press(key) for key in keys])


def test_all_agents_are_listed_with_state_cost_and_what_they_do() -> None:
    watched = Watched(BackgroundTasks(tasks=(SERVER, LOOK, SEE)), READS)
    assert watched.rows()[:5] == [
        "Agents  2 of 2 work",
        "  □ Explore: look",
        "    running  Read x",
        "  □ Explore: see",
        "    running  1,200 tokens  $0.5000",
    ]
    used = TokenUsage(total_tokens_in=3000, total_tokens_out=100, total_cost=0.75)
    watched.take(HAS_READ, TaskTokenUsageUpdated(task_id="work-2", token_usage=used))
    assert watched.rows()[2:5] == ["    running", "  □ Explore: see", "    running  3,100 tokens  $0.7500"]


def test_a_conversation_is_shown_live() -> None:
    watched = Watched(BackgroundTasks(tasks=(LOOK, SEE)))
    watched.press("enter")
    assert "…" in watched.rows()[-3] and watched.loaded == ["agent_1"]
    watched.page.show(LOOK, ["> look"])
    watched.take(ANSWERS, WORDS)
    assert watched.rows()[-5:-2] == ["> look", "", "I found it"]
    watched.take(ANSWERED)
    watched.rows()
    assert watched.loaded == ["agent_1"] * 2, "the complete row is loaded"
    watched.rows()
    assert watched.loaded == ["agent_1"] * 2, "and only once"
    watched.page.show(SEE, ["of another"])
    assert "of another" not in "\n".join(watched.rows())


def test_the_user_writes_to_an_agent() -> None:
    watched = Watched(BackgroundTasks(tasks=(LOOK, SEE)), opened="work-2")
    watched.press(*"hix", "backspace")
    assert watched.rows()[-2].startswith("> hi▏")
    watched.press("enter")
    assert watched.ran == ["/agent send agent_2 hi"] and watched.rows()[-2].startswith("> ▏")


def test_an_agent_is_stopped_from_the_list() -> None:
    watched = Watched(BackgroundTasks(tasks=(LOOK, replace(SEE, status=BackgroundStatus.COMPLETED))))
    watched.press("x", "down", "x")
    assert watched.ran == ["/agent stop agent_1"]


def test_escape_leads_back_step_by_step() -> None:
    watched = Watched(BackgroundTasks(tasks=(LOOK,)), opened="work-1")
    assert watched.press("a", "escape") and watched.press("escape")
    assert watched.rows()[0].startswith("Agents")
    assert not watched.press("escape")


def test_an_agent_that_is_dismissed_while_it_is_open_leads_to_the_list() -> None:
    watched = Watched(BackgroundTasks(tasks=(LOOK,)), opened="work-1")
    watched.take(BackgroundTasks(tasks=()))
    assert "No agents work" in watched.rows()[1]
