"""What a model writes is shown whole: nothing that Markdown means for a browser may vanish in a terminal."""

import pytest

from robota.clients.tui.markdown.answer import StreamedAnswer
from robota.clients.tui.theme import theme_for


def shown(text: str, width: int = 60) -> str:
    answer = StreamedAnswer(theme_for({"NO_COLOR": "1"}))
    rows = [row for place in range(0, len(text), 7) for row in answer.feed(text[place : place + 7], width)]
    return "\n".join([*rows, *answer.finish(width)])


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("Returns a List<String> of <T>.", "Returns a List<String> of <T>."),
        ("<div align=center>\nwords\n</div>\n\nafter", "<div align=center> words </div>\n\nafter"),
        ("<!-- TODO -->\n\nafter", "<!-- TODO -->\n\nafter"),
        ("See [the page][1].\n\n[1]: http://x.example\n", "See [the page][1].\n\n[1]: http://x.example"),
        ("before ![a plan](plan.png) after", "before a plan (plan.png) after"),
        ("![](plan.png)", "plan.png"),
        ("1 &lt; 2 and \\<b\\>", "1 < 2 and <b>"),
    ],
)
def test_nothing_of_an_answer_is_lost(written: str, seen: str) -> None:
    assert shown(written) == seen
