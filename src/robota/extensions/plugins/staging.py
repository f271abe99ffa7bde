"""Temporary directories for plugins that are fetched, replaced or removed; those of killed processes are removed."""

import asyncio
import fcntl
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path

from robota.config.durable_file import DIRECTORY, make_private_directory
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
    """A temporary directory of the store, locked as long as it is used. Raises `OSError`."""
    with store.locked():  # nobody sees it before it is locked
        make_private_directory(store.staging)
        _remove_abandoned(store.staging)
        directory = Path(tempfile.mkdtemp(dir=store.staging))
        lock = os.open(directory, DIRECTORY | os.O_NOFOLLOW)
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        os.close(lock)


def remove_abandoned_staging(store: PluginStore) -> None:
    """Remove what killed processes left. Costs little if there is nothing."""
    with suppress(OSError):
        if any(os.scandir(store.staging)):
            with store.locked():
                _remove_abandoned(store.staging)


def _remove_abandoned(parent: Path) -> None:
    """Remove the directories that no process has locked.

    The store is locked, so no unfinished change needs their files, and none is made at this moment.
    """
    for entry in os.scandir(parent):
        with suppress(OSError):
            lock = os.open(entry.path, DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(entry.path, ignore_errors=True)
            finally:
                os.close(lock)
