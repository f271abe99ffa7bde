"""Seal state that Robota writes for itself and reads back later, such as what a killed session was about to do.

It is kept in the user's directory, which commands cannot write. The seal is a second barrier: a MAC whose key exists
only there. It covers the purpose and the path of the state, so that planted, edited, copied or moved state is refused,
even that of another workspace.
"""

import hmac
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from robota.config.durable_file import make_private_directory, read_file

KEY_NAME: Final = "state.key"
KEY_BYTES: Final = 32
SEAL_BYTES: Final = 32
ALGORITHM: Final = "sha256"


class ForeignState(ValueError):
    """This state was not written by Robota for this purpose and path, or has been changed since."""


def seal(directory: Path, purpose: str, data: bytes) -> bytes:
    """The data, preceded by its seal. The key is in `directory`, one of the user's. Raises `OSError` without a key."""
    return _mac(_key(directory), purpose, data) + data


def unseal(directory: Path, purpose: str, sealed: bytes) -> bytes:
    """The data that was sealed for this purpose. Raises `ForeignState` or `OSError`."""
    data = sealed[SEAL_BYTES:]
    try:
        key = read_file(directory / KEY_NAME, follow=False)
    except FileNotFoundError as error:
        raise ForeignState("nothing was ever sealed here") from error
    if len(key) != KEY_BYTES or not hmac.compare_digest(sealed[:SEAL_BYTES], _mac(key, purpose, data)):
        raise ForeignState("it was not written by Robota for this purpose, or was changed since")
    return data


def _mac(key: bytes, purpose: str, data: bytes) -> bytes:
    name = purpose.encode("utf-8", "surrogateescape")
    return hmac.digest(key, b"%d:%b%b" % (len(name), name, data), ALGORITHM)


def _key(directory: Path) -> bytes:
    """The key of this user, created on first use. If several processes create one, all use the first."""
    file = directory / KEY_NAME
    with suppress(FileNotFoundError):
        key = read_file(file, follow=False)
        if len(key) == KEY_BYTES:
            return key
        file.unlink()  # cut off by a full disk: what it sealed is refused
    make_private_directory(directory)
    draft = directory / f".{KEY_NAME}.{os.urandom(8).hex()}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(os.urandom(KEY_BYTES))
        with suppress(FileExistsError):
            os.link(draft, file)
    finally:
        draft.unlink()
    return read_file(file, follow=False)
