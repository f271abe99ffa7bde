"""How far something long is: told on a terminal, and only if it takes longer than a second."""

import io
import sys

import pytest

from robota.cli.reading_progress import ReadingProgress


class Screen(io.StringIO):
    """Standard error as a terminal."""

    def isatty(self) -> bool:
        return True


def printed_progress(monkeypatch: pytest.MonkeyPatch, stderr: io.StringIO, times: list[float]) -> str:
    monkeypatch.setattr(sys, "stderr", stderr)
    progress = ReadingProgress("reading", 3_000_000, iter(times).__next__)
    for position in range(1_000_000, 3_000_000, 500_000):
        progress(position)
    progress(3_000_000)
    return stderr.getvalue()


def test_no_progress_is_shown_for_less_than_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed_progress(monkeypatch, Screen(), [0, 0.2, 0.4, 0.6, 0.9]) == ""


def test_longer_work_shows_progress_on_one_line_that_is_erased_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = printed_progress(monkeypatch, Screen(), [0, 0.5, 1.5])
    first, second, *cleared = shown.split("\r")[1:]
    assert first == "reading: 1 of 3 MB (Ctrl+C to stop)" and second == "reading: 2 of 3 MB (Ctrl+C to stop)"
    assert cleared == [" " * len(second), ""]


def test_no_progress_is_printed_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed_progress(monkeypatch, io.StringIO(), [0, 5, 6]) == ""
