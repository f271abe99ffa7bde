"""Lessons in `.orchestration/AGENT.md`: past failures, which later sessions get as quoted data."""

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.config.transaction import transaction
from robota.intents.intent_files import DIRECTORY, LESSONS
from robota.text.visible import single_line

BEGIN: Final = "<!-- lessons: kept by robota -->"
END: Final = "<!-- end of lessons -->"
MAX_LESSONS: Final = 200
MAX_LESSON_LENGTH: Final = 500
MAX_FILE_BYTES: Final = 1_000_000
BEGINNING: Final = "# Lessons for agents\n"
LINE: Final = re.compile(r"- \[(?P<intent>[A-Z0-9-]+) (?P<kind>[A-Z_]+) x(?P<times>\d{1,9})\] (?P<text>.*)")


class Lesson(msgspec.Struct, frozen=True, kw_only=True):
    """One lesson. `kind` is a word such as TEST or SCOPE_VIOLATION."""

    intent_id: str
    kind: str
    text: str
    times: int = 1

    @property
    def line(self) -> str:
        return f"- [{self.intent_id} {self.kind} x{self.times}] {self.text}"


def note_lesson(root: Path, lesson: Lesson) -> None:
    """Add a lesson, or count it again. Text of users in the file is preserved. Raises `OSError`."""
    name = Path(LESSONS).name
    with transaction(root / DIRECTORY) as files:
        data = files.read(name, follow=False, most=MAX_FILE_BYTES)
        text = BEGINNING if data is None else data.decode("utf-8", "replace")
        files.write(name, with_lesson(text, lesson).encode(), mode=0o644)


def note_violation(root: Path, intent_id: str, text: str) -> None:
    """Add the lesson of a change out of scope. What cannot be stored is left out."""
    with suppress(OSError):
        note_lesson(root, Lesson(intent_id=intent_id, kind="SCOPE_VIOLATION", text=text))


def with_lesson(text: str, lesson: Lesson) -> str:
    """The file with the lesson added at the end. If there are too many, the oldest are dropped."""
    lesson = msgspec.structs.replace(lesson, text=single_line(lesson.text, MAX_LESSON_LENGTH))
    lessons = {(each.intent_id, each.kind, each.text): each for each in lessons_in(text)}
    previous = lessons.pop((lesson.intent_id, lesson.kind, lesson.text), None)
    if previous is not None:
        lesson = msgspec.structs.replace(lesson, times=previous.times + 1)
    newest = [*lessons.values(), lesson][-MAX_LESSONS:]
    section = "\n".join((BEGIN, *(each.line for each in newest), END))
    head, begin, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    if not begin:
        return f"{text.rstrip()}\n\n{section}\n"
    return f"{head}{section}{tail}"


def lessons_in(text: str) -> Sequence[Lesson]:
    """The lessons in a file that Robota wrote."""
    section = text.partition(BEGIN)[2].partition(END)[0]
    matches = (LINE.fullmatch(line) for line in section.splitlines())
    return [
        Lesson(intent_id=match["intent"], kind=match["kind"], text=match["text"], times=int(match["times"]))
        for match in matches
        if match is not None
    ]
