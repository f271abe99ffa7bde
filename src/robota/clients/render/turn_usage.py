"""The usage of a turn in words: tokens, counted by the provider or estimated, and the cost, if it is known."""

from typing import Final

from robota.protocol.events import ContextUpdate, TokenUsage

STOPPED: Final = "counted until it was stopped"


class TurnUsage:
    """The usage row of each turn, from the sums of the task; `shown` are those up to the last row."""

    def __init__(self) -> None:
        self.shown = TokenUsage()

    def of_turn(self, used: TokenUsage, context: ContextUpdate | None) -> str:
        """The row of a finished turn; empty if nothing was used."""
        before, self.shown = self.shown, used
        return usage_words(before, used, context) if used != before else ""

    def of_stopped_turn(self, used: TokenUsage, context: ContextUpdate | None) -> str:
        """The row of a turn that was stopped, so that the next one does not seem to have used it; empty if the
        provider counted nothing.
        """
        before, self.shown = self.shown, used
        is_counted = (used.total_tokens_in, used.total_tokens_out) != (before.total_tokens_in, before.total_tokens_out)
        return usage_words(before, used, context, STOPPED) if is_counted else ""


def usage_words(before: TokenUsage, after: TokenUsage, context: ContextUpdate | None, certainty: str = "") -> str:
    """The usage between two totals. If the provider does not count tokens, the estimated size of the context."""
    if after.total_tokens_in < before.total_tokens_in or after.total_tokens_out < before.total_tokens_out:
        before = TokenUsage()  # another task, which counts from nothing
    tokens_in = after.total_tokens_in - before.total_tokens_in
    tokens_out = after.total_tokens_out - before.total_tokens_out
    price = _price(before, after)
    if tokens_in <= 0 and tokens_out <= 0:
        filled = context.used_tokens if context is not None else after.context_tokens
        return f"about {filled:,} tokens in the context (estimated){price}"
    is_estimated = after.estimated_requests > before.estimated_requests
    notes = ", ".join(note for note in ("estimated" if is_estimated else "", certainty) if note)
    about = "about " if is_estimated else ""
    counts = f"{about}{tokens_in:,} tokens in, {tokens_out:,} out" + (f" ({notes})" if notes else "")
    total = after.total_tokens_in + after.total_tokens_out
    so_far = f"; {total:,} so far" if before.total_tokens_in + before.total_tokens_out > 0 else ""
    return f"{counts}{price}{so_far}"


def _price(before: TokenUsage, after: TokenUsage) -> str:
    if after.total_cost is None or before.total_cost is None or not (after.total_tokens_in or after.total_tokens_out):
        return ""
    cost = after.total_cost - before.total_cost
    return f", ${cost:.4f}" if cost else ""
