"""Edits whose old text differs from the file in characters that only look alike."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from robota.tools.editing.find_text import FoundText, find_text
from robota.tools.editing.look_alikes import plain

LOOKS = {"-": "-–—", "'": "'’", '"': '"“', " ": " \u00a0"}
SIGNS = re.compile(r"[^\w\s]+")
typed = st.text("ab1-'\" ", min_size=1, max_size=12)


@st.composite
def near_misses(draw: st.DrawFn) -> tuple[str, str]:
    """A text as typed, and the same as it may stand in a file."""
    old = draw(typed)
    return old, "".join(draw(st.sampled_from(LOOKS.get(character, character))) for character in old)


@given(near_misses(), typed)
@example(("break-here", "break—here"), "break--here")
def test_the_new_text_has_only_signs_of_the_file_or_of_the_call(near: tuple[str, str], new: str) -> None:
    old, there = near
    text = f"first\n{there}\nlast"
    found = find_text(text, f"\n{old}\n", f"\n{new}\n", everywhere=False)
    if not isinstance(found, FoundText) or "look alike" not in (found.loosely or ""):
        return
    for span in sorted(found.spans, key=lambda span: span.start, reverse=True):
        text = text[: span.start] + span.new + text[span.end :]
    assert text.startswith("first\n") and text.endswith("\nlast")
    written = text[len("first\n") : -len("\nlast")]
    assert plain(written) == plain(new)
    assert set(SIGNS.findall(written)) <= {*SIGNS.findall(there), *SIGNS.findall(new)}
