"""Parses the words after `/rewind` into a request."""

import argparse
import shlex
from collections.abc import Sequence
from typing import Final

import msgspec

from robota.protocol.commands import ListRewindPoints, RedoRewind, RewindRequest, RewindTo, ShowRewindDiff, UndoRewind
from robota.protocol.rewind import RewindScope

USAGE: Final = (
    "/rewind [list], diff [N], restore N [--files|--conversation|--only PATH|--dry-run], restore --call CALL, code N, "
    "undo, redo"
)


class BadRewindRequest(ValueError):
    """The words are not a valid request."""


class TypedRewind(msgspec.Struct, frozen=True, kw_only=True):
    """A request to restore. Unless it is `is_confirmed`, it is only previewed; `--dry-run` offers no confirmation."""

    request: RewindRequest
    is_confirmed: bool = False
    is_dry_run: bool = False


def parse_rewind_request(arguments: str) -> ListRewindPoints | ShowRewindDiff | TypedRewind:
    """Parse a request. Raises `BadRewindRequest`."""
    try:
        words = shlex.split(arguments)
    except ValueError as error:
        raise BadRewindRequest from error
    match words:
        case [] | ["list"]:
            return ListRewindPoints()
        case ["diff"]:
            return ShowRewindDiff()
        case ["diff", number]:
            return ShowRewindDiff(number=_number(number))
        case ["restore" | "code" | "undo" | "redo", *rest]:
            return _typed(words[0], rest)
        case _:
            raise BadRewindRequest


def confirmed_line(arguments: str, state: str) -> str:
    """The line that confirms a previewed request, for exactly the previewed state."""
    return f"/rewind {arguments} --yes" + (f" --state {state}" if state else "")


def _typed(action: str, words: Sequence[str]) -> TypedRewind:
    options = _options(words)
    state, is_confirmed, is_dry_run = options.state, options.yes, options.dry_run
    target = (options.number, options.call, options.only, options.files, options.conversation)
    request: RewindRequest
    if action in ("undo", "redo"):
        if any(target):
            raise BadRewindRequest
        request = UndoRewind(state=state) if action == "undo" else RedoRewind(state=state)
    else:
        scope = RewindScope.CONVERSATION if options.conversation else RewindScope.BOTH
        if options.files or action == "code":
            scope = RewindScope.FILES
        request = RewindTo(
            number=options.number, call_id=options.call, scope=scope, only=tuple(options.only), state=state
        )
    return TypedRewind(request=request, is_confirmed=is_confirmed, is_dry_run=is_dry_run)


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    parser.add_argument("number", nargs="?", type=_number)
    parser.add_argument("--call")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--state", default="")
    for flag in ("--files", "--conversation", "--dry-run", "--yes"):
        parser.add_argument(flag, action="store_true")
    try:
        options, unknown = parser.parse_known_args(list(words))
    except argparse.ArgumentError as error:
        raise BadRewindRequest from error
    if unknown:
        raise BadRewindRequest
    return options


def _number(word: str) -> int:
    if not (word.isascii() and word.isdecimal()):
        raise BadRewindRequest
    return int(word)
