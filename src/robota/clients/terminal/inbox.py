"""The interface that clients use to show the open questions of all sessions, without knowing how that is done."""

from collections.abc import Awaitable, Callable

# Shows them in the terminal until the user leaves.
ShowInbox = Callable[[], Awaitable[None]]


async def no_inbox() -> None:
    """Where there are no other sessions."""
