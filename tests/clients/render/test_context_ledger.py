"""The context window in lines: how full it is, with what, and what comes."""

from robota.clients.render.context_ledger import ledger_lines
from robota.clients.terminal.width import columns_of
from robota.protocol.events import ContextUpdate
from robota.protocol.ledger import LedgerEntry, LedgerKind
from tests.clients.stories import TASK

ENTRIES = (
    LedgerEntry(kind=LedgerKind.SYSTEM, title="system prompt", tokens=1_000, share=1.0),
    LedgerEntry(kind=LedgerKind.MCP_SERVER, title="github (12 tools)", tokens=9_000, share=9.0),
    LedgerEntry(kind=LedgerKind.PERSON, title="fix it", tokens=10, share=0.01, turn=0),
    LedgerEntry(kind=LedgerKind.FILE, title="src/漢字\x1b[31m.py", tokens=30_000, share=30.0, turn=2, call_id="c"),
    *(LedgerEntry(kind=LedgerKind.OUTPUT, title="ls", tokens=10, share=0.01, turn=turn) for turn in range(4, 44, 2)),
)
UPDATE = ContextUpdate(
    task_id=TASK,
    used_tokens=40_210,
    max_tokens=100_000,
    used_percentage=40.21,
    condense_at=80_000,
    requests_to_condensing=7,
    cached_tokens=5_000,
    saved_cost=0.0125,
    total_cost=1.5,
    entries=ENTRIES,
)


def shown(width: int | None = None, *, whole: bool = False) -> list[str]:
    return [line.text for line in ledger_lines(UPDATE, width, whole=whole)]


def test_sums_shares_forecast_and_cost_are_told() -> None:
    text = "\n".join(shown())
    assert text.startswith("40,210 of 100,000 tokens in the context (40 %)")
    assert "X     9,000    9.0 %  MCP server github (12 tools)" in text
    assert "O       200    0.2 %  tool output (20)" in text
    assert "at this rate after about 7 more requests." in text
    cost = "Cost so far: $1.5000. 5,000 tokens came from the provider's cache, which saved $0.0125."
    assert cost in text.replace("\n", " ")


def test_the_bar_has_a_letter_for_each_part_and_a_mark_where_condensing_begins() -> None:
    bar = shown(53)[1].strip()
    assert len(bar) == 50
    assert bar.index("|") == 40 and bar.count("F") == 15 and bar.startswith("XXXXXF")


def test_the_largest_come_first_and_everything_on_demand() -> None:
    few, all_of_it = shown(), shown(whole=True)
    assert any(line.strip().startswith("2    30,000  F src/漢字") for line in few)
    assert "  (10 more)" in few and "  (10 more)" not in all_of_it
    assert sum(line.endswith("O ls") for line in all_of_it) == 20


def test_no_line_is_wider_than_the_terminal_and_nothing_steers_it() -> None:
    for width in (20, 30, 50, 200):
        table = [line for line in shown(width) if line.startswith("  ")]
        assert all(columns_of(line) < max(width, 36) for line in table)
    assert "\x1b" not in "\n".join(shown())


def test_a_window_that_nobody_knows_has_no_bar() -> None:
    lines = list(ledger_lines(ContextUpdate(task_id=TASK, used_tokens=5, max_tokens=0, used_percentage=0)))
    assert lines[0].text == "5 tokens in the context (context window size unknown)"
