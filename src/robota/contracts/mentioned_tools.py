"""Descriptions of tools that name other tools: a session that lacks those is not told of them."""

import re
from collections.abc import Set
from typing import Final

# Names of one word are words of any text, unless they are marked.
NAMED_TOOL: Final = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b|(?<=`)[a-z]+(?=`)")


def without_lines_about(lacking: Set[str], description: str) -> str:
    """The description without the lines that name one of these tools."""
    lines = description.split("\n")
    return "\n".join(line for line in lines if lacking.isdisjoint(NAMED_TOOL.findall(line)))
