"""The answers that a question of the model offers, drawn in windows of any size."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from robota.clients.terminal.width import columns_of
from robota.clients.tui.colours import ColourDepth
from robota.clients.tui.flows.question_answers import OfferedAnswers
from robota.clients.tui.flows.selection import Selection
from robota.clients.tui.theme import Palette, Theme
from robota.clients.tui.widgets.answer_rows import answer_rows
from robota.protocol.asks.ask import PlanAsk, QuestionAsk, SuggestedAnswer

PLAIN = Theme(Palette(codes={}, depth=ColourDepth.NONE))


def offered(*answers: str, default_after_s: float | None = None) -> OfferedAnswers:
    suggestions = tuple(SuggestedAnswer(answer=answer) for answer in answers)
    asked = QuestionAsk(question="Which?", suggestions=suggestions, default_after_s=default_after_s)
    return OfferedAnswers(asked=asked, ts=1, rows=Selection(count=len(answers), index=None, height=len(answers)))


def test_the_chosen_answer_is_marked_and_the_keys_are_named() -> None:
    rows = answer_rows(offered("a file", "a server").moved(1).moved(1), PLAIN, 80, 20)
    assert [row.strip("│ ") for row in rows[1:-1]] == ["1 a file", "❯ 2 a server"]
    assert "Up/Down Enter select" in rows[-1]


def test_a_plan_and_a_time_limit_are_said() -> None:
    answers = offered("Carry it out", default_after_s=30)
    assert any("1 is taken after 30 seconds" in row for row in answer_rows(answers, PLAIN, 80, 20))
    plan = PlanAsk(question="?", suggestions=answers.asked.suggestions, plan="x")
    assert "Ctrl+G" in answer_rows(replace(answers, asked=plan), PLAIN, 80, 20)[-1]


@given(st.lists(st.text(max_size=200), min_size=1, max_size=8), st.integers(8, 120), st.integers(0, 30))
def test_no_row_is_too_wide_and_there_are_never_more_than_fit(answers: list[str], width: int, room: int) -> None:
    rows = answer_rows(offered(*answers), PLAIN, width, room)
    assert len(rows) <= room
    assert all(columns_of(row) <= width for row in rows)
