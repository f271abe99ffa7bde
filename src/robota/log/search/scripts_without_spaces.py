"""Makes text searchable in scripts without spaces between words, such as Chinese, Japanese and Thai.

The index splits words at spaces and punctuation. With separators around each of these characters, every character
becomes a word, and a search term becomes a phrase.
"""

import re
from typing import Final

SEPARATOR: Final = "\x1f"
# Thai to Tibetan, Burmese, Khmer, kana, Chinese characters, Hangul (whose words have endings), and wide and rare ones.
CHARACTERS: Final = (
    r"[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f"
    r"\U00020000-\U0003ffff]"
)
ANY: Final = re.compile(CHARACTERS)
BETWEEN: Final = re.compile(rf"(?<={CHARACTERS})(?=\w)|(?<=\w)(?={CHARACTERS})")


def with_separators(text: str) -> str:
    """The form of a text for indexing and searching."""
    if text.isascii() or ANY.search(text) is None:
        return text
    return BETWEEN.sub(SEPARATOR, text)


def without_separators(text: str) -> str:
    """The form of a text for display."""
    return text.replace(SEPARATOR, "")
