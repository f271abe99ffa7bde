"""The verb `ps`: the sessions of this user that run now, wherever they are."""

import time
from typing import Any, Final

import msgspec

from robota.commands.verb import Answer, Family, NoArguments, ShellVerb, table
from robota.commands.verb_host import VerbHost
from robota.config.paths import user_directory
from robota.protocol.asks.buttons import controls_at
from robota.protocol.state import RequiredAction
from robota.text.visible import single_line
from robota.transport.doors import DIRECTORY
from robota.transport.running_sessions import RunningSession, running_sessions

MAX_TITLE: Final = 50
MAX_PATH: Final = 60
MAX_ACTION: Final = 40
WORDS: Final = {
    RequiredAction.NONE: "working",
    RequiredAction.APPROVE: "needs approval",
    RequiredAction.ANSWER: "asks a question",
    RequiredAction.RETRY_OR_NEW_TASK: "request failed",
    RequiredAction.PROCEED_OR_NEW_TASK: "stopped at a limit",
    RequiredAction.START_TASK: "idle",
    RequiredAction.START_NEW_TASK: "idle",
    RequiredAction.RESUME_OR_ABANDON: "interrupted",
    RequiredAction.CONTINUE_OR_ABORT: "working",
}
# A window inside a session would have to go through the doors of others, which are closed to agents.
IN_A_SHELL: Final = "sessions refuse processes that a session has started"


async def _ps(host: VerbHost, _: NoArguments) -> Answer:
    now = await running_sessions(user_directory(host.env) / DIRECTORY)
    for problem in now.unreachable:
        host.tell(str(problem))
    rows = map(_row, now.sessions)
    data = [_as_json(each) for each in now.sessions]
    columns = ("SESSION", "STATE", "COST", "PROCESS", "DIRECTORY", "ABOUT")
    return table(columns, rows, data, nothing="No session is running that other windows can reach.")


def _row(session: RunningSession) -> tuple[str, ...]:
    waits = session.waiting
    doing = single_line(session.action, MAX_ACTION) or WORDS[session.info.required_action]
    state = f"{doing}{'' if waits is None else _since(waits.ts)}"
    cost = "" if session.cost is None else f"${session.cost:.2f}"
    cwd = single_line(session.hello.cwd, MAX_PATH)
    return (session.id, state, cost, str(session.hello.pid), cwd, single_line(session.title, MAX_TITLE))


def _since(ts: int) -> str:
    return time.strftime(" since %H:%M", time.localtime(ts / 1000))


def _as_json(session: RunningSession) -> dict[str, Any]:
    return {
        "sessionId": session.id,
        "name": session.state.name,
        "title": session.title,
        "cwd": session.hello.cwd,
        "pid": session.hello.pid,
        "sinceMs": session.hello.since_ms,
        "model": session.state.model,
        "state": msgspec.to_builtins(session.info),
        "ask": None if session.waiting is None else msgspec.to_builtins(session.waiting),
        "action": session.action,
        "cost": session.cost,
        "waitingSinceMs": None if session.waiting is None else session.waiting.ts,
        "controls": msgspec.to_builtins(controls_at(session.waiting)),
    }


FAMILY: Final = Family(
    name="ps",
    about="List the running sessions of this user, and what each waits for.",
    main=ShellVerb("ps", "", NoArguments, _ps, reason=IN_A_SHELL),
)
