"""A socket at a path that the user chose, through which a session is reached besides its door."""

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from robota.config.errors import ConfigError

NOT_SERVED: Final = "The session is not served at {path}: {why}. Nothing was changed there."


@contextmanager
def listening_at(path: Path) -> Iterator[socket.socket]:
    """A socket that only this user can connect to. Raises `ConfigError` if there is something else at the path."""
    try:
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise ConfigError(NOT_SERVED.format(path=path, why=error.strerror)) from error
    # A path that is short enough for the kernel, however long the name of the directory is.
    way = f"/proc/self/fd/{directory}/{path.name}"
    try:
        listening = _bound(path, way)
        own = os.lstat(way)
        try:
            yield listening
        finally:
            listening.close()
            with suppress(OSError):
                if os.path.samestat(os.lstat(way), own):  # else somebody has put something else there
                    os.unlink(way)  # noqa: PTH108 - not the path of a file, but a way to it
    finally:
        os.close(directory)


def _bound(path: Path, way: str) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        _remove_stale(path, way)
        listening.bind(way)
        listening.listen()
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        raise ConfigError(NOT_SERVED.format(path=path, why=error.strerror)) from error
    finally:
        os.umask(before)
    return listening


def _remove_stale(path: Path, way: str) -> None:
    """Remove the socket of a process that has ended. Raises `ConfigError` if it still runs, or if it is no socket."""
    try:
        mode = os.lstat(way).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise ConfigError(NOT_SERVED.format(path=path, why="there is a file that is no socket"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.setblocking(False)
        try:
            client.connect(way)
        except ConnectionRefusedError:
            os.unlink(way)  # noqa: PTH108
            return
        except BlockingIOError:
            pass
    raise ConfigError(NOT_SERVED.format(path=path, why="another process is reached there"))
