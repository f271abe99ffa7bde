"""Format a transcript as Markdown: text unchanged, calls with their output in folded blocks."""

import time
from collections.abc import Iterable, Iterator
from typing import Final, assert_never

import msgspec

from robota.clients.render.transcript_lines import call_title
from robota.protocol.transcript import Called, Noted, Prompted, Reasoned, Replied, Transcript, TranscriptHead
from robota.text.visible import single_line, visible

MIN_FENCE_LENGTH: Final = 3


def markdown_of(head: TranscriptHead, entries: Iterable[Transcript]) -> Iterator[str]:
    """The document in pieces."""
    yield f"# {_inline(single_line(head.title, 200))}\n\n"
    for name, value in head_rows(head):
        yield f"- {name}: {_inline(value)}\n"
    for entry in entries:
        yield "\n" + "".join(_entry(entry))


def head_rows(head: TranscriptHead) -> Iterator[tuple[str, str]]:
    """The known properties of the session as names and values."""
    yield "Session", single_line(head.id, 200)
    if head.cwd:
        yield "Directory", single_line(head.cwd, 400)
    if head.model:
        yield "Model", single_line(head.model, 200)
    yield "Started", time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(head.started_ms / 1000))
    yield "Turns", str(head.turns)
    if head.cost_usd:
        yield "Cost", f"${head.cost_usd:.4f}"
    if head.origin:
        yield "Origin", single_line(head.origin, 200)


def _entry(entry: Transcript) -> Iterator[str]:
    match entry:
        case Prompted():
            images = f"\n\n({entry.images} images)" if entry.images else ""
            yield f"## You\n\n{_prose(entry.text)}{images}\n"
        case Replied():
            yield f"## Robota\n\n{_prose(entry.text)}\n" + ("\n*(interrupted)*\n" if entry.interrupted else "")
        case Reasoned():
            yield _folded("Thinking", _fenced(entry.text))
        case Noted():
            yield f"> {_inline(single_line(entry.text, 2000))}\n"
        case Called():
            yield from _call(entry)
        case never:
            assert_never(never)


def _call(entry: Called) -> Iterator[str]:
    status = "" if entry.status == "success" else f" — {single_line(entry.status)}"
    content = _fenced(msgspec.json.format(msgspec.json.encode(entry.input), indent=2).decode(), "json")
    if entry.diff:
        content += "\n" + _fenced(entry.diff, "diff")
    if entry.output:
        content += "\n" + _fenced(entry.output)
    yield _folded(call_title(entry) + status, content)


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{_escaped(title)}</summary>\n\n{content}\n</details>\n"


def _fenced(text: str, language: str = "") -> str:
    """A code block with a fence that is longer than any in the text."""
    shown = visible(text)
    run = longest = 0
    for character in shown:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    fence = "`" * max(MIN_FENCE_LENGTH, longest + 1)
    return f"{fence}{language}\n{shown.rstrip(chr(10))}\n{fence}\n"


def _prose(text: str) -> str:
    """Text that may itself be Markdown, with HTML tags escaped."""
    return visible(text).replace("<", "&lt;")


def _inline(text: str) -> str:
    return "".join(f"\\{each}" if each in "\\`*_[]<>#|" else each for each in text)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
