"""What the log of a session says about how the model worked."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.log.chain.reader import load
from robota.log.kinds.calls import ToolEndRecord
from robota.log.kinds.conversation import CondenseRecord, MessageRecord, TurnRecord
from robota.log.record import payload_of
from robota.protocol.conversation import AssistantTurn, ToolUseBlock
from robota.protocol.state import is_request_row

EDIT_TOOLS: Final = ("edit_file", "apply_patch", "apply_diff", "write_to_file")
TEST_COMMAND: Final = re.compile(
    r"\b(pytest|unittest|tox|nox|make \S*test|(npm|cargo|go|yarn) (run )?test)\b|\btest_\w+\.py"
)
CLAIM: Final = re.compile(
    r"\btests?\b[^.!?\n]*\b(pass(es|ed|ing)?|succeed(s|ed)?|green|bestehen|grün|laufen durch)\b", re.I
)
DOUBT: Final = re.compile(r"\b(not|cannot|could|should|would|if|nicht|fails?|failing)\b|n't\b", re.IGNORECASE)


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A call as the model wrote it. `status` is that of its end in the log, or `unfinished`."""

    tool: str
    input: dict[str, Any]
    status: str

    @property
    def command(self) -> str:
        """What a shell is to run; empty for other calls."""
        return str(self.input.get("command", ""))


class LogFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A session: its calls in order, its last answer, and what its requests cost. `tokens_in` includes cached ones."""

    calls: tuple[Call, ...] = ()
    answer: str = ""
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0
    condensations: int = 0

    @property
    def cached_share(self) -> float:
        return self.cached / self.tokens_in if self.tokens_in else 0.0

    @property
    def tool_errors(self) -> dict[str, int]:
        """How many calls did not succeed, by tool and status."""
        return dict(Counter(f"{each.tool} {each.status}" for each in self.calls if each.status != "success"))

    @property
    def failed_edits(self) -> int:
        return sum(each.tool in EDIT_TOOLS and each.status == "error" for each in self.calls)

    @property
    def retried_denials(self) -> int:
        """How many calls repeat one that was denied."""
        before = [(earlier.tool, earlier.input) if earlier.status == "denied" else None for earlier in self.calls]
        return sum((each.tool, each.input) in before[:place] for place, each in enumerate(self.calls))

    @property
    def claims_untested(self) -> bool:
        """Whether the answer says that tests pass, and no test was run."""
        sentences = re.split(r"(?<=[.!?])\s|\n", self.answer)
        claimed = any(CLAIM.search(each) and not DOUBT.search(each) for each in sentences)
        return claimed and not any(
            TEST_COMMAND.search(each.command) and each.status == "success" for each in self.calls
        )


def facts_of(log: Path) -> LogFacts:
    """Read a log. Calls and costs of subtasks count too; the answer is that of the first task."""
    used: list[ToolUseBlock] = []
    ends: dict[str, str] = {}
    costs: dict[int, dict[str, Any]] = {}
    first_task, answer, condensations = "", "", 0
    for payload in map(payload_of, load(log).records):
        match payload:
            case TurnRecord(turn=AssistantTurn() as turn):
                first_task = first_task or payload.task_id
                used += [block for block in turn.content if isinstance(block, ToolUseBlock)]
                answer = turn.text if payload.task_id == first_task and turn.text else answer
            case ToolEndRecord():
                ends[payload.call_id] = payload.status
            case MessageRecord() if is_request_row(payload.message):
                costs[payload.message.ts] = json.loads(payload.message.text or "{}")
            case CondenseRecord():
                condensations += 1
            case _:
                pass
    calls = (Call(tool=each.name, input=each.input, status=ends.get(each.id, "unfinished")) for each in used)
    return LogFacts(
        calls=tuple(calls),
        answer=answer,
        requests=len(costs),
        tokens_in=sum(each.get("tokensIn", 0) for each in costs.values()),
        tokens_out=sum(each.get("tokensOut", 0) for each in costs.values()),
        cached=sum(each.get("cacheReads", 0) for each in costs.values()),
        condensations=condensations,
    )
