"""Counts what a task used."""

from robota.protocol.conversation import Usage
from robota.protocol.events import TokenUsage


class Spent:
    """What a task and its subtasks together used since the person last said that they may."""

    def __init__(self) -> None:
        self.requests = 0
        self.cost = 0.0


class Meter:
    """Tokens, cost and tool calls of one task. `context_tokens` is what the conversation fills of the window.

    A subtask adds to what its parent has `spent`.
    """

    def __init__(self) -> None:
        self.spent = Spent()
        self.usage = Usage()
        self.cost = 0.0
        self.requests = 0
        self.context_tokens = 0
        self.tools: dict[str, dict[str, int]] = {}

    def request(self, usage: Usage, cost: float) -> None:
        self.side_request(usage, cost)
        self.context_tokens = total_in(usage) + usage.output_tokens or self.context_tokens

    def side_request(self, usage: Usage, cost: float) -> None:
        """A request that is no part of the conversation, such as one for a summary of it."""
        self.requests += 1
        self.usage = self.usage + usage
        self.cost += cost
        self.spent.cost += cost

    def tool(self, name: str, *, failed: bool) -> None:
        counts = self.tools.setdefault(name, {"attempts": 0, "failures": 0})
        counts["attempts"] += 1
        counts["failures"] += failed

    @property
    def totals(self) -> TokenUsage:
        return TokenUsage(
            total_tokens_in=total_in(self.usage),
            total_tokens_out=self.usage.output_tokens,
            total_cache_writes=self.usage.cache_creation_input_tokens,
            total_cache_reads=self.usage.cache_read_input_tokens,
            total_cost=self.cost,
            context_tokens=self.context_tokens,
        )


def total_in(usage: Usage) -> int:
    return usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens
