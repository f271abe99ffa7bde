"""The context window as bars: shares that add up, letters where there are no colours, nothing wider than the screen."""

import pytest

from robota.clients.terminal.width import columns_of
from robota.clients.tui.painted_rows import plain
from robota.clients.tui.palettes import NO_COLOURS, ON_DARK
from robota.clients.tui.theme import Palette, Theme
from robota.clients.tui.widgets.context_bars import context_rows
from robota.protocol.events import ContextUpdate
from robota.protocol.ledger import LedgerEntry, LedgerKind

ENTRIES = (
    LedgerEntry(kind=LedgerKind.SYSTEM, title="system", tokens=2_000, share=0.1),
    LedgerEntry(kind=LedgerKind.FILE, title="漢字.py", tokens=6_000, share=0.3, turn=3),
    LedgerEntry(kind=LedgerKind.PERSON, title="fix\x1b[2J it", tokens=10, share=0.0, turn=1),
)


def update(most: int = 20_000) -> ContextUpdate:
    return ContextUpdate(
        task_id="t", used_tokens=8_010, max_tokens=most, used_percentage=40, condense_at=15_000, entries=ENTRIES
    )


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.parametrize("palette", [ON_DARK, NO_COLOURS])
def test_bars_fit_any_screen_and_steer_nothing(width: int, palette: Palette) -> None:
    rows = [plain(row) for row in context_rows(update(), Theme(palette), width, is_whole=True)]
    drawn = [rows[1], *(row for row in rows if row[:4] in ("  S ", "  F ", "  P "))]
    assert len(drawn) == 4 and all(columns_of(row) <= width for row in drawn)
    assert not any("\x1b" in row for row in rows)


def test_a_bar_is_as_long_as_its_share() -> None:
    rows = [plain(row) for row in context_rows(update(), Theme(ON_DARK), 80, is_whole=False)]
    whole = rows[1].strip()
    assert whole.count("█") == round(len(whole) * 8_010 / 20_000) and whole.index("│") == round(len(whole) * 0.75)
    lengths = {row.split()[1]: row.rpartition("%")[2].count("█") for row in rows[2:5]}
    assert lengths["files"] > 2.5 * lengths["system"] > 2.5 * lengths["your"] == 2.5


def test_without_colours_letters_tell_what_is_what() -> None:
    rows = list(context_rows(update(), Theme(NO_COLOURS), 80, is_whole=False))
    assert "SSSSSSSS" in plain(rows[1]) and "FFFF" in plain(rows[1])


def test_a_window_of_unknown_size_has_no_shares() -> None:
    rows = [plain(row) for row in context_rows(update(0), Theme(ON_DARK), 80, is_whole=False)]
    assert "unknown" in rows[0] and not any("%" in row for row in rows)
