"""Tools that others bring are known only after they were started: they join the session's own before the first task."""

from collections.abc import Callable, Sequence

import msgspec

from robota.engine.session.options import SessionServices
from robota.protocol.events import Notice


async def with_foreign_tools(
    services: SessionServices, tell: Callable[[Notice], None]
) -> tuple[SessionServices, Sequence[Notice]]:
    """The services with every tool there is, and what the person should know of the new ones."""
    if services.foreign is None:
        return services, ()
    found = await services.foreign(tell)
    whole = msgspec.structs.replace(
        services, tools=(*services.tools, *found.tools), specs=(*services.specs, *found.specs), foreign=None
    )
    return whole, found.notices
