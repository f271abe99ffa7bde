"""Format a transcript as a self-contained HTML page: no scripts, no network, light and dark, outputs folded."""

from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Final, assert_never

import msgspec

from robota.clients.render.transcript_lines import call_title
from robota.clients.render.transcript_markdown import head_rows
from robota.protocol.transcript import Called, Noted, Prompted, Reasoned, Replied, Transcript, TranscriptHead
from robota.text.visible import single_line, visible

# Even if the escaping failed, the page may load and run nothing.
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
DIFF_CLASSES: Final = {"+": "add", "-": "del", "@": "hunk"}
STYLE: Final = Path(__file__).with_name("transcript_page.css")


def html_of(head: TranscriptHead, entries: Iterable[Transcript]) -> Iterator[str]:
    """The page in pieces."""
    title = _escaped(single_line(head.title, 200))
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>\n{STYLE.read_text(encoding='utf-8')}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{title}</h1>\n<dl>\n"
    )
    for name, value in head_rows(head):
        yield f"<dt>{_escaped(name)}</dt><dd>{_escaped(value)}</dd>\n"
    yield "</dl>\n"
    for entry in entries:
        yield _entry(entry)
    yield "</main>\n</body>\n</html>\n"


def _entry(entry: Transcript) -> str:
    match entry:
        case Prompted():
            images = f'<p class="note">{entry.images} images</p>' if entry.images else ""
            return _section(entry, "you", "You", _paragraph(entry.text) + images)
        case Replied():
            cut_off = '<p class="note">interrupted</p>' if entry.interrupted else ""
            return _section(entry, "robota", "Robota", _paragraph(entry.text) + cut_off)
        case Reasoned():
            return _section(entry, "thought", "", _folded("Thinking", _paragraph(entry.text)))
        case Noted():
            return _section(entry, "note", "", _paragraph(entry.text))
        case Called():
            return _section(entry, "call", "", _call(entry))
        case never:
            assert_never(never)


def _section(entry: Transcript, kind: str, heading: str, content: str) -> str:
    shown = f"<h2>{heading}</h2>\n" if heading else ""
    depth = f" d{min(entry.depth, 3)}" if entry.depth else ""
    return f'<section class="{kind}{depth}">\n{shown}{content}</section>\n'


def _call(entry: Called) -> str:
    is_good = entry.status == "success"
    status = "" if is_good else f' <span class="bad">{_escaped(entry.status)}</span>'
    title = f"<code>{_escaped(call_title(entry))}</code>{status}"
    arguments = msgspec.json.format(msgspec.json.encode(entry.input), indent=2).decode()
    content = f"<pre>{_escaped(arguments)}</pre>\n" + (f"<pre>{_escaped(entry.output)}</pre>\n" if entry.output else "")
    diff = f"{_diff(entry.diff)}\n" if entry.diff else ""
    return f"<details><summary>{title}</summary>\n{content}</details>\n{diff}"


def _diff(diff: str) -> str:
    lines = (f'<span class="{DIFF_CLASSES.get(line[:1], "same")}">{_escaped(line)}</span>' for line in diff.split("\n"))
    return f'<pre class="diff">{"".join(lines)}</pre>'


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{_escaped(title)}</summary>\n{content}</details>\n"


def _paragraph(text: str) -> str:
    return f'<div class="words">{_escaped(text)}</div>\n'


def _escaped(text: str) -> str:
    return escape(visible(text), quote=True)
