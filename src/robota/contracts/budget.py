"""Amounts and limits of budgets: money, tokens, requests and time, in integers."""

from collections.abc import Iterator
from typing import Final

import msgspec

DOLLAR: Final = 1_000_000  # micro-dollars


class Amount(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    """What is spent or held. Money is in micro-dollars; milliseconds are those spent in requests to models."""

    money: int = 0
    tokens: int = 0
    requests: int = 0
    milliseconds: int = 0

    @property
    def dollars(self) -> float:
        return self.money / DOLLAR

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(
            money=self.money + other.money,
            tokens=self.tokens + other.tokens,
            requests=self.requests + other.requests,
            milliseconds=self.milliseconds + other.milliseconds,
        )

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(
            money=self.money - other.money,
            tokens=self.tokens - other.tokens,
            requests=self.requests - other.requests,
            milliseconds=self.milliseconds - other.milliseconds,
        )

    def most_of(self, other: "Amount") -> "Amount":
        """The larger of each."""
        return Amount(
            money=max(self.money, other.money),
            tokens=max(self.tokens, other.tokens),
            requests=max(self.requests, other.requests),
            milliseconds=max(self.milliseconds, other.milliseconds),
        )


class Limit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    """How much may be used. None is without limit, and 0 is nothing."""

    money: int | None = None
    tokens: int | None = None
    requests: int | None = None
    milliseconds: int | None = None

    @property
    def is_unlimited(self) -> bool:
        return self == UNLIMITED

    @property
    def is_nothing(self) -> bool:
        """Whether it leaves nothing of something, so that as much again would be nothing, too."""
        return any(value == 0 for _, value in self.of_measures())

    def left_after(self, used: Amount) -> "Limit":
        """What is left of it, never less than nothing."""
        return Limit(
            money=_left(self.money, used.money),
            tokens=_left(self.tokens, used.tokens),
            requests=_left(self.requests, used.requests),
            milliseconds=_left(self.milliseconds, used.milliseconds),
        )

    def narrowed(self, other: "Limit") -> "Limit":
        """The smaller of both."""
        return Limit(
            money=_least(self.money, other.money),
            tokens=_least(self.tokens, other.tokens),
            requests=_least(self.requests, other.requests),
            milliseconds=_least(self.milliseconds, other.milliseconds),
        )

    def widened(self, by: Amount) -> "Limit":
        """The limit with this much more; what is without limit stays so."""
        return self.left_after(Amount() - by)

    def of_measures(self) -> Iterator[tuple[str, int]]:
        """What it limits, and to how much."""
        for name in self.__struct_fields__:
            value: int | None = getattr(self, name)
            if value is not None:
                yield name, value


UNLIMITED: Final = Limit()


def _left(limit: int | None, used: int) -> int | None:
    return None if limit is None else max(0, limit - used)


def _least(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


def micro_dollars(dollars: float) -> int:
    """An amount of money, rounded up, so that many small ones do not add up to nothing."""
    return -int(-round(dollars * DOLLAR, 3) // 1)


def money_in_words(micro: int) -> str:
    """An amount of money: $1.50, $0.0042."""
    dollars = micro / DOLLAR
    return f"${dollars:,.2f}" if micro == 0 or dollars >= 1 else f"${dollars:.4f}"


def in_words(measure: str, value: int) -> str:
    """An amount of one measure."""
    match measure:
        case "money":
            return money_in_words(value)
        case "milliseconds":
            return f"{value / 60_000:,.1f} minutes"
        case _:
            return f"{value:,} {measure}"
