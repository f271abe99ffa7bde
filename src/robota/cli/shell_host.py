"""What verbs can use in a shell, with a user who may be at a terminal."""

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from robota.app.workspace_host import WorkspaceHost
from robota.config.launch_options import LaunchOptions
from robota.protocol.slash_commands import RewindShown

if TYPE_CHECKING:
    from robota.commands.rewind_target import RewindTarget


class ShellHost(WorkspaceHost):
    """The workspace of a sub-command. With `--json`, nobody is asked and nothing is cut."""

    session_id = None

    def __init__(self, launch: LaunchOptions, env: Mapping[str, str], *, is_json: bool) -> None:
        super().__init__(launch, env)
        self.wants_all = is_json

    @property
    def can_ask(self) -> bool:
        from robota.cli.questions import at_terminal

        return not self.wants_all and at_terminal()

    def ask(self, about: str | RewindShown, question: str = "", *, default: bool) -> bool | None:
        if not self.can_ask:
            return None
        from robota.cli.questions import Cancelled, confirm

        if isinstance(about, RewindShown):
            from robota.clients.render.command_text import command_text
            from robota.clients.render.rewind_lines import question_about

            question = question_about(about.result)
            about = command_text(about)
        print(about)
        # With its own handler, asyncio would only cancel the verb, which waits for the answer.
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return confirm(question, default=default)
        except Cancelled:
            return False
        finally:
            signal.signal(signal.SIGINT, handler)

    @contextmanager
    def rewinding(self, session: str | None, *, is_written: bool) -> "Iterator[RewindTarget]":
        """A stored session, in the directory where it worked. What it reads of a long log is shown as progress."""
        from robota.app.rewinding.rewind import stored_rewinder
        from robota.cli.commands.checkpointed_sessions import chosen_session, session_workspace
        from robota.cli.reading_progress import reading_progress
        from robota.commands.rewind_target import RewindTarget
        from robota.log.chain.reader import LOG_NAME

        found = chosen_session(self.root, session)
        directory, workspace = found.directory, session_workspace(found, self.root)
        checkpoints = self.settings.values.checkpoints
        with (
            reading_progress("reading the log", directory / LOG_NAME) as progress,
            stored_rewinder(
                checkpoints, workspace, self.env, directory, is_written=is_written, progress=progress
            ) as service,
        ):
            yield RewindTarget(
                session_id=directory.name,
                service=service,
                relative=lambda path: os.path.relpath(self.cwd.resolve() / path, workspace),
            )
