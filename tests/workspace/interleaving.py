"""Others who act at a given moment of something that runs: between two of its steps, seen by a profiler."""

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from types import BuiltinFunctionType, FrameType

# The only step that is no function of `os` or `fcntl`.
EXCHANGE = "exchange_names"


@contextmanager
def acting(moments: Mapping[int, Callable[[], None]], among: Collection[str]) -> Iterator[list[str]]:
    """Let others act before the steps with these numbers; gives the names of the steps that were made.

    `among` are the names of functions of the system that count as a step, besides the exchange of two names.
    """
    steps: list[str] = []

    def before_step(frame: FrameType, event: str, argument: object) -> None:
        match event, argument:
            case "call", _ if frame.f_code.co_name == EXCHANGE:
                steps.append(EXCHANGE)
            case "c_call", BuiltinFunctionType(__name__=name) if name in among:
                steps.append(name)
            case _:
                return
        if (act := moments.get(len(steps) - 1)) is not None:
            sys.setprofile(None)
            act()
            sys.setprofile(before_step)

    sys.setprofile(before_step)
    try:
        yield steps
    finally:
        sys.setprofile(None)
