"""Run a conversation in the terminal UI, and connect it with this machine: files, git, clipboard, links."""

import os
import platform
import sys
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Final

from robota.app.session import OpenSession
from robota.cli.run.prompt_file import PromptFile
from robota.clients.terminal.editor import EditText
from robota.clients.terminal.width import wrapped
from robota.clients.tui.app import ScreenSetup, converse_on_screen
from robota.clients.tui.attached_files import AttachedImage, DroppedFile, NotAttached
from robota.clients.tui.file_links import FileAddress, no_links
from robota.clients.tui.flows.status_report import StatusTimes, StatusWorktree
from robota.clients.tui.status_line import StatusSetup
from robota.clients.tui.theme import Role, Theme, palette_for, theme_for, theme_wanted
from robota.clients.view.model import ViewModel
from robota.config.durable_file import read_file
from robota.config.paths import user_directory
from robota.protocol.appearance import ON_ANY_BACKGROUND, Appearance, ThemeName
from robota.protocol.port import SessionPort
from robota.protocol.slash_commands import SessionWanted

if TYPE_CHECKING:
    from robota.cli.run.draft_file import DraftFile
    from robota.clients.terminal.guard import StartGuard

SHORT_HASH: Final = 7
UNSENT: Final = "unsent"
MAX_PATH_LENGTH: Final = 8192
# The maximum time that another thread holds the interpreter lock. The thread that draws needs the lock several times
# per key, and with the default of 5 ms it would wait that long each time for a thread that scans output for secrets.
SWITCH_INTERVAL_S: Final = 0.001


async def converse_drawn(
    session: SessionPort, opened: OpenSession, prompt: str | None, edit: EditText, start_guard: "StartGuard"
) -> int | SessionWanted:
    """Talk until the user leaves; returns the exit code, or the session to continue with."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    env = os.environ
    chosen = opened.settings.values.theme or ThemeName.AUTO
    theme = theme_for(env, chosen)
    prompts = PromptFile(user_directory(os.environ) / "prompts.jsonl", str(opened.options.cwd))
    open_drafts = cache(partial(_drafts, opened.options.cwd))
    # Before the history is read: older drafts become part of it.
    left_draft = open_drafts().take_left(prompts.add) if (user_directory(env) / UNSENT).is_dir() else ""
    setup = ScreenSetup(
        theme=theme,
        edit=edit,
        git_branch=lambda: git_branch(opened.options.cwd),
        prompts=prompts.read(),
        on_prompt=prompts.add,
        left_draft=left_draft,
        open_drafts=open_drafts,
        greeting=tuple(greeting(opened, theme)),
        is_past_shown=opened.is_past_shown,
        has_vi_keys=os.environ.get("ROBOTA_KEYS") == "vi",
        palette=lambda wanted, background: palette_for(env, wanted.theme, background),
        asks_background=_may_ask_background(env),
        status=status_setup(opened, env),
        look_at_file=lambda path: _look_at(path, opened.options.cwd),
        read_clipboard=lambda: _read_clipboard(opened.options.cwd),
        file_address=_file_addresses(opened.options.cwd) if _knows_links(env) else no_links,
        start_guard=start_guard,
    )
    return await converse_on_screen(session, prompt, setup)


def _drafts(cwd: Path) -> "DraftFile":
    from robota.cli.run.draft_file import DraftFile

    return DraftFile(user_directory(os.environ) / UNSENT, str(cwd))


def _may_ask_background(env: Mapping[str, str]) -> bool:
    """Whether to ask the terminal for its background: not if the answer is unused, nor on the Linux console."""
    is_decided = env.get("NO_COLOR") or theme_wanted(env, ThemeName.AUTO) not in ON_ANY_BACKGROUND
    return not is_decided and env.get("TERM") != "linux"


def greeting(opened: OpenSession, theme: Theme) -> Iterator[str]:
    """The lines at the start: model, workspace, permission mode, hints; only the first if a session is continued."""
    options = opened.options
    going_on = "  session continued" if opened.is_past_shown else ""
    yield theme.paint("Robota", Role.BOLD) + theme.paint(f"  {options.model}{going_on}", Role.DIM)
    if opened.is_past_shown:
        return
    lines = (
        f"  workspace {options.cwd}",
        f"  permission mode {options.permission_mode.value} (Shift+Tab to change)",
        "  Describe a task to start. Type / for commands, ? for keys.",
    )
    columns = get_terminal_size().columns
    for line in lines:
        yield from (theme.paint(row, Role.DIM) for row in wrapped(line, columns + 1, "    ").split("\n"))


def status_setup(opened: OpenSession, env: Mapping[str, str]) -> StatusSetup:
    """The content of the status line according to the settings."""
    values = opened.settings.values
    now = Appearance(
        theme=values.theme or ThemeName.AUTO,
        has_status_line=values.statusline.enabled,
        shows_git_branch=values.statusline.git_branch,
        reduces_motion=values.prefers_reduced_motion or env.get("ROBOTA_REDUCED_MOTION", "0") not in ("", "0"),
    )
    code = opened.code
    if values.status_line is None or code is None:
        return StatusSetup(appearance=now)
    from robota.app.protection.outside_code import status_program

    command = status_program(values.status_line.command, opened.options.cwd)

    async def run(view: ViewModel, times: StatusTimes) -> str:
        from robota.cli.run.status_command import StatusProgram, status_output

        program = StatusProgram(command=command, code=code, worktree=_worktree_of(opened))
        return await status_output(program, view, times, env)

    return StatusSetup(appearance=now, run=run)


def _worktree_of(opened: OpenSession) -> StatusWorktree | None:
    """The worktree of the session; None if it works in the directory that stores it."""
    cwd, kept_in = opened.options.cwd, opened.kept_in
    if cwd == kept_in:
        return None
    top = next((directory for directory in (cwd, *cwd.parents) if (directory / ".git").exists()), cwd)
    return StatusWorktree(
        name=top.name,
        path=str(top),
        branch=git_branch(cwd),
        original_cwd=str(kept_in),
        original_branch=git_branch(kept_in),
    )


def _knows_links(env: Mapping[str, str]) -> bool:
    """Whether to write hyperlinks: terminals without them ignore the sequence, except for the Linux console."""
    return env.get("TERM") != "linux" and env.get("FORCE_HYPERLINK") != "0"


def _file_addresses(root: Path) -> FileAddress:
    """Addresses of the files below this directory. They include the host name, so that no other machine opens them."""

    def address_of(path: str) -> str | None:
        from urllib.parse import quote

        try:
            file = (root / path).resolve()
            is_there = file.is_relative_to(root) and file.exists()
        except (OSError, ValueError):
            return None
        return f"file://{platform.node()}{quote(str(file))}" if is_there else None

    return address_of


def _look_at(path: str, root: Path) -> DroppedFile | None:
    from robota.cli.run.attachments import look_at_file

    return look_at_file(path, root)


async def _read_clipboard(cwd: Path) -> AttachedImage | NotAttached:
    from robota.cli.run.attachments import clipboard_image

    return await clipboard_image(os.environ, cwd)


def git_branch(start: Path) -> str:
    """The current branch, or the abbreviated commit; empty if there is no repository."""
    for directory in (start, *start.parents):
        try:
            head = _line_in(_git_directory(directory / ".git") / "HEAD")
        except (OSError, UnicodeDecodeError):
            continue
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else head[:SHORT_HASH]
    return ""


def _git_directory(path: Path) -> Path:
    """The git directory; in a worktree `.git` is a file that contains its path."""
    if not path.is_file():
        return path
    return path.parent / _line_in(path).removeprefix("gitdir:").strip()


def _line_in(path: Path) -> str:
    """The content of a small regular file: a repository can contain a pipe, a device or a huge file instead."""
    return read_file(path, most=MAX_PATH_LENGTH).decode("utf-8").strip()
