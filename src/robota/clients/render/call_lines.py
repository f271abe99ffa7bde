"""Format a call as lines of text: its title and its result."""

from collections.abc import Iterator
from typing import Final

from robota.clients.render.view_lines import short_view
from robota.clients.terminal.line import BOLD, DIM, INSET, RED, Line
from robota.protocol.views import View

REASON_SHOWN: Final = 400
WORTH_TELLING_MS: Final = 1000
STEP: Final = "  "


def title_line(title: str, bullet: str) -> Line:
    """The line with the title of a call."""
    return Line(f"{bullet} {title}", BOLD, STEP)


def result_lines(
    status: str, reason: str | None, view: View | None, duration_ms: int, *, of: str = ""
) -> Iterator[Line]:
    """The result of a call; `of` repeats its title if that is not right above."""
    if status != "success":
        which = f" {of}" if of else ""
        why = f": {_shortened(reason)}" if reason else ""
        yield Line(f"{INSET}{status}{which}{why}", RED, INSET)
    yield from short_view(view)
    if duration_ms >= WORTH_TELLING_MS:
        yield Line(f"{INSET}{duration_ms / 1000:.1f} s", DIM)


def _shortened(reason: str) -> str:
    text = " ".join(reason.split())
    return text if len(text) <= REASON_SHOWN else f"{text[:REASON_SHOWN]} …"
