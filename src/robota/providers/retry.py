"""When to retry after a fault, and how long to wait first. Pure: the caller waits and supplies random numbers."""

from typing import Any, Final

import msgspec

from robota.config.errors import ConfigError
from robota.providers.fault import ProviderFault

JITTER: Final = 0.4


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How often and how long to wait. `total_s` limits the total waiting time of one request."""

    max_retries: int = 8
    base_s: float = 0.5
    factor: float = 2.0
    cap_s: float = 30.0
    max_retry_after_s: float = 120.0
    total_s: float = 300.0


class RetryOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`options.retry` of a profile, as written in the settings."""

    max_retries: int = 8
    base_ms: float = 500.0
    cap_ms: float = 30_000.0
    total_ms: float = 300_000.0


def delay(policy: RetryPolicy, attempt: int, fault: ProviderFault, waited_s: float, random: float) -> float | None:
    """Seconds to wait before the next try, or None to give up.

    `attempt` counts the retries already made, `waited_s` the seconds already waited; `random` is in 0..1.
    If a server asks for a longer wait than is left, give up at once: waiting in vain looks like hanging.
    """
    remaining = policy.total_s - waited_s
    if not fault.retryable or attempt >= most_retries(policy, fault) or remaining <= 0:
        return None
    requested_s = fault.retry_after_s or 0.0
    if requested_s > min(remaining, policy.max_retry_after_s):
        return None
    backoff = min(policy.cap_s, policy.base_s * policy.factor ** min(attempt, 64))
    jitter = 1 + JITTER * (random - 0.5)
    return min(max(backoff * jitter, requested_s), remaining)


def most_retries(policy: RetryPolicy, fault: ProviderFault) -> int:
    """The maximum number of retries after this fault."""
    return policy.max_retries if fault.most_retries is None else min(policy.max_retries, fault.most_retries)


def policy_from_options(options: Any) -> RetryPolicy:
    """The policy of `options.retry`; None gives the default."""
    if options is None:
        return RetryPolicy()
    try:
        given = msgspec.convert(options, RetryOptions)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"options.retry of the provider profile is wrong: {error}. "
            "It takes maxRetries, baseMs, capMs and totalMs, all numbers. Nothing was sent."
        ) from error
    if min(given.max_retries, given.base_ms, given.cap_ms, given.total_ms) < 0:
        raise ConfigError("options.retry of the provider profile holds a negative number. Nothing was sent.")
    return RetryPolicy(
        max_retries=given.max_retries,
        base_s=given.base_ms / 1000,
        cap_s=given.cap_ms / 1000,
        total_s=given.total_ms / 1000,
    )
