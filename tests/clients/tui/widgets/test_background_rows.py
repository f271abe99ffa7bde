"""The panel of background work: what runs, what failed, and what ended well until somebody has seen it."""

from msgspec.structs import replace

from robota.clients.terminal.width import columns_of
from robota.clients.tui.painted_rows import plain
from robota.clients.tui.palettes import ON_DARK
from robota.clients.tui.theme import Theme
from robota.clients.tui.widgets.live_rows import live_rows
from robota.clients.tui.widgets.status_bar import activity, beside
from robota.clients.view.model import ViewModel
from robota.clients.view.reduce import reduce
from robota.protocol.calls import BackgroundStatus, BackgroundTask
from robota.protocol.events import BackgroundTasks, TaskUserMessage
from tests.clients.stories import TASK, state

SERVER = BackgroundTask(id="bg1", command="npm run dev", status=BackgroundStatus.RUNNING)
BUILT = BackgroundTask(id="bg2", command="make", status=BackgroundStatus.COMPLETED, exit_code=0, preview="built it")
BROKEN = BackgroundTask(id="bg3", command="make test", status=BackgroundStatus.FAILED, exit_code=2, preview="1 failed")
KILLED = BackgroundTask(id="bg4", command="sleep 9", status=BackgroundStatus.CANCELLED, signal="SIGTERM")


def view_of(*tasks: BackgroundTask) -> ViewModel:
    return reduce(reduce(ViewModel(), state()), BackgroundTasks(tasks=tasks))


def rows(view: ViewModel, width: int = 80) -> list[str]:
    return [plain(row) for row in live_rows(view, Theme(ON_DARK), width)]


def test_each_has_a_row_without_its_id() -> None:
    assert rows(view_of(SERVER, BUILT, BROKEN, KILLED)) == [
        "Background work",
        "  □ npm run dev",
        "  ■ make  built it",
        "  ■ make test  exit code 2  1 failed",
        "  ■ sleep 9  ended by SIGTERM",
    ]


def test_what_ended_well_leaves_with_the_next_words_and_the_rest_stays() -> None:
    seen = reduce(view_of(SERVER, BUILT, BROKEN), TaskUserMessage(task_id=TASK))
    assert rows(seen) == ["Background work", "  □ npm run dev", "  ■ make test  exit code 2  1 failed"]
    again = reduce(seen, BackgroundTasks(tasks=(SERVER, BUILT, BROKEN)))
    assert rows(again) == rows(seen)
    assert rows(reduce(again, BackgroundTasks(tasks=()))) == []


def test_many_are_cut_and_none_is_wider_than_the_screen() -> None:
    shown = rows(view_of(*[BUILT] * 9), 20)
    assert shown[-1].startswith("  ... +5 more") and all(columns_of(row) <= 20 for row in shown)


def test_the_status_bar_counts_what_runs() -> None:
    assert activity(view_of(SERVER, BROKEN))[0] == "Background x1"
    assert activity(view_of(BROKEN))[0] == "Idle"


def test_an_unread_end_is_marked_until_somebody_has_read_it() -> None:
    unread = replace(BUILT, is_unread=True)
    assert rows(view_of(unread))[1] == "  ■ make  unread  built it"
    assert beside(view_of(unread, SERVER)) == "1 unread" and beside(view_of(BUILT)) == ""


def test_the_limit_that_ended_an_agent_is_named() -> None:
    agent = BackgroundTask(id="agent_1", command="Explore: look", status=BackgroundStatus.FAILED, limit="idle")
    assert rows(view_of(agent))[1] == "  ■ Explore: look  idle"
