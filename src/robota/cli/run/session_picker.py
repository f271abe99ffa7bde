"""The list of sessions that `--resume` shows on a separate screen, with a preview of the selected one."""

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Final

from robota.clients.tui.pages.browser import BrowsedList
from robota.clients.tui.pages.contents import preview_rows
from robota.clients.tui.palettes import theme_for
from robota.clients.tui.screen.full_screen import FullScreen
from robota.clients.tui.screen.output import FrameOutput
from robota.clients.tui.screen.terminal_input import TerminalReports
from robota.commands.stored_sessions import newest_rows_of
from robota.log.catalogue.catalogue import CataloguedSession
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import CommandChoice, CommandOption
from robota.text.visible import single_line

TITLE_SHOWN: Final = 200


async def picked_on_screen(sessions: Sequence[CataloguedSession], env: Mapping[str, str]) -> CataloguedSession | None:
    """The session that the user selects; None if they close the list."""
    theme = theme_for(env)
    by_id = {session.id: session for session in sessions}
    screen = FullScreen(TerminalReports(), FrameOutput(sys.stdout))
    loading: set[asyncio.Task[None]] = set()

    async def load(option: CommandOption) -> None:
        newest = await asyncio.to_thread(newest_rows_of, by_id[option.preview])
        rows = [theme.paint(newest.message)] if isinstance(newest, Refused) else preview_rows(newest, theme)
        browser.show(option, rows)
        screen.redraw()

    def start(option: CommandOption) -> None:
        task = asyncio.get_running_loop().create_task(load(option))
        loading.add(task)
        task.add_done_callback(loading.discard)

    choice = CommandChoice(title="Sessions of this directory", options=tuple(map(_option, sessions)))
    browser = BrowsedList(choice, theme, start)
    await screen.show(browser)
    return None if browser.picked is None else by_id[browser.picked.preview]


def _option(session: CataloguedSession) -> CommandOption:
    written = time.strftime("%Y-%m-%d %H:%M", time.localtime(session.modified_ms / 1000))
    notes = (("open in another process", session.is_live), ("from another place", not session.is_own))
    title = single_line(session.name or session.summary.title, TITLE_SHOWN)
    detail = title + "".join(f" ({note})" for note, holds in notes if holds)
    return CommandOption(label=written, line=session.id, detail=detail, preview=session.id)
