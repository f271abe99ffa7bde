"""Keys of a terminal that several applications read in turn."""

import os
import pty
import sys
import tty

import pytest
from prompt_toolkit.keys import Keys

from robota.clients.tui.screen.terminal_input import TerminalInput, TerminalReports


def test_an_escape_is_for_the_application_that_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    with os.fdopen(theirs) as stdin, os.fdopen(ours, "wb", buffering=0) as terminal:
        monkeypatch.setattr(sys, "stdin", stdin)
        reports = TerminalReports()
        conversation, page = TerminalInput(reports), TerminalInput(reports)
        terminal.write(b"\x0f")
        assert [each.key for each in conversation.read_keys()] == [Keys.ControlO]
        terminal.write(b"\x1b[O\x1b")
        assert page.read_keys() == []
        assert conversation.flush_keys() == []  # its timer ends after the page was opened
        assert [each.key for each in page.flush_keys()] == [Keys.Escape]
        assert reports.is_focused is False
