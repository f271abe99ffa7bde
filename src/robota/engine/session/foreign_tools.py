"""Tools that others bring are known only after they were started: they join the session's own before the first task."""

from collections.abc import Callable, Sequence

import msgspec

from robota.engine.session.options import SessionServices
from robota.protocol.events import Notice


async def with_foreign_tools(
    parts: SessionServices, tell: Callable[[Notice], None]
) -> tuple[SessionServices, Sequence[Notice]]:
    """The parts with every tool there is, and what the person should know of the new ones."""
    if parts.foreign is None:
        return parts, ()
    found = await parts.foreign(tell)
    whole = msgspec.structs.replace(
        parts, tools=(*parts.tools, *found.tools), specs=(*parts.specs, *found.specs), foreign=None
    )
    return whole, found.notices
