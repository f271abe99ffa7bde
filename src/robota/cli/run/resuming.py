"""Select the session for `--continue` and `--resume`; at a terminal, the user is asked."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.cli.command_line import CommandLine
from robota.cli.questions import Cancelled, choose, confirm
from robota.log.catalogue.catalogue import CataloguedSession
from robota.serving.resuming import CopyOfSession, Named, Newest, NotResumed, Selected, session_to_resume, title_of

OFFERED: Final = 20


async def resumed_session(
    arguments: CommandLine, env: Mapping[str, str], tell: Callable[[str], None], *, attended: bool
) -> Path | None:
    """The directory of the session to resume; None for a new one. Raises `LogError`."""
    which = Newest() if arguments.continues else Named(arguments.resume) if arguments.resume else Selected()
    user = AtTerminal(env=env, plain=arguments.plain) if attended else Unattended()
    copied = CopyOfSession(session_id=arguments.session_id, name=arguments.name) if arguments.fork_session else None
    asked = AgreedBefore(user) if arguments.yes else user
    return await session_to_resume(arguments.cwd, which, asked, env, tell, copied=copied)


class AtTerminal(msgspec.Struct, frozen=True, kw_only=True):
    """A user who selects on a separate screen, or from a numbered list."""

    env: Mapping[str, str]
    plain: bool

    async def select(self, sessions: Sequence[CataloguedSession]) -> CataloguedSession | None:
        if not sessions:
            return None
        from robota.cli.run.conversation import can_draw

        if can_draw(self.env) and not self.plain:
            from robota.cli.run.session_picker import picked_on_screen

            picked = await picked_on_screen(sessions, self.env)
        else:
            picked = _numbered(sessions[:OFFERED])
        if picked is None:
            raise NotResumed("No session was chosen. Nothing was started.")
        return picked

    def agrees_to_foreign(self, warning: str) -> None:
        try:
            agrees = confirm(f"{warning}\nResume it?", default=False)
        except Cancelled:
            agrees = False
        if not agrees:
            raise NotResumed("The session was not resumed. Nothing was started.")


class Unattended(msgspec.Struct, frozen=True):
    """Nobody can be asked."""

    async def select(self, sessions: Sequence[CataloguedSession]) -> CataloguedSession | None:
        if not sessions:
            raise NotResumed("There is no session to resume in this directory. Nothing was started.")
        listed = "\n".join(f"  {session.id}  {title_of(session)}" for session in sessions[:OFFERED])
        raise NotResumed(
            f"Choose a session to resume: --resume ID, or --continue for the newest. Nothing was started.\n{listed}"
        )

    def agrees_to_foreign(self, warning: str) -> None:
        raise NotResumed(f"{warning} It was not resumed. To resume it anyway: --yes")


class AgreedBefore(msgspec.Struct, frozen=True):
    """A user who agreed with `--yes` to sessions of others."""

    user: AtTerminal | Unattended

    async def select(self, sessions: Sequence[CataloguedSession]) -> CataloguedSession | None:
        return await self.user.select(sessions)

    def agrees_to_foreign(self, warning: str) -> None:
        """The option says so."""


def _numbered(offered: Sequence[CataloguedSession]) -> CataloguedSession | None:
    try:
        return offered[choose("Which session?", [_line(session) for session in offered])]
    except Cancelled:
        return None


def _line(session: CataloguedSession) -> str:
    written = time.strftime("%Y-%m-%d %H:%M", time.localtime(session.modified_ms / 1000))
    return f"{written}  {title_of(session)}"
