"""How much one request to a model may use at most, and how much of that a limit allows."""

from math import ceil
from typing import Final

import msgspec

from robota.contracts.budget import Amount, Limit
from robota.providers.pricing import Price

# With less output a model can neither think nor call a tool.
LEAST_OUTPUT: Final = 2_048
LONGEST_MS: Final = 600_000
LEAST_MS: Final = 1_000


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """What a request needs: its input, and an output that can be bounded. Prices are micro-dollars a token."""

    input_tokens: int
    least_output: int
    most_output: int
    input_price: float = 0.0
    output_price: float = 0.0

    @property
    def least(self) -> Amount:
        """With less it cannot be sent."""
        return self.amount(self.least_output, LEAST_MS)

    def amount(self, output: int, milliseconds: int = LONGEST_MS) -> Amount:
        """The most that it uses with this bound of its output."""
        money = ceil(self.input_tokens * self.input_price + output * self.output_price)
        return Amount(money=money, tokens=self.input_tokens + output, requests=1, milliseconds=milliseconds)

    def output_of(self, held: Amount) -> int:
        """The output that a hold allows."""
        return held.tokens - self.input_tokens

    def fitting(self, free: Limit) -> Amount | None:
        """As much of it as a limit allows; None if that is too little. Nothing free is too little for anything."""
        if any(left <= 0 for _, left in free.of_measures()):
            return None
        output = self.most_output
        if free.tokens is not None:
            output = min(output, free.tokens - self.input_tokens)
        if free.money is not None and self.output_price > 0:
            output = min(output, int((free.money - self.input_tokens * self.input_price) // self.output_price))
        milliseconds = LONGEST_MS if free.milliseconds is None else min(LONGEST_MS, free.milliseconds)
        held = self.amount(output, milliseconds)
        is_too_little = output < min(self.least_output, self.most_output) or milliseconds < LEAST_MS
        return None if is_too_little or (free.money is not None and held.money > free.money) else held


def demand_of(input_tokens: int, output: int, price: Price | None) -> Demand:
    """The demand of a request with this bound of its output. Without a price, money is not counted."""
    least = min(LEAST_OUTPUT, output)
    if price is None:
        return Demand(input_tokens=input_tokens, least_output=least, most_output=output)
    dearest = max(price.input, price.cache_read or 0.0, price.cache_write or 0.0)
    return Demand(
        input_tokens=input_tokens,
        least_output=least,
        most_output=output,
        input_price=dearest,
        output_price=price.output,
    )
