"""Makes sessions for tests: real logs, written by the real writer, as short as a test wants them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from robota.log.chain.head import ChainHead, head_path, note_head
from robota.log.chain.reader import load
from robota.log.chain.writer import SessionLog
from robota.log.kinds.calls import ToolEndRecord, ToolStartRecord
from robota.log.kinds.conversation import CondenseRecord, MessageRecord, TurnRecord
from robota.log.kinds.requests import RequestRecord
from robota.log.kinds.session import EndRecord, SessionHeader, TaskRecord
from robota.log.store import session_directory
from robota.protocol.conversation import AssistantTurn, TextBlock, ToolResultBlock, ToolUseBlock, Turn, UserTurn
from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode

START_MS = 1_790_000_000_000


class Clock:
    """A clock that goes on by a second with every look."""

    def __init__(self, start_ms: int = START_MS) -> None:
        self.now_ms = start_ms

    def __call__(self) -> int:
        self.now_ms += 1000
        return self.now_ms


class Written:
    """A session that is being written. Each method adds what a real one would."""

    def __init__(
        self, root: Path, session_id: str, *, name: str | None = None, model: str = "m-1", version: str = "0.1.0"
    ) -> None:
        self.directory = session_directory(root, session_id)
        self.log = SessionLog.create(self.directory, Clock())
        self.task_id = f"task-{session_id}"
        self._calls = self._turns = 0
        self.log.append(
            SessionHeader(
                id=session_id,
                cwd=str(root),
                model=model,
                provider="p",
                permission_mode=PermissionMode.DEFAULT,
                completion="implicit",
                version=version,
                name=name,
            )
        )
        self.log.append(TaskRecord(task_id=self.task_id, mode="code"))
        self.log.append(RequestRecord(task_id=self.task_id, model=model, system="", tools=""))
        self._has_prompt = False

    def row(self, **fields: Any) -> int:
        ts = self.log.next_ts()
        fields = {"type": "ask" if "ask" in fields else "say", **fields}
        self.log.append(MessageRecord(task_id=self.task_id, message=Message(ts=ts, **fields)))
        return ts

    def prompt(self, text: str) -> "Written":
        self.row(say="user_feedback" if self._has_prompt else "text", text=text)
        self._has_prompt = True
        self._turn(UserTurn(content=(TextBlock(text=text),)))
        return self

    def reply(self, text: str, cost: float = 0.25) -> "Written":
        request = self.row(say="api_req_started", text="{}")
        self.row(say="text", text=text)
        info = f'{{"tokensIn": 10, "tokensOut": 5, "cost": {cost}}}'
        row = Message(ts=request, type="say", say="api_req_started", text=info)
        self.log.append(MessageRecord(task_id=self.task_id, message=row))
        self._turn(AssistantTurn(content=(TextBlock(text=text),)))
        return self

    def call(self, tool: str, call_input: dict[str, Any], output: str, diff: str | None = None) -> "Written":
        self._calls += 1
        call_id = f"call_{self._calls}"
        task, log = self.task_id, self.log
        use = ToolUseBlock(id=call_id, name=tool, input=call_input)
        self._turn(AssistantTurn(content=(use,)))
        if diff is not None:
            self.row(say="tool", call_id=call_id, text=json.dumps({"tool": "editedExistingFile", "diff": diff}))
        log.append(ToolStartRecord(task_id=task, call_id=call_id, tool=tool, input=call_input))
        log.append(ToolEndRecord(task_id=task, call_id=call_id, tool=tool, status="success", duration_ms=5))
        result = ToolResultBlock(tool_use_id=call_id, content=output)
        self._turn(UserTurn(content=(result,)))
        return self

    def _turn(self, turn: Turn) -> None:
        self._turns += 1
        self.log.append(TurnRecord(task_id=self.task_id, turn=turn))

    def condense(self) -> "Written":
        """What was said so far is a summary for the model from now on."""
        end = self._turns
        put = UserTurn(content=(TextBlock(text="In short: much was said."),))
        self.log.append(
            CondenseRecord(task_id=self.task_id, condense_id=f"c{end}", trigger="auto", first=0, end=end, put=put)
        )
        return self

    def ask(self, **fields: Any) -> int:
        return self.row(**fields)

    def end(self, outcome: str = "completed") -> "Written":
        self.log.append(EndRecord(task_id=self.task_id, outcome=outcome))
        self.log.close()
        return self

    def close(self) -> "Written":
        self.log.close()
        return self


def note_as_own(user_directory: Path, directories: Iterable[Path]) -> None:
    """Note the sessions as a real run does when it brings them to disk."""
    for directory in directories:
        loaded = load(directory / "log.jsonl")
        head = ChainHead(loaded.last_seq, loaded.head_hash, str(directory))
        note_head(head_path(user_directory, directory), head)
