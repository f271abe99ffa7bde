"""What the page does with stored sessions: the verbs of `robota sessions`."""

import asyncio
from collections.abc import Awaitable, Callable
from inspect import isawaitable

from robota.commands.families.sessions import FAMILY, DeleteSession, ForkSession, RenameSession
from robota.commands.sessions.changing import delete_or_restore, fork_session, rename_session
from robota.commands.verb import Answer, VerbFailed
from robota.commands.verb_host import VerbHost
from robota.log.store import is_valid_session_id
from robota.protocol.commands import Accepted, Receipt, Refused


def manage_with(host: VerbHost) -> Callable[[str, str, str], Awaitable[Receipt]]:
    """A function of a verb, the id of a session, and a name."""

    async def manage(verb: str, session_id: str, name: str) -> Receipt:
        if not is_valid_session_id(session_id):
            return Refused(code="no_session", message=f"There is no session {session_id}. Nothing was changed.")
        try:
            answer = await asyncio.to_thread(_run, host, verb, session_id, name)
            if isawaitable(answer):
                answer = await answer
        except FAMILY.caught as error:
            return Refused(code="not_done", message=FAMILY.failure(error).message)
        data = answer.data
        return Accepted(id=data["id"] if isinstance(data, dict) else None)

    return manage


def _run(host: VerbHost, verb: str, session_id: str, name: str) -> Answer | Awaitable[Answer]:
    match verb:
        case "rename":
            return rename_session(host, RenameSession(session=session_id, name=name, all=True))
        case "fork":
            return fork_session(host, ForkSession(session=session_id, name=name or None, all=True))
        case "delete":
            return delete_or_restore(host, DeleteSession(session=session_id, all=True))
        case "restore":
            return delete_or_restore(host, DeleteSession(session=session_id, undo=True, all=True))
        case _:
            raise VerbFailed(f"{verb} is nothing that can be done with a session. Nothing was changed.")
