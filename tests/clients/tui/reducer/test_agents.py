"""What agents ask in the terminal UI: every request is shown, one after another, and none gets in the way of others."""

from msgspec.structs import replace

from robota.clients.tui.key_table import NamedKey
from robota.clients.tui.state import ScreenState
from robota.protocol.asks.answer import Approve, Reject
from robota.protocol.commands import AskResponse
from robota.protocol.events import Event, MessageCreated, State, TaskAskResponded, TaskEnded, ToolStart
from tests.clients.stories import TASK, state
from tests.clients.tui.reducer.screen_states import THINKING, asking, commands, opened, pressed


def of_agent(name: str, ts: int) -> Event:
    """The request of an agent."""
    event = asking(ts=ts)
    assert isinstance(event, MessageCreated)
    return replace(event, task_id=name)


def shown_ts(screen: ScreenState) -> int | None:
    return None if screen.approval is None else screen.approval.request.message.ts


WORKING = (State(state=replace(state().state, current_task_id=TASK)), *THINKING)
BOTH_ASK = (*WORKING, of_agent("a", 10), of_agent("b", 11))


def test_requests_of_several_agents_are_shown_one_after_another() -> None:
    screen = opened(*BOTH_ASK)
    assert shown_ts(screen) == 10
    assert commands(pressed(screen, "y")) == [AskResponse(answer=Approve(), ts=10)]
    assert shown_ts(opened(*BOTH_ASK, TaskAskResponded(task_id="a", ts=10, response="yes"))) == 11


def test_escape_denies_the_call_of_an_agent_and_stops_nothing() -> None:
    step = pressed(opened(*WORKING, of_agent("a", 10)), NamedKey.ESCAPE)
    assert commands(step) == [AskResponse(answer=Reject(), ts=10)]


def test_the_request_of_an_agent_that_has_ended_goes() -> None:
    ends = [TaskEnded(task_id=name, outcome="interrupted") for name in "ab"]
    assert shown_ts(opened(*BOTH_ASK, ends[0])) == 11
    assert shown_ts(opened(*BOTH_ASK, *ends)) is None


def test_a_call_of_an_agent_is_no_call_of_the_shown_task() -> None:
    call = ToolStart(task_id="a", call_id="c", tool="read_file", label="Read", first_arg="x", input={}, title="Read x")
    view = opened(*WORKING, call).view
    assert view.tools == {} and view.others["a"].action == "Read x"
