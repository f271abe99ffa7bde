"""How full the context window is: the provider's own count, and an estimate for what came after it."""

from typing import Final

import msgspec

from robota.protocol.conversation import (
    Block,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Turn,
)
from robota.providers.chunks import ToolSpec
from robota.providers.definition import ModelInfo

CHARACTERS_A_TOKEN: Final = 4
# About what an image costs, whatever the length of its data.
IMAGE_CHARACTERS: Final = 6_000
USUAL_OUTPUT_TOKENS: Final = 8_192


def characters_of(turn: Turn) -> int:
    return sum(_characters(block) for block in turn.content)


def overhead_of(system: str, specs: tuple[ToolSpec, ...]) -> int:
    """Characters that go with every request beside the conversation."""
    return len(system) + sum(len(spec.description) + len(msgspec.json.encode(spec.schema)) for spec in specs)


def room_for_input(model: ModelInfo) -> int:
    """Tokens of the window that are left when those for the answer are set aside."""
    reserved = model.max_output_tokens or USUAL_OUTPUT_TOKENS
    # Some models are said to answer with their whole window; then nothing would be left to ask with.
    return model.context_window - min(reserved, model.context_window // 2)


class Gauge:
    """Turns characters into tokens. The more often a provider counts, the less is estimated."""

    def __init__(self, overhead: int) -> None:
        self._overhead = overhead
        self._tokens = 0
        self._characters = -overhead

    def count(self, tokens: int, characters: int) -> None:
        """The provider counted so many tokens for a conversation of so many characters."""
        if tokens > 0:
            self._tokens, self._characters = tokens, characters

    def tokens(self, characters: int) -> int:
        return max(0, self._tokens + (characters - self._characters) // CHARACTERS_A_TOKEN)

    def reduced(self, before: int, after: int) -> int:
        """The conversation has shrunk; its tokens are taken to have shrunk as its characters did."""
        share = (after + self._overhead) / max(1, before + self._overhead)
        self._tokens, self._characters = round(self.tokens(before) * share), after
        return self._tokens

    def characters_for(self, tokens: float, characters: int) -> int:
        """How long the conversation, which has so many characters now, may be to fill so many tokens."""
        share = tokens / max(1, self.tokens(characters))
        return max(0, round((characters + self._overhead) * share) - self._overhead)


def _characters(block: Block) -> int:
    if isinstance(block, TextBlock):
        return len(block.text)
    if isinstance(block, ToolResultBlock):
        return len(block.content) + IMAGE_CHARACTERS * len(block.images)
    if isinstance(block, ToolUseBlock):
        return len(block.name) + len(repr(block.input))
    if isinstance(block, ThinkingBlock):
        return len(block.thinking)
    return IMAGE_CHARACTERS if isinstance(block, ImageBlock) else 0
