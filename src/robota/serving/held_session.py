"""A session that this process runs, for clients in this process and, through its door, in others."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from robota.app.session import OpenSession, running
from robota.serving.door import Door, open_door

Tell = Callable[[str], None]


@asynccontextmanager
async def held(
    opened: OpenSession, env: Mapping[str, str], tell: Tell, *, debug: bool = False
) -> AsyncIterator[Door | None]:
    """Hold a session open, with its door if it has one. At the end it is closed, and can be resumed."""
    door = None
    async with AsyncExitStack() as stack:
        if opened.options.launch.attended:
            door = await stack.enter_async_context(open_door(opened, env, tell))
        await stack.enter_async_context(running(opened, env, tell, debug=debug))
        yield door
        if door is not None and door.is_stopped:
            tell(f"The session was closed in another window. To resume it: robota --resume {opened.options.session_id}")
