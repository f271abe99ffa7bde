"""The conversation with a model: turns made of blocks.

The JSON is that of the Messages API, which scripts in this field already read; the wire formats of the
providers translate from it.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec


class Block(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """A piece of a turn."""


class TextBlock(Block, frozen=True, kw_only=True, tag="text"):
    """Text of either side."""

    text: str


class ThinkingBlock(Block, frozen=True, kw_only=True, tag="thinking"):
    """Reasoning; `signature` is the provider's seal, sent back untouched."""

    thinking: str
    signature: str | None = None


class ImageSource(msgspec.Struct, frozen=True, kw_only=True):
    """Image bytes in base64, as the Messages API writes them."""

    media_type: str
    data: str
    type: str = "base64"


class ImageBlock(Block, frozen=True, kw_only=True, tag="image"):
    """An image that the model is shown."""

    source: ImageSource


def image_blocks(data_urls: Iterable[str]) -> Iterator[ImageBlock]:
    """Blocks for `data:image/png;base64,…` URLs; anything else is left out."""
    for url in data_urls:
        head, comma, data = url.partition(",")
        media_type = head.removeprefix("data:").removesuffix(";base64")
        if comma and head.startswith("data:image/") and head.endswith(";base64"):
            yield ImageBlock(source=ImageSource(media_type=media_type, data=data))


class ToolUseBlock(Block, frozen=True, kw_only=True, tag="tool_use"):
    """A call that the model made."""

    id: str
    name: str
    input: dict[str, Any]


class ToolResultBlock(Block, frozen=True, kw_only=True, tag="tool_result"):
    """The result of a call."""

    tool_use_id: str
    content: str
    is_error: bool = False
    images: tuple[ImageSource, ...] = ()


AssistantBlock = TextBlock | ThinkingBlock | ToolUseBlock
UserBlock = TextBlock | ImageBlock | ToolResultBlock


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Token counts of one or more requests; `input_tokens` excludes cache reads and writes."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0

    @property
    def total_in(self) -> int:
        """All input tokens, cached or not."""
        return self.input_tokens + self.cache_creation_input_tokens + self.cache_read_input_tokens

    @property
    def context_tokens(self) -> int:
        """The size of the conversation after this request: input and output."""
        return self.total_in + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_creation_input_tokens=self.cache_creation_input_tokens + other.cache_creation_input_tokens,
            cache_read_input_tokens=self.cache_read_input_tokens + other.cache_read_input_tokens,
        )

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens - other.input_tokens,
            output_tokens=self.output_tokens - other.output_tokens,
            cache_creation_input_tokens=self.cache_creation_input_tokens - other.cache_creation_input_tokens,
            cache_read_input_tokens=self.cache_read_input_tokens - other.cache_read_input_tokens,
        )


class BudgetAccount(msgspec.Struct, frozen=True, kw_only=True):
    """An account that limits a task: integers by measure, which are `money` (micro-dollars), `tokens`, `requests` and
    `milliseconds`. A measure without limit is missing. `estimated` is the part of `spent` that no server has reported.
    """

    name: str
    limit: dict[str, int]
    spent: dict[str, int]
    estimated: dict[str, int]
    held: dict[str, int]
    free: dict[str, int]


class UserTurn(msgspec.Struct, frozen=True, kw_only=True, tag_field="role", tag="user"):
    """A turn of the user side: text, images, results of calls."""

    content: tuple[UserBlock, ...]


class AssistantTurn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="role", tag="assistant"):
    """A reply of the model."""

    content: tuple[AssistantBlock, ...]
    id: str = ""
    model: str = ""
    stop_reason: str | None = None
    usage: Usage = Usage()

    @property
    def text(self) -> str:
        """The text, without thoughts and calls."""
        return joined_texts(block.text for block in self.content if isinstance(block, TextBlock))

    @property
    def tool_uses(self) -> tuple[ToolUseBlock, ...]:
        return tuple(block for block in self.content if isinstance(block, ToolUseBlock))


Turn = UserTurn | AssistantTurn


def joined_texts(texts: Iterable[str]) -> str:
    """The texts of one reply as one, with a blank line where thoughts or calls stood between them."""
    joined = ""
    for text in texts:
        is_joint = bool(joined.strip() and text.strip())
        joined = "\n\n".join((joined.rstrip("\n"), text.lstrip("\n"))) if is_joint else joined + text
    return joined
