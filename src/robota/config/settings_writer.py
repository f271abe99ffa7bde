"""Writing the settings: all or nothing, with a copy of what was there before."""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from robota.config.errors import ConfigError
from robota.config.profiles import Profile
from robota.config.settings import ENV_MARK, load_settings


def upsert_profile(path: Path, profile: Profile, *, set_current: bool) -> list[str]:
    """Write one profile under its name, keeping all else. Returns warnings for a person.

    Fields the profile leaves out keep their old value, unless the type changes. Raises `ConfigError` and
    changes nothing if the file that is there cannot be understood or written.
    """
    target = path.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _only_writer(target.parent):
            raw = _with_profile(load_settings(target).raw, profile, set_current)
            _replace(target, (json.dumps(raw, indent=2, ensure_ascii=False) + "\n").encode())
    except OSError as error:
        raise ConfigError(
            f"The settings file {path} cannot be written: {error}. What was there is unchanged. "
            "Check the permissions of its directory, or set ROBOTA_HOME to another."
        ) from error
    return _warnings(profile, path)


def _with_profile(raw: dict[str, Any], profile: Profile, set_current: bool) -> dict[str, Any]:
    given = msgspec.to_builtins(profile)
    given.pop("name", None)
    providers = dict(raw.get("providers", {}))
    before = providers.get(profile.name, {})
    kept = before if before.get("type") == profile.type else {}
    providers[profile.name] = {**kept, **given}
    changed = {**raw, "providers": providers}
    if set_current:
        changed["currentProvider"] = profile.name
    return changed


def _replace(target: Path, data: bytes) -> None:
    with contextlib.suppress(FileNotFoundError):
        _write_whole(target.with_name(target.name + ".bak"), target.read_bytes())
    _write_whole(target, data)


def _write_whole(target: Path, data: bytes) -> None:
    """A reader sees the old file or the new one, also after a power cut."""
    draft = target.with_name(f".{target.name}.{os.getpid()}.new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _only_writer(directory: Path) -> Iterator[None]:
    """Two processes that write at the same time must not lose one another's profile."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _warnings(profile: Profile, path: Path) -> list[str]:
    if not profile.api_key or profile.api_key.startswith(ENV_MARK):
        return []
    return [
        f"The API key stands in {path} as plain text (only you can read the file). "
        "With --api-key-env NAME it stays in the environment."
    ]
