"""`robota --detach`: start a session in a process of its own, without a terminal, and return once it works."""

import os
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from robota.cli.command_line import CommandLine, UsageError
from robota.serving.detached import leave_terminal
from robota.serving.left_running import LeftRunning

if TYPE_CHECKING:
    from robota.app.session import OpenSession
    from robota.protocol.commands import AskResponse, NewTask
    from robota.serving.handing_over import HandedOver

    Client = Callable[[OpenSession], Awaitable[LeftRunning | int]]
    First = Callable[[OpenSession], AskResponse | NewTask | None]

FAILED: Final = 1
ID_BYTES: Final = 1024
# What the user has chosen in the session, which it keeps in the other process.
CHOSEN: Final = ("provider", "model", "effort", "language", "permission_mode", "allowed_tools")


def check_detached(arguments: CommandLine, prompt: str) -> None:
    """Raise `UsageError` if there is nothing that could be done without a terminal."""
    if arguments.print or arguments.output_format != "text":
        raise UsageError("--detach leaves a session running and prints only its id, so it cannot be used with -p.")
    is_resumed = arguments.continues or arguments.resume is not None
    if arguments.resume == "":
        raise UsageError("--detach needs the id or the name of the session: --resume SESSION.")
    if not prompt and not is_resumed:
        raise UsageError('--detach needs a task: robota --detach "fix the failing test"')


def run_detached(run: "Callable[[Client], int]", prompt: str | None) -> int:
    """Run the session in a child process, and return when it works; its id is printed."""
    session_id = _in_child(run, lambda opened: _first_command(opened, prompt))
    if isinstance(session_id, str):
        print(session_id)
        return 0
    return session_id


def hand_over(handed: "HandedOver", arguments: CommandLine, run: "Callable[[CommandLine, Client], int]") -> int:
    """Let a child process continue a session that was closed here, and return when it works there."""
    given = {name: getattr(handed.launch, name) for name in CHOSEN}
    continued = replace(
        arguments,
        prompt=(),
        continues=False,
        resume=handed.session_id,
        yes=True,  # the session ran here until now, so nothing about it is to be confirmed
        fork_session=False,
        worktree=None,
        session_id=None,
        name=None,
        mode=None,
        **given,
    )
    first = _going_on if handed.goes_on else _waiting
    session_id = _in_child(lambda client: run(continued, client), first)
    if isinstance(session_id, int):
        print(f"The session was closed. To resume it: robota --resume {handed.session_id}", file=sys.stderr)
        return session_id
    print(f"The session goes on without this terminal. To come back: robota attach {session_id}")
    return 0


def _in_child(run: "Callable[[Client], int]", first: "First") -> str | int:
    """Run the session in a child process; its id once it works.

    Whatever fails before that is reported by the child, and its exit code is ours.
    """
    heard, told = os.pipe()
    child = os.fork()
    if child:
        os.close(told)
        with os.fdopen(heard, "rb") as told_id:
            session_id = told_id.read(ID_BYTES).decode()
        return session_id or os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) or FAILED
    os.close(heard)
    os.setsid()
    raise SystemExit(run(_client(first, told)))


def _client(first_of: "First", told: int) -> "Client":
    async def client(opened: "OpenSession") -> LeftRunning | int:
        from robota.protocol.commands import Refused

        first = first_of(opened)
        receipt = None if first is None else await opened.session.submit(first)
        problem = receipt.message if isinstance(receipt, Refused) else opened.session.unsaved
        if problem is not None:
            os.write(2, f"robota: {problem} The session was closed.\n".encode())
            return FAILED
        leave_terminal()
        os.write(told, opened.options.session_id.encode())
        os.close(told)
        return LeftRunning()

    return client


def _going_on(opened: "OpenSession") -> "AskResponse":
    from robota.protocol.asks.answer import Approve
    from robota.protocol.commands import AskResponse

    return AskResponse(answer=Approve())


def _waiting(opened: "OpenSession") -> None:
    """Nothing is done before the user says something."""


def _first_command(opened: "OpenSession", prompt: str | None) -> "AskResponse | NewTask | None":
    """The prompt, or the answer that continues an interrupted task, which then repeats its pending ask."""
    from robota.protocol.asks.answer import Approve, Say
    from robota.protocol.commands import AskResponse, NewTask

    left = None if opened.resumed is None else opened.resumed.session.root
    if left is None:
        return None if prompt is None else NewTask(text=prompt)
    if prompt is not None:
        return AskResponse(answer=Say(text=prompt))
    return None if left.is_complete else AskResponse(answer=Approve())
