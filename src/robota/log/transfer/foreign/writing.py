"""Writes a foreign conversation as records, so that it can be listed, shown, searched and resumed like any other."""

from typing import Any, Final

import msgspec

from robota.log.kinds.calls import ToolEndRecord, ToolStartRecord
from robota.log.kinds.conversation import CondenseRecord, MessageRecord, TurnRecord
from robota.log.kinds.session import EndRecord, OriginRecord, SessionHeader, TaskRecord
from robota.log.transfer.draft import DraftSession
from robota.protocol.conversation import (
    AssistantTurn,
    ImageBlock,
    ImageSource,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserTurn,
)
from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode
from robota.version import VERSION

TASK: Final = "imported"
SIDE_TASK: Final = "imported-subagents"
MAX_NAME_LENGTH: Final = 128
MAX_TITLE_LENGTH: Final = 120
MAX_REASON_LENGTH: Final = 500


class ForeignWriter:
    """Writes the parts of a foreign conversation in order.

    Thinking is shown but not sent to a model again, because its signatures belong to another session. Approvals are not
    imported.
    """

    def __init__(self, draft: DraftSession, source: str, session_id: str, root: str, now_ms: int) -> None:
        self._draft = draft
        self._origin = OriginRecord(source=source, session_id="", at_ms=now_ms)
        self._id, self._root = session_id, root
        self._ts = 0
        self._turns = 0
        self._prompts = 0
        self._has_side_task = False
        self._calls: dict[str, ToolUseBlock] = {}
        self._newest_rows: dict[str, int] = {}
        self.model = ""

    @property
    def prompts(self) -> int:
        """The number of prompts."""
        return self._prompts

    def begin(self, foreign_id: str, cwd: str, ts: int) -> None:
        """Write the origin of the conversation. Must be called first."""
        self._origin = msgspec.structs.replace(self._origin, session_id=foreign_id[:MAX_NAME_LENGTH], cwd=cwd)
        self._ts = ts
        self._header()
        self._draft.append(self._origin)
        self._draft.append(TaskRecord(task_id=TASK, mode="code"))

    def at(self, ts: int) -> None:
        """Set the time of the following records."""
        self._ts = ts or self._ts

    def prompt(self, text: str, images: tuple[ImageBlock, ...] = ()) -> None:
        """Write a prompt."""
        if not text and not images:
            return
        self._row(TASK, "user_feedback" if self._prompts else "text", text)
        self._prompts += 1
        words = (TextBlock(text=text),) if text else ()
        self._turn(UserTurn(content=(*words, *images)))

    def reply(self, text: str, thoughts: str, calls: tuple[ToolUseBlock, ...], *, is_side: bool = False) -> None:
        """Write a reply of the model."""
        task = self._side_task() if is_side else TASK
        if not self._prompts and not is_side:
            self.prompt("(The beginning of this conversation is missing.)")
        if thoughts:
            self._row(task, "reasoning", thoughts)
        if text:
            self._row(task, "text", text)
        for call in calls:
            self._calls[call.id] = call
            start = ToolStartRecord(task_id=task, call_id=call.id, tool=call.name, input=call.input)
            self._draft.append(start, self._ts)
        words = (TextBlock(text=text),) if text else ()
        if not is_side and (words or calls):
            self._turn(AssistantTurn(content=(*words, *calls), model=self.model))

    def results(self, blocks: tuple[ToolResultBlock, ...], *, is_side: bool = False) -> None:
        """Write the results of calls. Results without a call are left to the repair of histories."""
        task = self._side_task() if is_side else TASK
        for block in blocks:
            end = _end_of(self._calls.pop(block.tool_use_id, None), task, block, self._newest_rows.get(task, 0))
            self._draft.append(end, self._ts)
        if blocks and not is_side:
            self._turn(UserTurn(content=blocks))

    def side_prompt(self, text: str) -> None:
        """Write the prompt of a subagent."""
        self._row(self._side_task(), "text", text)

    def error(self, text: str) -> None:
        """Write an error of the foreign session."""
        self._row(TASK, "error", text)

    def condensed(self, summary: str) -> None:
        """Write a condensation: from here on the model had a summary instead of the earlier turns."""
        put = UserTurn(content=(TextBlock(text=summary),))
        if self._turns:
            record = CondenseRecord(
                task_id=TASK, condense_id=f"imported-{self._turns}", trigger="auto", first=0, end=self._turns, put=put
            )
            self._draft.append(record, self._ts)
        else:
            self.prompt(summary)

    def end(self) -> None:
        """End the conversation and set the last used model as the one to continue with."""
        self._draft.append(EndRecord(task_id=TASK, outcome="completed"))
        self._header()

    def _header(self) -> None:
        header = SessionHeader(
            id=self._id,
            cwd=self._root,
            model=self.model,
            provider=self._origin.source,
            permission_mode=PermissionMode.DEFAULT,
            completion="implicit",
            version=VERSION,
        )
        self._draft.append(header, self._ts)

    def _row(self, task_id: str, say: str, text: str) -> None:
        ts = self._newest_rows[task_id] = self._draft.next_ts(self._ts)
        row = Message(ts=ts, type="say", say=say, text=text)
        self._draft.append(MessageRecord(task_id=task_id, message=row))

    def _turn(self, turn: UserTurn | AssistantTurn) -> None:
        self._draft.append(TurnRecord(task_id=TASK, turn=turn), self._ts)
        self._turns += 1

    def _side_task(self) -> str:
        if not self._has_side_task:
            self._has_side_task = True
            self._draft.append(TaskRecord(task_id=SIDE_TASK, mode="code", parent_task_id=TASK))
            self._draft.append(EndRecord(task_id=SIDE_TASK, outcome="completed"))
        return SIDE_TASK


def _end_of(call: ToolUseBlock | None, task_id: str, result: ToolResultBlock, after: int) -> ToolEndRecord:
    """The end of a call for clients: its tool and the first meaningful argument."""
    tool, given = (call.name, call.input.values()) if call is not None else ("", ())
    argument = next((each for each in given if isinstance(each, str) and each), "")
    title = f"{tool} {' '.join(argument.split())}"[:MAX_TITLE_LENGTH].rstrip()
    status, reason = ("error", result.content[:MAX_REASON_LENGTH]) if result.is_error else ("success", None)
    return ToolEndRecord(
        task_id=task_id,
        call_id=result.tool_use_id,
        tool=tool,
        status=status,
        duration_ms=0,
        title=title,
        reason=reason,
        after=after,
    )


def image_of(source: dict[str, Any]) -> ImageSource | None:
    """An image in base64, as the Messages API writes it; None if it is something else."""
    media_type, data = source.get("media_type"), source.get("data")
    if source.get("type") != "base64" or not isinstance(media_type, str) or not isinstance(data, str):
        return None
    return ImageSource(media_type=media_type, data=data)


def arguments_of(value: Any) -> dict[str, Any]:
    """The input of a call, converted to an object if it is something else."""
    if isinstance(value, dict):
        return value
    if isinstance(value, str):
        try:
            parsed = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            parsed = None
        return parsed if isinstance(parsed, dict) else {"input": value}
    return {} if value is None else {"input": value}


def blocks_of(value: Any) -> list[dict[str, Any]]:
    """The blocks of a message: a text becomes one block, and anything that is not an object is dropped."""
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    return [block for block in value if isinstance(block, dict)] if isinstance(value, list) else []
