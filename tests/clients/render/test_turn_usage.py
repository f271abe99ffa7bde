"""The row under an answer: what this turn took, counted or estimated, with its price or without one."""

import pytest

from robota.clients.render.turn_usage import usage_words
from robota.protocol.events import ContextUpdate, TokenUsage

FIRST = TokenUsage(total_tokens_in=1_000, total_tokens_out=50, total_cost=0.25)
SECOND = TokenUsage(total_tokens_in=3_000, total_tokens_out=60, total_cost=0.75)
UNPRICED = TokenUsage(total_tokens_in=3_000, total_tokens_out=60, total_cost=None)
UNCOUNTED = TokenUsage(context_tokens=400)
CONTEXT = ContextUpdate(task_id="t", used_tokens=420, max_tokens=1000, used_percentage=42)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (TokenUsage(), FIRST, "1,000 tokens in, 50 out, $0.2500"),
        (FIRST, SECOND, "2,000 tokens in, 10 out, $0.5000; 3,060 so far"),
        (FIRST, UNPRICED, "2,000 tokens in, 10 out; 3,060 so far"),
        (SECOND, FIRST, "1,000 tokens in, 50 out, $0.2500"),
        (TokenUsage(), UNCOUNTED, "about 420 tokens in the context (estimated)"),
    ],
)
def test_usage_in_words(before: TokenUsage, after: TokenUsage, words: str) -> None:
    assert usage_words(before, after, CONTEXT) == words


def test_counts_of_a_turn_that_was_stopped_are_not_called_exact() -> None:
    words = usage_words(FIRST, SECOND, CONTEXT, "counted until it was stopped")
    assert words == "2,000 tokens in, 10 out (counted until it was stopped), $0.5000; 3,060 so far"
