"""What verbs can use in a shell, with a user who may be at a terminal."""

import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from robota.cli.output import print_prose, terminal_width
from robota.commands.verb_host import Progress
from robota.protocol.slash_commands import RewindShown
from robota.text.visible import single_line

if TYPE_CHECKING:
    from robota.config.launch_options import LaunchOptions
    from robota.config.settings.load import Settings

MAX_NOTICE: Final = 1000


class ShellHost:
    """The workspace of a sub-command. With `--json`, nobody is asked and nothing is cut."""

    opened = None

    def __init__(self, cwd: Path, env: Mapping[str, str], *, is_json: bool, allowed: Sequence[str] = ()) -> None:
        """`allowed` are rules for calls that run without asking."""
        self.cwd = cwd
        self.env = env
        self.wants_all = is_json
        self._allowed = tuple(allowed)

    @cached_property
    def launch(self) -> "LaunchOptions":
        from robota.config.launch_options import LaunchOptions

        return LaunchOptions(cwd=self.cwd, allowed_tools=self._allowed, needs_model=False)

    @cached_property
    def root(self) -> Path:
        from robota.config.launch_options import workspace_root

        return workspace_root(self.cwd)

    @property
    def kept_in(self) -> Path:
        return self.root

    @cached_property
    def settings(self) -> "Settings":
        from robota.config.launch_options import settings_for

        return settings_for(self.launch, self.root, self.env)

    @property
    def can_ask(self) -> bool:
        from robota.cli.questions import at_terminal

        return not self.wants_all and at_terminal()

    @property
    def width(self) -> int | None:
        return terminal_width()

    def path(self, typed: str) -> Path:
        return Path(typed)

    def say(self, text: str) -> None:
        if not self.wants_all:
            print_prose(text)
            sys.stdout.flush()

    def confirm(self, question: str, *, default: bool) -> bool | None:
        from robota.cli.questions import Cancelled, confirm

        # With its own handler, asyncio would only cancel the verb, which waits for the answer.
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return confirm(question, default=default)
        except Cancelled:
            return None
        finally:
            signal.signal(signal.SIGINT, handler)

    def tell(self, notice: str) -> None:
        from robota.clients.terminal.width import width_of, wrapped

        text = f"robota: {single_line(notice, MAX_NOTICE)}"
        print(wrapped(text, width_of(sys.stderr, self.env), "  "), file=sys.stderr)

    def progress(self, what: str, *logs: Path) -> AbstractContextManager[Progress]:
        from robota.cli.reading_progress import reading_progress

        return reading_progress(what, *logs)

    def ask(self, about: str | RewindShown, question: str = "", *, default: bool) -> bool | None:
        if not self.can_ask:
            return None
        if isinstance(about, RewindShown):
            from robota.clients.render.command_text import command_text
            from robota.clients.render.rewind_lines import question_about

            question = question_about(about.result)
            about = command_text(about)
        print(about)
        return bool(self.confirm(question, default=default))
