"""Lists, questions, the reader, and the keys that stop."""

from hypothesis import given
from hypothesis import strategies as st

from robota.clients.tui.flows.confirm_prompt import ConfirmPrompt, press_to_confirm
from robota.clients.tui.flows.list_picker import ListPicker, Picked, picker_for, press_in_list
from robota.clients.tui.flows.reading import PagerReading, press_while_reading
from robota.clients.tui.flows.selection import Selection
from robota.clients.tui.flows.typing_pause import TypingPause
from robota.protocol.slash_commands import CommandChoice, CommandOption

CHOICE = CommandChoice(
    title="Which?",
    options=(
        CommandOption(label="Plan", line="/mode plan", detail="only reads"),
        CommandOption(label="Code", line="c"),
    ),
)
KEYS = st.sampled_from(["up", "down", "enter", "escape", "backspace", "space", "p", "ctrl-o", "é"])


@given(
    st.integers(0, 50),
    st.integers(-3, 60),
    st.booleans(),
    st.lists(st.integers(-5, 5), max_size=20),
    st.none() | st.just(0),
)
def test_the_chosen_row_is_always_visible(
    count: int, height: int, wraps: bool, moves: list[int], index: int | None
) -> None:
    selection = Selection(count=count, height=height, wraps=wraps, index=index)
    for by in moves:
        selection = selection.moved(by)
        if count and selection.index is not None:
            assert selection.index in selection.visible
        assert len(selection.visible) <= max(1, height)


def test_a_list_is_filtered_and_picked() -> None:
    assert press_in_list(picker_for(CHOICE, "rea"), "enter") == Picked(CHOICE.options[0])
    assert press_in_list(picker_for(CHOICE), "escape") == Picked(None)
    nothing = picker_for(CHOICE, "zzz")
    assert press_in_list(nothing, "enter") == nothing
    assert press_in_list(picker_for(CHOICE), "down") == press_in_list(picker_for(CHOICE), "up")


@given(st.lists(KEYS, max_size=20))
def test_no_keys_break_a_list(keys: list[str]) -> None:
    picker = picker_for(CHOICE)
    for key in keys:
        after = press_in_list(picker, key)
        if isinstance(after, Picked):
            assert key in ("enter", "escape")
            return
        assert isinstance(after, ListPicker)
        picker = after


def test_a_question_is_answered_by_a_key_or_a_chosen_row() -> None:
    prompt = ConfirmPrompt(question="Sure?")
    assert press_to_confirm(prompt, "y") is True and press_to_confirm(prompt, "n") is False
    assert press_to_confirm(prompt, "escape") is False
    assert press_to_confirm(prompt, "enter") == prompt
    chosen = press_to_confirm(prompt, "down")
    assert isinstance(chosen, ConfirmPrompt) and press_to_confirm(chosen, "enter") is True


def test_a_card_takes_keys_when_nobody_has_typed_for_a_while() -> None:
    pause = TypingPause(since=10.0)
    assert not pause.is_over(10.1) and pause.is_over(10.5)


def test_reading_searches_and_goes_round() -> None:
    rows = tuple(f"\x1b[31mrow\x1b[0m {number}" for number in range(100))
    reading = PagerReading(rows=rows, texts=tuple(f"row {number}" for number in range(100)), height=10).at_end()
    assert reading.visible[-1].endswith("99")
    for key in ("/", *"ROW 42", "enter"):
        after = press_while_reading(reading, key)
        assert after is not None
        reading = after
    assert reading.top == 42
    assert press_while_reading(reading, "q") is None


@given(st.lists(st.sampled_from(["up", "down", "pageup", "pagedown", "home", "end", " ", "/", "n", "N", "r", "enter"])))
def test_reading_never_leaves_the_rows(keys: list[str]) -> None:
    reading = PagerReading(rows=("row", "other"), texts=("row", "other"), height=5)
    for key in keys:
        after = press_while_reading(reading, key)
        assert after is not None and 0 <= after.top <= 1
        reading = after


def test_a_list_begins_at_what_holds_now_and_a_filter_at_its_first() -> None:
    options = tuple(
        CommandOption(label=name, line=f"/{name}", is_current=name == "two") for name in ("one", "two", "to")
    )
    picker = picker_for(CommandChoice(title="Which?", options=options))
    assert picker.chosen == options[1]
    filtered = press_in_list(picker, "o")
    assert isinstance(filtered, ListPicker) and filtered.chosen == options[0]
