"""Temporary directories for plugins that are fetched, replaced or removed."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path

from robota.config.claimed_directory import claim_directory, remove_unclaimed
from robota.config.errors import ConfigError
from robota.extensions.plugins.store import PluginStore


@asynccontextmanager
async def staging_directory(store: PluginStore) -> AsyncIterator[Path]:
    """A temporary directory of the store. Raises `ConfigError`."""
    with ExitStack() as held:
        try:
            directory = await asyncio.to_thread(held.enter_context, locked_staging(store))
        except OSError as error:
            raise ConfigError(f"{store.staging} cannot be used: {error.strerror}. Nothing was changed.") from error
        yield directory


@contextmanager
def locked_staging(store: PluginStore) -> Iterator[Path]:
    """The same, for callers that do not wait. Raises `OSError`."""
    # While the store is locked, no unfinished change needs the files of a dead process.
    with store.locked():
        claimed = claim_directory(store.staging)
    try:
        yield claimed.path
    finally:
        claimed.remove()


def remove_abandoned_staging(store: PluginStore) -> None:
    """Remove what killed processes left."""
    with suppress(OSError), store.locked():
        remove_unclaimed(store.staging)
