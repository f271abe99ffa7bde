"""`query`: one prompt in a session of its own."""

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING

from robota.embedding.opening import open_session
from robota.embedding.options import SessionOptions
from robota.protocol.connection.ask_dispatcher import AskHandler
from robota.protocol.events import Event

if TYPE_CHECKING:
    from robota.embedding.additions import Embedding
    from robota.embedding.turn import TurnResult


async def query(
    prompt: str,
    options: SessionOptions | None = None,
    *,
    on_ask: AskHandler | None = None,
    embedding: "Embedding | None" = None,
    env: Mapping[str, str] | None = None,
) -> "AsyncIterator[Event | TurnResult]":
    """Run a prompt in a new session in this process; yields its events and finally a `TurnResult`.

    Without `on_ask`, it ends when the agent asks its first question. Raises like `open_session`.
    """
    async with open_session(options, on_ask=on_ask, embedding=embedding, env=env) as session:
        async for each in session.stream(prompt):
            yield each
