"""Run a conversation in the terminal UI, and connect it with this machine: files, git, clipboard, links."""

import os
import platform
import sys
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Final

from robota.cli.run.prompt_file import PromptFile
from robota.clients.terminal.editor import EditText
from robota.clients.terminal.width import wrapped
from robota.clients.tui.app import ScreenSetup, converse_on_screen
from robota.clients.tui.attached_files import AttachedImage, DroppedFile, NotAttached
from robota.clients.tui.file_links import FileAddress, no_links
from robota.clients.tui.flows.status_report import StatusTimes, StatusWorktree
from robota.clients.tui.greeting import Greeting, greeting_rows
from robota.clients.tui.key_table import USUAL
from robota.clients.tui.palettes import no_own_themes, palette_for, theme_for, theme_wanted
from robota.clients.tui.status_line import StatusSetup
from robota.clients.tui.theme import Role, Theme
from robota.clients.view.model import ViewModel
from robota.config.durable_file import read_file
from robota.config.paths import user_directory
from robota.protocol.appearance import ON_ONE_BACKGROUND, Appearance, ThemeName
from robota.protocol.port import SessionPort
from robota.protocol.slash_commands import NextStep
from robota.serving.shown_session import ShownSession
from robota.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from robota.cli.run.draft_file import DraftFile
    from robota.cli.run.own_appearance import OwnAppearance
    from robota.clients.terminal.guard import StartGuard
    from robota.clients.tui.personal.own_theme import OwnThemes

MAX_KEPT_LENGTH: Final = 20_000  # a longer prompt of the command line is a file rather than something typed
SHORT_HASH: Final = 7
UNSENT: Final = "unsent"
MAX_PATH_LENGTH: Final = 8192
# The maximum time that another thread holds the interpreter lock. The thread that draws needs the lock several times
# per key, and with the default of 5 ms it would wait that long each time for a thread that scans output for secrets.
SWITCH_INTERVAL_S: Final = 0.001


async def converse_drawn(
    session: SessionPort,
    shown: ShownSession,
    prompt: str | None,
    edit: EditText,
    start_guard: "StartGuard",
    open_inbox: "Callable[[], Awaitable[None]]",
) -> int | NextStep:
    """Talk until the user leaves; returns the exit code, or the session to continue with."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    env = os.environ
    chosen = shown.values.theme or ThemeName.AUTO
    own = _own_appearance(chosen, env)
    themes = no_own_themes if own is None else own.themes
    theme = theme_for(env, chosen, themes)
    prompts = PromptFile(user_directory(os.environ) / "prompts.jsonl", str(shown.cwd))
    open_drafts = cache(partial(_drafts, shown.cwd))
    # Before the history is read: older drafts become part of it.
    left_draft = open_drafts().take_left(prompts.add) if (user_directory(env) / UNSENT).is_dir() else ""
    if prompt is not None and len(prompt) <= MAX_KEPT_LENGTH:
        prompts.add(prompt)
    setup = ScreenSetup(
        theme=theme,
        edit=edit,
        open_inbox=open_inbox,
        git_branch=lambda: git_branch(shown.cwd),
        prompts=prompts.read(),
        on_prompt=prompts.add,
        left_draft=left_draft,
        open_drafts=open_drafts,
        greeting=(*greeting(shown, theme), *_problem_rows(own, theme)),
        is_past_shown=shown.is_past_shown,
        has_vi_keys=os.environ.get("ROBOTA_KEYS") == "vi",
        bindings=USUAL if own is None else own.bindings,
        palette=lambda wanted, background: palette_for(env, wanted.theme, background, themes),
        asks_background=_may_ask_background(env, themes),
        status=status_setup(shown, env),
        look_at_file=lambda path: _look_at(path, shown.cwd),
        read_clipboard=lambda: _read_clipboard(shown.cwd),
        file_address=_file_addresses(shown.cwd) if _knows_links(env) else no_links,
        start_guard=start_guard,
        notify_by=shown.values.notifications,
    )
    return await converse_on_screen(session, prompt, setup)


def _own_appearance(chosen_theme: str, env: Mapping[str, str]) -> "OwnAppearance | None":
    """What files of the user change; most have none, and then nothing is loaded for them."""
    place = user_directory(env)
    if chosen_theme in set(ThemeName) and not any(map(os.path.lexists, (place / "themes", place / "keybindings.json"))):
        return None
    from robota.cli.run.own_appearance import own_appearance

    return own_appearance(chosen_theme, env)


def _problem_rows(own: "OwnAppearance | None", theme: Theme) -> list[str]:
    problems = () if own is None else own.problems
    width = get_terminal_size().columns
    rows = (row for each in problems for row in wrapped(f"! {each}", width, "  ").split("\n"))
    return [theme.paint(row, Role.WARNING) for row in rows]


def _drafts(cwd: Path) -> "DraftFile":
    from robota.cli.run.draft_file import DraftFile

    return DraftFile(user_directory(os.environ) / UNSENT, str(cwd))


def _may_ask_background(env: Mapping[str, str], own_themes: "OwnThemes") -> bool:
    """Whether to ask the terminal for its background: not if the answer is unused, nor on the Linux console."""
    is_decided = env.get("NO_COLOR") or theme_wanted(env, ThemeName.AUTO, own_themes) in ON_ONE_BACKGROUND
    return not is_decided and env.get("TERM") != "linux"


def greeting(shown: ShownSession, theme: Theme) -> Iterator[str]:
    """The rows at the start."""
    facts = Greeting(
        version=VERSION,
        model=shown.model,
        directory=_below_home(shown.cwd),
        permission_mode=shown.permission_mode.value,
        is_continued=shown.is_past_shown,
    )
    return greeting_rows(facts, theme, get_terminal_size().columns)


def _below_home(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) and path != home else str(path)


def status_setup(shown: ShownSession, env: Mapping[str, str]) -> StatusSetup:
    """The content of the status line according to the settings."""
    values = shown.values
    now = Appearance(
        theme=values.theme or ThemeName.AUTO.value,
        has_status_line=values.statusline.enabled,
        shows_git_branch=values.statusline.git_branch,
        reduces_motion=values.prefers_reduced_motion or env.get("ROBOTA_REDUCED_MOTION", "0") not in ("", "0"),
    )
    code = shown.code
    if values.status_line is None or code is None:
        return StatusSetup(appearance=now)
    from robota.app.protection.outside_code import status_program

    command = status_program(values.status_line.command, shown.cwd)

    async def run(view: ViewModel, times: StatusTimes) -> str:
        from robota.cli.run.status_command import StatusProgram, status_output

        program = StatusProgram(command=command, code=code, worktree=_worktree_of(shown))
        return await status_output(program, view, times, env)

    return StatusSetup(appearance=now, run=run)


def _worktree_of(shown: ShownSession) -> StatusWorktree | None:
    """The worktree of the session; None if it works in the directory that stores it."""
    cwd, kept_in = shown.cwd, shown.kept_in
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
