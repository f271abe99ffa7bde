"""`/theme`, `/statusline` and `/new`: what is saved, what clients get, and what is refused."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from robota.app.session import open_session
from robota.commands.session_commands import with_commands
from robota.config.launch_options import LaunchOptions
from robota.protocol.appearance import Appearance, ThemeName
from robota.protocol.commands import Accepted, RunSlashCommand
from robota.protocol.slash_commands import CommandShown
from tests.cli.scripts import script, sessions
from tests.harness.cli import Robota
from tests.harness.conversation import typed
from tests.harness.session_log import log_text
from tests.harness.terminal import Terminal


def saved_settings(robota: Robota) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads((robota.home / ".robota/settings.json").read_text())
    return settings


def appearances(workspace: Path, home: Path, *lines: str) -> list[Appearance | None]:
    """The appearance after each of the lines, run in one session."""

    async def run() -> list[Appearance | None]:
        env = {"HOME": str(home), "PATH": os.environ["PATH"]}
        opened = open_session(LaunchOptions(cwd=workspace, needs_model=False), env)
        try:
            session = with_commands(opened, env)
            receipts = [await session.submit(RunSlashCommand(line=line)) for line in lines]
        finally:
            await opened.close()
        shown = [each.outcome for each in receipts if isinstance(each, Accepted)]
        return [each.appearance for each in shown if isinstance(each, CommandShown)]

    return asyncio.run(run())


def test_a_client_gets_the_whole_appearance_after_each_change(workspace: Path, home: Path) -> None:
    assert appearances(workspace, home, "/theme light", "/statusline git off", "/statusline off") == [
        Appearance(theme=ThemeName.LIGHT),
        Appearance(theme=ThemeName.LIGHT, shows_git_branch=False),
        Appearance(theme=ThemeName.LIGHT, shows_git_branch=False, has_status_line=False),
    ]
    assert appearances(workspace, home, "/statusline") == [
        Appearance(theme=ThemeName.LIGHT, shows_git_branch=False, has_status_line=False)
    ]
    assert appearances(workspace, home, "/statusline reset") == [Appearance(theme=ThemeName.LIGHT)]


def test_appearance_is_saved_in_the_user_settings(robota: Robota) -> None:
    script(robota)
    assert typed(robota, "/theme dark").stdout == "theme: dark\n"
    assert typed(robota, "/statusline git off").stdout == "status line: on, without the git branch\n"
    assert saved_settings(robota)["theme"] == "dark" and saved_settings(robota)["statusline"] == {"gitBranch": False}
    assert typed(robota, "/statusline reset").code == 0
    assert not saved_settings(robota).get("statusline")


def test_invalid_appearance_arguments_change_nothing(robota: Robota) -> None:
    script(robota)
    before = saved_settings(robota)
    for line in ("/theme pink", "/statusline maybe", "/statusline git", "/statusline git on off"):
        refused = typed(robota, line)
        assert refused.code == 2 and "Nothing was changed" in refused.stderr
    assert saved_settings(robota) == before


def test_a_theme_that_does_not_exist_cannot_be_set(robota: Robota) -> None:
    script(robota)
    refused = robota("config", "set", "theme", "sea")
    assert refused.code == 3 and "There is no theme 'sea'" in refused.stderr and "Nothing was written" in refused.stderr
    (robota.home / ".robota" / "themes").mkdir()
    (robota.home / ".robota" / "themes" / "sea.json").write_text("{}")
    assert robota("config", "set", "theme", "sea").code == 0


def test_unwritable_settings_are_reported(robota: Robota) -> None:
    script(robota)
    (robota.home / ".robota/settings.json").write_text("{broken")
    refused = robota("-p", "/theme dark")
    assert refused.code != 0
    assert (robota.home / ".robota/settings.json").read_text() == "{broken"


def test_new_starts_a_new_session_and_keeps_the_old_one(robota: Robota) -> None:
    script(robota, {"text": "First answer."}, {"text": "Second answer."})
    with Terminal(robota) as terminal:
        terminal.answer("> ", "first question")
        terminal.wait_for("First answer.")
        terminal.answer("> ", "/new")
        terminal.answer("> ", "second question")
        terminal.wait_for(" answer.")
    logs = [log_text(each) for each in sessions(robota)]
    assert len(logs) == 2
    assert ["first question" in log for log in logs] == [True, False]
    assert ["second question" in log for log in logs] == [False, True]
