"""Finds the first difference between a recorded session and its replay."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import zip_longest
from typing import Any, Final

import msgspec

from robota.log.kinds.calls import ResultRecord, ToolStartRecord
from robota.log.kinds.conversation import CondenseRecord, CutRecord, TruncateRecord, TurnRecord
from robota.log.kinds.session import TaskRecord
from robota.log.record import Record, payload_of
from robota.proof.replay.recording import Leg, RecordedHead
from robota.protocol.conversation import AssistantTurn, ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock, UserTurn
from robota.providers.chunks import ToolSpec
from robota.secrets.redaction import Redactor

SHOWN: Final = 80
# Of tools in a workspace with intents, and of commands in a session with a sandbox.
SESSION_ARGUMENTS: Final = frozenset({"mutation_class", "without_sandbox", "opened"})
CALL_OF_PROMPT: Final = "prompt_"
# The environment (time, branch, changed files) is compared apart, in `environment.py`.
SURROUNDINGS: Final = re.compile(r"\n*<environment_details>\n.*?</environment_details>", re.DOTALL)
# Added by hooks, memory and instruction files, which a replay does not run or read.
REMINDER: Final = re.compile(r"\n*<system-reminder>\n.*?</system-reminder>", re.DOTALL)
# Whether calls can be approved, which is never the case in a replay.
STATE: Final = re.compile(r"\n*<system-reminder>\nSession state now:\n.*?</system-reminder>", re.DOTALL)
# Output of a shell command of the user, which a replay does not run.
RAN_THEMSELVES: Final = re.compile(r"The user ran a command themselves\. [^\n]*\n<command>\n")
# A note about the time since the last prompt and the files changed meanwhile, which a replay cannot know.
MEANWHILE: Final = re.compile(
    r"(?<=\[TASK RESUMPTION\] The task was )(?:closed|interrupted) .*? ago"
    r"| Not as you last saw them: .*? Read them again before you rely on them\."
)


class Divergence(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The first difference between recording and replay. `kind` is prompt, arguments, reply or files."""

    kind: str
    where: str
    recorded: str
    replayed: str
    request: int = 0

    @property
    def text(self) -> str:
        """The difference as text for the user."""
        return f"{self.kind}: {self.where}\n  recorded  {self.recorded}\n  replayed  {self.replayed}"


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a request, a reply, or the input of a call; `request` is the number of replies before it."""

    kind: str
    where: str
    text: str
    request: int


def first_divergence(leg: Leg, replayed: Iterable[Record], as_recorded: Callable[[str], str]) -> Divergence | None:
    """Compare the requests, replies and call inputs of a leg with those of its replay.

    `as_recorded` replaces paths and task ids of the replay with the recorded ones. If the leg was cut off, the replay
    may continue beyond its end.
    """
    records, before = leg.records, leg.replies_before
    started = _started_calls(records, before)
    recorded = list(steps_of(records, started, before))
    last_reply = max((number for number, step in enumerate(recorded) if step.kind == "reply"), default=-1)
    for number, (one, other) in enumerate(zip_longest(recorded, steps_of(replayed, started, before))):
        if leg.is_cut and number > last_reply and one != other:
            return None  # the recording was cut off in the middle of this step
        if one is None or other is None:
            return _one_is_longer(one, other)
        found = as_recorded(other.text)
        if (one.kind, one.where) != (other.kind, other.where):
            return Divergence(
                kind=one.kind, where=one.where, recorded=one.where, replayed=other.where, request=one.request
            )
        if one.text != found:
            return difference(one.kind, one.where, one.text, found, one.request)
    return None


def first_tool_divergence(heads: Iterable[RecordedHead], today: Iterable[ToolSpec]) -> Divergence | None:
    """Compare the recorded descriptions and schemas of tools with today's. Tools that are missing today are skipped.

    A tool is skipped, too, if only one of both has an argument that depends on the session: that of a workspace with
    intents, or those of a session with a sandbox.
    """
    by_name = {spec.name: spec for spec in today}
    for head in heads:
        for spec in head.specs:
            other = by_name.get(spec.name)
            if other is None or _session_arguments(spec) != _session_arguments(other):
                continue
            pairs = ((spec.description, other.description), (_canonical(spec.schema), _canonical(other.schema)))
            for one, now in pairs:
                if one != now:
                    return difference("prompt", f"what is said of the tool {spec.name}", one, now, head.request)
    return None


def _session_arguments(spec: ToolSpec) -> set[str]:
    return {name for name in spec.schema.get("properties", {}) if name in SESSION_ARGUMENTS}


def difference(kind: str, where: str, recorded: str, replayed: str, request: int = 0) -> Divergence:
    """The divergence between two texts: the first line that differs, in both, with secrets redacted."""
    # Before lines are shortened: half a key would not be recognized any more.
    recorded, replayed = _redacted(recorded), _redacted(replayed)
    lines = zip_longest(recorded.split("\n"), replayed.split("\n"))
    pairs = ((number, one, other) for number, (one, other) in enumerate(lines, start=1) if one != other)
    number, one, other = next(pairs, (0, "a secret", "another secret"))
    shared = _shared(one or "", other or "")
    place = f"{where}, line {number}, character {shared + 1}"
    return Divergence(
        kind=kind, where=place, recorded=_around(one, shared), replayed=_around(other, shared), request=request
    )


def _redacted(text: str) -> str:
    return Redactor()(text.encode(errors="surrogateescape")).decode(errors="surrogateescape")


def _shared(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (here, there) in pairs if here != there), min(len(one), len(other)))


def _around(line: str | None, position: int) -> str:
    if line is None:
        return "(no such line)"
    start = max(0, position - SHOWN // 2)
    return repr(line[start : start + SHOWN])


def _one_is_longer(one: Step | None, other: Step | None) -> Divergence:
    step = one or other
    assert step is not None
    shown = repr(_redacted(step.text)[:SHOWN])
    sides = (shown, "(nothing)") if one is not None else ("(nothing)", shown)
    return Divergence(kind=step.kind, where=step.where, recorded=sides[0], replayed=sides[1], request=step.request)


def _started_calls(records: Iterable[Record], request: int) -> set[tuple[int, str]]:
    """The ids of calls that ran, each with the number of its reply, because some models use an id twice.

    Calls that a prompt made (`!command` in a skill) are left out: the prompt is replayed with their results.
    """
    started: set[tuple[int, str]] = set()
    for record in records:
        payload = payload_of(record)
        if isinstance(payload, TurnRecord) and isinstance(payload.turn, AssistantTurn):
            request += 1
        elif isinstance(payload, ToolStartRecord) and not payload.call_id.startswith(CALL_OF_PROMPT):
            started.add((request, payload.call_id))
    return started


def steps_of(records: Iterable[Record], started: Collection[tuple[int, str]], request: int) -> Iterator[Step]:
    """The parts of requests, the replies and the inputs of started calls, in order.

    `request` is the number of replies before these records.
    """
    results: dict[str, ToolResultBlock] = {}
    inputs: dict[str, Step] = {}
    for record in records:
        payload = payload_of(record)
        match payload:
            case TurnRecord(turn=AssistantTurn() as turn):
                request += 1
                yield Step(kind="reply", where=f"reply {request}", text=_reply_text(turn), request=request)
            case ResultRecord():
                results[payload.result.tool_use_id] = payload.result
            case ToolStartRecord() if (request, payload.call_id) in started:
                where = f"the input of {payload.call_id} ({payload.tool})"
                text = _canonical(payload.input)
                # Only the first start counts: a failed call may be started again, such as outside the sandbox.
                inputs.setdefault(payload.call_id, Step(kind="arguments", where=where, text=text, request=request))
            case TurnRecord(turn=UserTurn() as turn):
                # Read-only calls run concurrently, so their order in the log is arbitrary.
                yield from (inputs[call_id] for call_id in sorted(inputs))
                results |= {block.tool_use_id: block for block in turn.content if isinstance(block, ToolResultBlock)}
                yield from _user_turn_steps(turn, results, request)
                results, inputs = {}, {}
            case CondenseRecord() | TruncateRecord():
                put = "\n".join(block.text for block in payload.put.content if isinstance(block, TextBlock))
                put = STATE.sub("", put)
                yield Step(kind="prompt", where="what stands for older turns", text=put, request=request)
            case CutRecord():
                cut = "\n".join(each.put for each in payload.results)
                yield Step(kind="prompt", where="results that are shown in short", text=cut, request=request)
            case _:
                pass


def task_ids(records: Iterable[Record]) -> list[str]:
    """The ids of the tasks in the order in which they started."""
    ids = (payload.task_id for record in records if isinstance(payload := payload_of(record), TaskRecord))
    return list(dict.fromkeys(ids))


def _user_turn_steps(turn: UserTurn, results: dict[str, ToolResultBlock], request: int) -> Iterator[Step]:
    for call_id in sorted(results):
        block = results[call_id]
        text = f"{block.content}{' (error)' if block.is_error else ''}"
        yield Step(kind="prompt", where=f"the result of {call_id}", text=text, request=request)
    compared = _compared_text(turn)
    images = sum(isinstance(block, ImageBlock) for block in turn.content)
    if compared or images:
        text = compared + f"\n({images} images)" * bool(images)
        yield Step(kind="prompt", where=f"what request {request + 1} is told", text=text, request=request)


def user_text(turn: UserTurn) -> str:
    """The text of a user turn, without tool results and environment details."""
    text = "\n".join(block.text for block in turn.content if isinstance(block, TextBlock))
    return SURROUNDINGS.sub("", text).strip("\n")


def _compared_text(turn: UserTurn) -> str:
    """The part of the text that a replay produces itself, instead of copying it from the recording."""
    if RAN_THEMSELVES.match(user_text(turn)):
        return ""
    return MEANWHILE.sub("", REMINDER.sub("", f"\n{user_text(turn)}")).strip("\n")


def _reply_text(turn: AssistantTurn) -> str:
    """The text and the calls of a reply, without its reasoning."""
    parts: list[str] = []
    for block in turn.content:
        if isinstance(block, TextBlock):
            parts.append(block.text)
        elif isinstance(block, ToolUseBlock):
            parts.append(f"{block.name} {_canonical(block.input)}")
    return "\n".join(parts)


def _canonical(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=1).decode()
