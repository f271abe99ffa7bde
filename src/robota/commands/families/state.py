"""The verb `state`: what a session waits for, and how to answer it."""

import asyncio
import shlex
import time
from typing import Any, Final

import msgspec

from robota.clients.render.view_lines import whole_view
from robota.commands.families.sessions import OneOrNewest
from robota.commands.sessions.left_ask import left_open, session_as_left
from robota.commands.sessions.selection import named_or_newest_session
from robota.commands.verb import CONFIGURATION, USAGE, Failure, Family, ReadingVerb, shown_parts
from robota.commands.verb import Answer as VerbAnswer
from robota.commands.verb_host import VerbHost
from robota.config.paths import user_directory
from robota.log.catalogue.catalogue import CataloguedSession
from robota.log.chain.reader import LOG_NAME
from robota.log.errors import SessionAmbiguous
from robota.log.replay.task import TaskFold, is_between_turns
from robota.protocol.asks.answer import Answer, Approve, ApproveEdited, Reject, Say
from robota.protocol.asks.ask import (
    ApprovalAsk,
    Ask,
    CompletionAsk,
    FailureAsk,
    LimitAsk,
    LimitKind,
    MistakesAsk,
    QuestionAsk,
)
from robota.protocol.asks.buttons import controls_at
from robota.protocol.asks.seed import ask_of
from robota.protocol.codec import encode
from robota.protocol.commands import AskResponse
from robota.protocol.message import Message
from robota.protocol.state import AgentStateInfo, detect_agent_state
from robota.protocol.views import SimpleView, TableView, TextView
from robota.text.counted import counted
from robota.text.visible import single_line, visible
from robota.transport.doors import DIRECTORY
from robota.transport.remote_session import NotConnected
from robota.transport.running_sessions import RunningSession, look_at
from robota.workspace.process.lock_holder import LockHolder, holder_of

MAX_QUESTION: Final = 2_000
WORDS: Final = "WORDS"
SUBTASK_IS_GONE: Final = (
    "A subtask asked this and ended with its process. Your answer goes to the task that started it."
)


class WayToAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A possible answer: its meaning, the command line for it, and the command of the protocol."""

    means: str
    command: str
    response: AskResponse


def show_state(host: VerbHost, args: OneOrNewest) -> VerbAnswer:
    """What a session waits for, as it says itself if it runs, otherwise from its log, and how to answer it."""
    session = named_or_newest_session(host, args.session, everywhere=args.all)
    replayed, last_ts = session_as_left(session.directory, host.env)
    task = replayed.root
    holder = holder_of(session.directory / LOG_NAME)
    waiting = None if task is None else left_open(task)
    of_subtask = replayed.subtask_ask if waiting is None and holder is None else None
    info = _state(task, waiting, is_live=holder is not None)
    running = None if holder is None or host.opened is not None else _running(host, session.id)
    if running is not None:
        info, waiting = running.info, running.waiting
    can_answer = waiting is not None and (holder is None or running is not None)
    ways = ways_to_answer(session.id, waiting) if waiting is not None and can_answer else []
    if of_subtask is not None:
        ways = [_way_to_parent(session.id)]
    rows = [("session", f"{session.id} {single_line(session.name or session.summary.title, 80)}".rstrip())]
    rows.append(("state", f"{info.state}: {info.description}"))
    rows.append(("written", time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(last_ts / 1000))))
    if holder is not None:
        rows.append(("open in", holder.text))
    lines = [] if waiting is None else [f"\n{question_text(waiting)}\n"]
    if of_subtask is not None:
        lines.append(f"\n{question_text(of_subtask)}\n\n{SUBTASK_IS_GONE}\n")
    lines += [f"{way.means}:\n  {way.command}\n  {encode(way.response).decode()}" for way in ways]
    if not ways and holder is None:
        lines.append(f"To resume it: robota --resume {session.id}")
    parts: list[SimpleView] = [TableView(columns=(), rows=tuple(rows))]
    if lines:
        parts.append(TextView(text="\n".join(lines)))
    return shown_parts(parts, _as_json(session, task, info, waiting or of_subtask, ways, holder))


def _running(host: VerbHost, session_id: str) -> RunningSession | None:
    """The session as it runs in another process; None if it cannot be reached."""
    try:
        return asyncio.run(look_at(user_directory(host.env) / DIRECTORY, session_id))
    except NotConnected:
        return None


def _explain(error: Exception) -> Failure:
    return Failure(str(error), USAGE if isinstance(error, SessionAmbiguous) else CONFIGURATION)


FAMILY: Final = Family(
    name="state",
    about="Show whether a session is running or what it is waiting for, and how to answer.",
    description="show what a session is waiting for, and how to answer it",
    main=ReadingVerb("state", "show the state of a session", OneOrNewest, show_state),
    explain=_explain,
)


def _way_to_parent(session_id: str) -> WayToAnswer:
    """How to answer the ask of a subtask that ended with its process: the answer goes to its parent task."""
    command = f"robota answer {session_id} {WORDS}"
    return WayToAnswer(means="continue, with an answer", command=command, response=AskResponse(answer=Say(text=WORDS)))


def ways_to_answer(session_id: str, waiting: Message) -> list[WayToAnswer]:
    """The possible answers, the simplest first."""

    def way(means: str, words: str, answer: Answer) -> WayToAnswer:
        command = f"robota answer {session_id} {words}"
        return WayToAnswer(means=means, command=command, response=AskResponse(answer=answer, ts=waiting.ts))

    match asked := ask_of(waiting):
        case QuestionAsk():
            offered = [
                way(f"answer {number}", _typed(number, each.answer), Say(text=each.answer))
                for number, each in enumerate(asked.suggestions, start=1)
            ]
            return [*offered, way("another answer", WORDS, Say(text=WORDS))]
        case ApprovalAsk():
            ways = [
                way("yes", "yes", Approve()),
                way("no", "no", Reject()),
                way("no, why", f"no {WORDS}", Reject(text=WORDS)),
            ]
            if asked.editable is not None:
                changed = ApproveEdited(edited=asked.editable.text)
                ways.append(way(f"yes, with another {asked.editable.name}", _json_words(changed), changed))
            return ways
        case CompletionAsk():
            return [way("go on", WORDS, Say(text=WORDS))]
        case _:
            yes, no = _yes_and_no(asked)
            return [way(yes, "yes", Approve()), way(no, "no", Reject()), way("say how", WORDS, Say(text=WORDS))]


def _typed(number: int, answer: str) -> str:
    """A suggested answer as typed: its number, if the text would be taken for another answer or an option."""
    is_misread = answer.isdecimal() or answer.startswith("-") or not answer.strip()
    return str(number) if is_misread else shlex.quote(answer)


def _yes_and_no(asked: Ask | None) -> tuple[str, str]:
    match asked:
        case LimitAsk():
            return "yes, the same amount again", "no, stop"
        case FailureAsk():
            return "yes, retry", "no, stop"
        case MistakesAsk():
            return "yes, continue", "no, stop"
        case _:
            return "yes", "no"


def _json_words(answer: Answer) -> str:
    return f"--json {shlex.quote(encode(answer).decode())}"


def _state(task: TaskFold | None, waiting: Message | None, *, is_live: bool) -> AgentStateInfo:
    """The state according to the rows. If no process runs the task and nothing is asked, it can be resumed."""
    rows = [] if task is None else list(task.messages)
    if is_live or task is None:
        return detect_agent_state(rows)
    while rows and is_between_turns(rows[-1]) and (waiting is not None or not rows[-1].is_answered):
        rows.pop()
    if waiting is None and rows and not task.is_complete:
        rows.append(Message(ts=rows[-1].ts, type="ask", ask="resume_task"))
    return detect_agent_state(rows)


def question_text(waiting: Message) -> str:
    """The question as text for the user."""
    asked = ask_of(waiting)
    if isinstance(asked, QuestionAsk):
        offered = "".join(f"\n  {number} {visible(each.answer)}" for number, each in enumerate(asked.suggestions, 1))
        return f"? {visible(asked.question)}{offered}"
    if isinstance(asked, ApprovalAsk):
        shown = "\n".join(line.text for line in whole_view(asked.view)) if asked.view is not None else ""
        return f"Approve this? {single_line(asked.title, 200)}\n{shown}\n{visible(asked.verdict.reason)}"[:MAX_QUESTION]
    if isinstance(asked, LimitAsk):
        what = counted(int(asked.count), "request") if asked.limit is LimitKind.REQUESTS else f"${asked.count:.2f}"
        return asked.text or f"The limit of {what} is reached."
    return visible(waiting.text or "The task is done.")[:MAX_QUESTION]


def _as_json(
    session: CataloguedSession,
    task: TaskFold | None,
    info: AgentStateInfo,
    waiting: Message | None,
    ways: list[WayToAnswer],
    holder: LockHolder | None,
) -> dict[str, Any]:
    return {
        "sessionId": session.id,
        "path": str(session.directory / LOG_NAME),
        "cwd": session.cwd,
        "pid": None if holder is None else holder.pid,
        "sinceMs": None if holder is None else holder.since_ms,
        "taskId": None if task is None else task.task_id,
        "state": msgspec.to_builtins(info),
        "controls": msgspec.to_builtins(controls_at(waiting)),
        "ask": None if waiting is None else msgspec.json.decode(encode(waiting)),
        "answers": [
            {"means": way.means, "command": way.command, "json": msgspec.json.decode(encode(way.response))}
            for way in ways
        ],
    }
