"""How a command ended, and why Robota stopped it if it did not end by itself."""

from enum import StrEnum
from typing import Final

import msgspec


class StopReason(StrEnum):
    """Why Robota stopped a command."""

    TIME_OUT = "time_out"
    USER_LIMIT = "user_limit"
    WAITED_FOR_INPUT = "waited_for_input"
    TOO_MANY_PROCESSES = "too_many_processes"
    TOO_MUCH_MEMORY = "too_much_memory"
    TOO_MUCH_DISK = "too_much_disk"
    TOO_MANY_FILES = "too_many_files"
    ABORTED = "aborted"  # by the user
    REQUESTED = "requested"  # by the caller that started it


TIME_LIMITS: Final = frozenset({StopReason.TIME_OUT, StopReason.USER_LIMIT})


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """Either `exit_code` or `signal` is set. With `left_behind`, it had left processes running, which were killed."""

    exit_code: int | None = None
    signal: str | None = None
    stopped_for: StopReason | None = None
    left_behind: bool = False
