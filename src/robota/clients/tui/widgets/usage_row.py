"""The usage of a turn in words: tokens, counted by the provider or estimated, and the cost, or that it is unknown."""

from robota.protocol.events import ContextUpdate, TokenUsage


def usage_words(before: TokenUsage, after: TokenUsage, context: ContextUpdate | None, certainty: str = "exact") -> str:
    """The usage between two totals. If the provider does not count tokens, the estimated size of the context."""
    if after.total_tokens_in < before.total_tokens_in or after.total_tokens_out < before.total_tokens_out:
        before = TokenUsage()  # another task, which counts from nothing
    tokens_in = after.total_tokens_in - before.total_tokens_in
    tokens_out = after.total_tokens_out - before.total_tokens_out
    price = _price(before, after)
    if tokens_in <= 0 and tokens_out <= 0:
        filled = context.used_tokens if context is not None else after.context_tokens
        return f"about {filled:,} tokens in the context (estimated), {price}"
    counts = f"{tokens_in:,} tokens in, {tokens_out:,} out, {tokens_in + tokens_out:,} total ({certainty})"
    total = after.total_tokens_in + after.total_tokens_out
    so_far = f"; {total:,} so far" if before.total_tokens_in + before.total_tokens_out > 0 else ""
    return f"{counts}, {price}{so_far}"


def _price(before: TokenUsage, after: TokenUsage) -> str:
    if after.total_cost is None or before.total_cost is None or not (after.total_tokens_in or after.total_tokens_out):
        return "cost unknown"
    return f"${after.total_cost - before.total_cost:.4f}"
