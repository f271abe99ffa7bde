"""What a model writes is shown whole: nothing that Markdown means for a browser may vanish in a terminal."""

import re

import pytest

from robota.clients.tui.markdown.answer import StreamedAnswer
from robota.clients.tui.palettes import theme_for


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


def test_a_long_paragraph_fills_its_rows_though_it_is_drawn_in_parts() -> None:
    words = " ".join(f"word{number}" for number in range(1000))
    *rows, last = shown(words).split("\n")
    assert " ".join([*rows, last]) == words
    assert min(map(len, rows)) > 60 - len(" word1000")


EVERYTHING_FAINT = """\
> quoted

[words](http://x.example)

---

| a |
|---|
| 1 |

```python
x = 1  # why
```

```diff
+++ b
```
"""


@pytest.mark.parametrize(
    ("theme", "is_dim"), [("dark", True), ("light", False), ("high-contrast", False), ("colour-blind", True)]
)
def test_only_themes_for_dark_backgrounds_dim_anything(theme: str, is_dim: bool) -> None:
    answer = StreamedAnswer(theme_for({"ROBOTA_THEME": theme}))
    rows = [*answer.feed(EVERYTHING_FAINT, 60), *answer.finish(60)]
    codes = {code for row in rows for found in re.findall(r"\x1b\[([0-9;]*)m", row) for code in found.split(";")}
    assert ("2" in codes) is is_dim
    assert ("90" in codes) is (theme == "light")
