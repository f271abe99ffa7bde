"""However a conversation grows and is cut, what is sent is what a body builder without a memory would send."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.protocol.conversation import AssistantTurn, TextBlock, Turn, UserTurn
from robota.providers.chunks import ModelRequest
from robota.providers.wire.anthropic.body import AnthropicBody
from robota.providers.wire.body import SETTLED_TURNS
from robota.providers.wire.chat.body import ChatBody
from robota.providers.wire.client import BodyEncoder
from robota.providers.wire.gemini.body import GeminiBody
from robota.providers.wire.responses.body import ResponsesBody

BODIES: dict[str, Callable[[], BodyEncoder]] = {
    "anthropic": AnthropicBody,
    "chat": ChatBody,
    "gemini": GeminiBody,
    "responses": ResponsesBody,
}
# How many turns are dropped from the end, and how many new ones come.
changes = st.lists(
    st.tuples(st.integers(0, 3 * SETTLED_TURNS), st.integers(1, 2 * SETTLED_TURNS)), min_size=1, max_size=6
)


@pytest.mark.parametrize("name", BODIES)
@given(changes=changes)
def test_pieces_are_put_together_as_if_all_were_new(name: str, changes: list[tuple[int, int]]) -> None:
    body, turns = BODIES[name](), list[Turn]()
    for dropped, added in changes:
        del turns[max(0, len(turns) - dropped) :]
        turns += [turn(len(turns) + number, f"{dropped} {added}") for number in range(added)]
        asked = ModelRequest(model="m", system="s", turns=tuple(turns))
        assert body.encode(asked) == BODIES[name]().encode(asked)


def turn(number: int, words: str) -> Turn:
    """In turns of the user and of the model; some have nothing that is sent."""
    content = () if number % 17 == 5 else (TextBlock(text=f"{number} {words}"),)
    return UserTurn(content=content) if number % 2 == 0 else AssistantTurn(content=content)
