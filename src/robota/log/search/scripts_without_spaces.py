"""Text of scripts that put no spaces between words, such as Chinese, Japanese and Thai, made searchable.

The index takes what stands between spaces and punctuation for one word. A separator behind each of these characters
makes each of them a word of its own, and what is looked for a row of them.
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
    """The text as it is indexed and looked for."""
    if text.isascii() or ANY.search(text) is None:
        return text
    return BETWEEN.sub(SEPARATOR, text)


def without_separators(text: str) -> str:
    """The text as it is shown."""
    return text.replace(SEPARATOR, "")
