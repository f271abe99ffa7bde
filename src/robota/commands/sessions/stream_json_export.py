"""Export a session as the lines that print mode writes with `--output-format stream-json`."""

from collections.abc import Iterable, Iterator
from typing import Any

from robota.clients.headless.outcome import SUCCESS
from robota.clients.headless.result import Result, new_uuid
from robota.clients.headless.stream_json import assistant_message, init_fields, tool_result
from robota.log.kinds.calls import ResultRecord
from robota.log.kinds.conversation import CondenseRecord, TurnRecord
from robota.log.kinds.session import SessionHeader
from robota.log.record import Payload, Record, payload_of
from robota.protocol.conversation import AssistantTurn, ImageBlock, TextBlock, ToolResultBlock, Usage, UserTurn
from robota.protocol.events import SessionState
from robota.protocol.transcript import TranscriptHead

Line = dict[str, Any]


def stream_json_of(head: TranscriptHead, records: Iterable[Record]) -> Iterator[Any]:
    """The lines from `system/init` to `result`. Prompts are included as replayed lines (`isReplay`)."""
    lines = _Lines(head)
    for record in records:
        payload = payload_of(record)
        if payload is not None:
            yield from lines.take(payload)
    yield from lines.results()
    yield lines.result()


class _Lines:
    """The state of the export so far."""

    def __init__(self, head: TranscriptHead) -> None:
        self._head = head
        self._has_begun = False
        self._waiting: list[ToolResultBlock] = []
        self._answer, self._replies, self._usage = "", 0, Usage()
        self._stop_reason: str | None = None

    def take(self, payload: Payload) -> Iterator[Line]:
        match payload:
            case SessionHeader() if not self._has_begun:
                self._has_begun = True
                state = SessionState(
                    session_id=self._head.id,
                    cwd=payload.cwd,
                    model=payload.model,
                    mode="",
                    permission_mode=payload.permission_mode,
                )
                yield self._line("system", subtype="init", **init_fields(state))
            case ResultRecord():
                self._waiting.append(payload.result)
            case TurnRecord(turn=AssistantTurn() as reply):
                yield from self.results()
                yield from self._reply(reply)
            case TurnRecord(turn=UserTurn() as user_turn):
                yield from self._user_message(user_turn)
            case CondenseRecord():
                metadata = {"trigger": payload.trigger, "pre_tokens": 0}
                yield self._line("system", subtype="compact_boundary", compact_metadata=metadata)
            case _:
                pass

    def results(self) -> Iterator[Line]:
        """The tool results that were logged one by one, as one line."""
        if self._waiting:
            content = [tool_result(block) for block in self._waiting]
            self._waiting = []
            yield self._line("user", message={"role": "user", "content": content}, parent_tool_use_id=None)

    def result(self) -> Result:
        """The last line."""
        head = self._head
        return Result(
            subtype=SUCCESS,
            is_error=False,
            result=self._answer,
            session_id=head.id,
            num_turns=self._replies,
            duration_ms=max(0, head.ended_ms - head.started_ms),
            duration_api_ms=0,
            usage=self._usage,
            model_usage={},
            total_cost_usd=head.cost_usd,
            permission_denials=(),
            terminal_reason="completed",
            stop_reason=self._stop_reason,
            uuid=new_uuid(),
        )

    def _reply(self, reply: AssistantTurn) -> Iterator[Line]:
        self._replies += 1
        self._usage += reply.usage
        self._stop_reason = reply.stop_reason
        self._answer = reply.text or self._answer
        yield self._line("assistant", message=assistant_message(reply), parent_tool_use_id=None)

    def _user_message(self, turn: UserTurn) -> Iterator[Line]:
        self._waiting += [block for block in turn.content if isinstance(block, ToolResultBlock)]
        yield from self.results()
        words = [block for block in turn.content if isinstance(block, TextBlock | ImageBlock)]
        if words:
            message = {"role": "user", "content": words}
            yield self._line("user", message=message, parent_tool_use_id=None, isReplay=True)

    def _line(self, kind: str, /, **fields: Any) -> Line:
        return {"type": kind, **fields, "session_id": self._head.id, "uuid": new_uuid()}
