"""Replays and compares the environment details and quoted instruction files that go with requests."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final

from robota.contracts.knowledge import INSTRUCTION_TAG, QUOTED_TAG
from robota.log.kinds.conversation import TurnRecord
from robota.log.record import Record, payload_of
from robota.proof.replay.comparison import SURROUNDINGS, Divergence, difference
from robota.proof.replay.recording import Leg
from robota.protocol.conversation import AssistantTurn, TextBlock, UserTurn

COST: Final = "Current Cost"
FILES: Final = "Workspace Files"
TIME: Final = "Current Time"
# Branch, status, processes and files changed by others depend on the machine: they are repeated, not compared.
COMPARED: Final = (COST, FILES)
MORE_FILES: Final = "("
_HEADING: Final = re.compile(r"^# (.+)$", re.MULTILINE)
_ELEMENT: Final = re.compile(rf'<({INSTRUCTION_TAG}|{QUOTED_TAG}) from="([^"]*)">\n(.*?)\n</\1>', re.DOTALL)

Sections = dict[str, str]


class RecordedEnvironment:
    """Gives requests of a leg their recorded environment details, and collects today's for the comparison.

    With the recorded ones the conversation is as long as it was, so the same turns are dropped to make room.
    """

    def __init__(self, leg: Leg, reply_count: Callable[[], int]) -> None:
        """`reply_count` returns the number of replies of the leg so far."""
        self._recorded = dict(leg.environment)
        self._reply_count = reply_count
        self.today: dict[int, str] = {}

    def __call__(self, news: str) -> str:
        self.today.setdefault(self._reply_count(), news)
        return self._recorded.pop(self._reply_count(), "")


def first_environment_divergence(leg: Leg, today: Mapping[int, str], *, has_files: bool) -> Divergence | None:
    """Compare environment details request by request. `has_files`: the replay has the files of the recording.

    Only sections that both have are compared; the recorded time is compared with the timestamps of the log.
    """
    wrong_times = dict(_wrong_times(leg.records, leg.replies_before))
    for replies, details in leg.environment.items():
        number = leg.turns_before(replies)
        where = f"what request {number + 1} is told of its surroundings"
        if number in wrong_times:
            time, clock = wrong_times[number]
            return difference("prompt", f"{where} (# {TIME})", time, clock, number)
        then, now = _sections(details), _sections(today.get(replies, ""))
        for title in COMPARED if has_files else (COST,):
            if title not in then or title not in now:
                continue
            one, other = _comparable(title, then[title], now[title])
            if one != other:
                return difference("prompt", f"{where} (# {title})", one, other, number)
    return None


def first_instruction_divergence(
    recorded: Iterable[str], today: Iterable[str], as_recorded: Callable[[str], str], request: int
) -> Divergence | None:
    """Compare the content of instruction files that are quoted both in the recording and today, each file once."""
    by_path = {as_recorded(path): as_recorded(text) for path, text in _quoted(today).items()}
    for path, text in _quoted(recorded).items():
        if path in by_path and by_path[path] != text:
            return difference("prompt", f"what {path} says", text, by_path[path], request)
    return None


def user_texts(records: Iterable[Record]) -> Iterator[str]:
    """All text blocks of user turns."""
    for record in records:
        payload = payload_of(record)
        if isinstance(payload, TurnRecord) and isinstance(payload.turn, UserTurn):
            yield from (block.text for block in payload.turn.content if isinstance(block, TextBlock))


def _quoted(texts: Iterable[str]) -> dict[str, str]:
    quoted: dict[str, str] = {}
    for text in texts:
        for _, path, content in _ELEMENT.findall(text):
            quoted.setdefault(path, content)
    return quoted


def _comparable(title: str, then: str, now: str) -> tuple[str, str]:
    if title == FILES:
        # The first checkpoint lacks ignored files and changes made before it, so one list may be longer. Only a
        # renamed file, which makes both lists differ, is a divergence.
        names_then, names_now = _names(then), _names(now)
        if MORE_FILES not in {line[:1] for line in names_then} and names_then - names_now and names_now - names_then:
            return "\n".join(sorted(names_then - names_now)), "\n".join(sorted(names_now - names_then))
        return "", ""
    return then, now


def _names(listing: str) -> set[str]:
    """The files of a listing, without directories, because checkpoints have no empty ones."""
    return {line for line in listing.split("\n") if not line.endswith("/")}


def _sections(details: str) -> Sections:
    sections: Sections = {}
    for block in SURROUNDINGS.findall(f"\n{details}"):
        inner = block.strip().removeprefix("<environment_details>").removesuffix("</environment_details>")
        parts = _HEADING.split(inner)[1:]
        sections.update((title, text.strip("\n")) for title, text in zip(parts[::2], parts[1::2], strict=True))
    return sections


def _wrong_times(records: Iterable[Record], request: int) -> Iterator[tuple[int, tuple[str, str]]]:
    """Times in environment details that do not lie between the timestamps of the log around them."""
    before = 0
    for record in records:
        payload = payload_of(record)
        if isinstance(payload, TurnRecord) and isinstance(payload.turn, AssistantTurn):
            request += 1
        elif isinstance(payload, TurnRecord) and isinstance(payload.turn, UserTurn):
            text = "\n".join(block.text for block in payload.turn.content if isinstance(block, TextBlock))
            time = _sections(text).get(TIME, "")
            at = _seconds(time)
            if not time:
                pass
            elif at is None or not before // 1000 <= at <= record.ts // 1000:
                clock = datetime.fromtimestamp(record.ts / 1000).astimezone()
                yield request, (time, f"{clock.isoformat(timespec='seconds')} ({clock.tzname()})")
        before = record.ts


def _seconds(time: str) -> int | None:
    try:
        return int(datetime.fromisoformat(time.split(" ", 1)[0]).timestamp())
    except ValueError:
        return None
