"""How a command ended, and why it was made to."""

import signal
from contextlib import suppress
from enum import StrEnum

import msgspec


class StopReason(StrEnum):
    """Why Robota ended a command that would have gone on."""

    TIME_OUT = "time_out"
    USER_LIMIT = "user_limit"
    WAITED_FOR_INPUT = "waited_for_input"
    TOO_MANY_PROCESSES = "too_many_processes"
    TOO_MUCH_MEMORY = "too_much_memory"
    ABORTED = "aborted"  # by the person
    REQUESTED = "requested"  # by whoever started it


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """Either `exit_code` or `signal` is set. `left_behind` says that it had left processes running, now ended too."""

    exit_code: int | None = None
    signal: str | None = None
    stopped_for: StopReason | None = None
    left_behind: bool = False


def ending_of(return_code: int, stopped_for: StopReason | None, *, left_behind: bool) -> Ending:
    """`return_code` is as `subprocess` has it: negative for a signal."""
    by_signal = return_code < 0
    return Ending(
        exit_code=None if by_signal else return_code,
        signal=_signal_name(-return_code) if by_signal else None,
        stopped_for=stopped_for,
        left_behind=left_behind and stopped_for is None,
    )


def _signal_name(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
