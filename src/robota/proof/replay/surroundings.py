"""What requests are told besides words and results: their surroundings and what instruction files say."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final

from robota.contracts.knowledge import INSTRUCTION_TAG, QUOTED_TAG
from robota.log.kinds.conversation import TurnRecord
from robota.log.kinds.requests import RequestRecord
from robota.log.record import Record
from robota.proof.replay.comparison import SURROUNDINGS, Divergence, difference, payload_in
from robota.proof.replay.recording import Leg
from robota.protocol.conversation import AssistantTurn, TextBlock, UserTurn

MODE: Final = "Current Mode"
COST: Final = "Current Cost"
FILES: Final = "Workspace Files"
TIME: Final = "Current Time"
# Branch, status, processes and files that somebody else changed are those of the machine: they are taken as they were.
COMPARED: Final = (MODE, COST, FILES)
MORE_FILES: Final = "("
_MODEL: Final = re.compile(r", with the model (.*)\Z", re.DOTALL)
_HEADING: Final = re.compile(r"^# (.+)$", re.MULTILINE)
_ELEMENT: Final = re.compile(rf'<({INSTRUCTION_TAG}|{QUOTED_TAG}) from="([^"]*)">\n(.*?)\n</\1>', re.DOTALL)

Sections = dict[str, str]


class RetoldSurroundings:
    """Tells requests of a leg what they were told of their surroundings then, and keeps what they would be told now.

    So the conversation is as long as it was, and what is left out of it to make room is the same.
    """

    def __init__(self, leg: Leg, given: Callable[[], int]) -> None:
        """`given` says how many replies of the leg there were."""
        self._then = dict(leg.surroundings)
        self._given = given
        self.today: dict[int, str] = {}

    def __call__(self, news: str) -> str:
        self.today.setdefault(self._given(), news)
        return self._then.pop(self._given(), "")


def first_other_surroundings(leg: Leg, today: Mapping[int, str], model: str, *, has_files: bool) -> Divergence | None:
    """Compare them, request by request. `has_files`: the files of the recording are where it is run again.

    What the session says now is compared where it says something of it; the time is held against the clock of the log.
    """
    named = {payload.model for record in leg.records if isinstance(payload := payload_in(record), RequestRecord)}
    models = {model, *named}
    wrong_times = dict(_wrong_times(leg.records, leg.replies_before))
    for replies, told in leg.surroundings.items():
        number = leg.turns_before(replies)
        where = f"what request {number + 1} is told of its surroundings"
        if number in wrong_times:
            time, clock = wrong_times[number]
            return difference("prompt", f"{where} (# {TIME})", time, clock, number)
        then, now = _sections(told), _sections(today.get(replies, ""))
        for title in COMPARED if has_files else (MODE, COST):
            if title not in then or title not in now:
                continue
            one, other = _comparable(title, then[title], now[title], models)
            if one != other:
                return difference("prompt", f"{where} (# {title})", one, other, number)
    return None


def first_other_instruction(
    recorded: Iterable[str], today: Iterable[str], as_recorded: Callable[[str], str], request: int
) -> Divergence | None:
    """Compare what texts quote of instruction files that both of them quote, each file once."""
    known = {as_recorded(path): as_recorded(text) for path, text in _quoted(today).items()}
    for path, text in _quoted(recorded).items():
        if path in known and known[path] != text:
            return difference("prompt", f"what {path} says", text, known[path], request)
    return None


def texts_told(records: Iterable[Record]) -> Iterator[str]:
    """Everything that user turns say in words."""
    for record in records:
        payload = payload_in(record)
        if isinstance(payload, TurnRecord) and isinstance(payload.turn, UserTurn):
            yield from (block.text for block in payload.turn.content if isinstance(block, TextBlock))


def _quoted(texts: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        for _, path, content in _ELEMENT.findall(text):
            found.setdefault(path, content)
    return found


def _comparable(title: str, then: str, now: str, models: Collection[str]) -> tuple[str, str]:
    if title == MODE:
        # Which model it is can change in a session; it must be one that requests were made to.
        return ("", "") if _mode_of(then, models) == _mode_of(now, models) else (then, now)
    if title == FILES:
        # Files can come or go before the first checkpoint, which has none that git leaves out; a name that became
        # another one shows on both sides.
        known, found = _names(then), _names(now)
        if MORE_FILES not in {line[:1] for line in known} and known - found and found - known:
            return "\n".join(sorted(known - found)), "\n".join(sorted(found - known))
        return "", ""
    return then, now


def _names(listing: str) -> set[str]:
    """The files of a listing; checkpoints have no empty directories."""
    return {line for line in listing.split("\n") if not line.endswith("/")}


def _mode_of(text: str, models: Collection[str]) -> str:
    found = _MODEL.search(text)
    return text[: found.start()] if found is not None and found[1] in models else text


def _sections(told: str) -> Sections:
    found: Sections = {}
    for block in SURROUNDINGS.findall(f"\n{told}"):
        inner = block.strip().removeprefix("<environment_details>").removesuffix("</environment_details>")
        parts = _HEADING.split(inner)[1:]
        found.update((title, text.strip("\n")) for title, text in zip(parts[::2], parts[1::2], strict=True))
    return found


def _wrong_times(records: Iterable[Record], request: int) -> Iterator[tuple[int, tuple[str, str]]]:
    """Times that were told and are not those of the log, which lie between two records."""
    before = 0
    for record in records:
        payload = payload_in(record)
        if isinstance(payload, TurnRecord) and isinstance(payload.turn, AssistantTurn):
            request += 1
        elif isinstance(payload, TurnRecord) and isinstance(payload.turn, UserTurn):
            said = "\n".join(block.text for block in payload.turn.content if isinstance(block, TextBlock))
            told = _sections(said).get(TIME, "")
            at = _seconds(told)
            if not told:
                pass
            elif at is None or not before // 1000 <= at <= record.ts // 1000:
                clock = datetime.fromtimestamp(record.ts / 1000).astimezone()
                yield request, (told, f"{clock.isoformat(timespec='seconds')} ({clock.tzname()})")
        before = record.ts


def _seconds(told: str) -> int | None:
    try:
        return int(datetime.fromisoformat(told.split(" ", 1)[0]).timestamp())
    except ValueError:
        return None
