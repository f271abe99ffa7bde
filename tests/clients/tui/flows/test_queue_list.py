"""Words that wait, as a list: any of them can be changed or taken out, and nothing that is typed is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.clients.tui.flows.queue_list import (
    QueueAct,
    QueueChange,
    QueueLeft,
    QueueList,
    press_in_queue,
    queue_list,
    with_entries,
)
from robota.protocol.message import QueuedMessage

ENTRIES = tuple(QueuedMessage(id=str(number), text=f"words {number}", timestamp=number) for number in range(4))
KEYS = st.sampled_from(
    ["up", "down", "enter", "backspace", "delete", "ctrl-s", "escape", "space", "tab", "y", "漢", ""]
)


@pytest.mark.parametrize(
    ("keys", "act", "number"),
    [
        (["enter"], QueueAct.EDIT, 3),
        (["up", "up", "backspace"], QueueAct.REMOVE, 1),
        (["up", "up", "up", "up", "delete"], QueueAct.REMOVE, 0),
        (["up", "down", "up", "ctrl-s"], QueueAct.SEND_NOW, 2),
    ],
)
def test_every_entry_can_be_reached(keys: list[str], act: QueueAct, number: int) -> None:
    shown: object = queue_list(ENTRIES)
    for key in keys:
        assert isinstance(shown, QueueList)
        shown = press_in_queue(shown, key)
    assert shown == QueueChange(act, ENTRIES[number])


@given(st.lists(KEYS, max_size=12), st.integers(1, 4))
def test_any_keys_leave_a_list_or_end_it_and_typed_letters_are_handed_on(keys: list[str], count: int) -> None:
    shown = queue_list(ENTRIES[:count])
    for key in keys:
        after = press_in_queue(shown, key)
        if isinstance(after, QueueLeft):
            assert after.typed == ("" if key in ("down", "escape") else " " if key == "space" else key)
            return
        if isinstance(after, QueueChange):
            assert after.entry in shown.entries
            return
        assert after.rows.index is not None and 0 <= after.rows.index < count
        shown = after


@given(st.lists(st.sampled_from(ENTRIES), unique=True), st.integers(0, 3))
def test_what_is_chosen_stays_chosen_while_the_queue_changes(left: list[QueuedMessage], ups: int) -> None:
    shown = queue_list(ENTRIES)
    for _ in range(ups):
        moved = press_in_queue(shown, "up")
        assert isinstance(moved, QueueList)
        shown = moved
    after = with_entries(shown, tuple(left))
    if not left:
        assert after is None
        return
    chosen = ENTRIES[3 - ups]
    assert after is not None and after.rows.index is not None
    if chosen in left:
        assert after.entries[after.rows.index] == chosen
