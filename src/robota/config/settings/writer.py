"""Writes settings atomically, with a backup, and preserves everything else in the file."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.config.durable_file import PRIVATE, directory_inside, read_file
from robota.config.errors import ConfigError
from robota.config.profiles.profile import Profile
from robota.config.settings.json_text import NotAnObject, read_object
from robota.config.transaction import transaction
from robota.secrets.named_values import is_reference

BYTE_ORDER_MARK: Final = "\ufeff"

Change = Callable[[dict[str, Any]], dict[str, Any]]


def upsert_profile(path: Path, profile: Profile, *, set_current: bool) -> list[str]:
    """Write one profile under its name, keeping everything else. Returns warnings for the user.

    Fields the profile leaves out keep their old value, unless the type changes. Raises `ConfigError` and
    changes nothing if the file that is there cannot be understood or written.
    """
    change_settings(path, lambda raw: _with_profile(raw, profile, set_current, path))
    return _warnings(profile, path)


def set_value(path: Path, key: Sequence[str], value: Any) -> None:
    """Set one setting and preserve the rest. A value that was read from the file before is set by `change_settings`."""
    change_settings(path, lambda raw: with_value(raw, list(key), value, path))


def add_to_list(path: Path, key: Sequence[str], values: Sequence[str], *, within: Path | None = None) -> None:
    """Add missing texts to a list and preserve the rest."""

    def change(raw: dict[str, Any]) -> dict[str, Any]:
        node: Any = raw
        for name in key:
            node = node.get(name) if isinstance(node, dict) else None
        present = node if isinstance(node, list) else []
        return with_value(raw, list(key), [*present, *(value for value in values if value not in present)], path)

    change_settings(path, change, within=within)


def remove_value(path: Path, key: Sequence[str]) -> None:
    """Remove one setting and preserve the rest."""
    change_settings(path, lambda raw: without_value(raw, list(key)))


def remove_settings(path: Path) -> Path | None:
    """Delete the file and return its backup; None if there was no file."""
    target = path.resolve()
    if not target.exists():
        return None
    try:
        with transaction(target.parent) as files:
            backup = files.keep_backup(target.name)
            files.remove(target.name)
    except OSError as error:
        raise _cannot_write(path, error) from error
    return backup


def stored_profile(path: Path, name: str) -> Profile | None:
    """The profile of that name in this file. Raises `ConfigError` if it is invalid."""
    raw = _object_at(read_raw(path), "providers", path).get(name)
    if raw is None:
        return None
    try:
        return msgspec.structs.replace(msgspec.convert(raw, Profile), name=name)
    except msgspec.ValidationError as error:
        text = f"{path}: providers.{name}: {error}. The file was not changed. Correct it and try again."
        raise ConfigError(text) from error


def read_raw(path: Path, *, follow: bool = True) -> dict[str, Any]:
    """The unvalidated object in a settings file. Raises `ConfigError` if it cannot be parsed.

    To change what is read, use `change_settings`: another process may change the file meanwhile.
    """
    try:
        return _parsed(read_file(path, follow=follow), path)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"The settings file {path} cannot be read: {error}. It was not changed.") from error


def _parsed(data: bytes, path: Path) -> dict[str, Any]:
    try:
        return read_object(data.decode("utf-8-sig"))[0]
    except UnicodeDecodeError as error:
        raise ConfigError(f"The settings file {path} cannot be read: {error}. It was not changed.") from error
    except NotAnObject as error:
        text = f"{path}, line {error.line}: {error.problem}. The file was not changed. Correct it and try again."
        raise ConfigError(text) from error


def change_settings(path: Path, change: Change, *, mode: int = PRIVATE, within: Path | None = None) -> None:
    """Change a settings file, all or nothing, with a copy of what was there before.

    `within` is the workspace that the file belongs to. A link in there is the repository's, and never followed.
    """
    follow = within is None
    try:
        with _settings_target(path, within) as target, transaction(target.parent) as files:
            before = files.read(target.name, follow=follow)
            raw = change({} if before is None else _parsed(before, path))
            files.keep_backup(target.name, follow=follow)
            files.write(target.name, (json.dumps(raw, indent=2, ensure_ascii=False) + "\n").encode(), mode=mode)
    except OSError as error:
        raise _cannot_write(path, error) from error


def change_text(path: Path, change: Callable[[str], str], *, mode: int = PRIVATE, within: Path | None = None) -> None:
    """Like `change_settings`, but `change` edits the text, to preserve its format. It may raise `NotAnObject`."""
    follow = within is None
    try:
        with _settings_target(path, within) as target, transaction(target.parent) as files:
            before = (files.read(target.name, follow=follow) or b"").decode()
            after = change(before.removeprefix(BYTE_ORDER_MARK))
            files.keep_backup(target.name, follow=follow)
            mark = BYTE_ORDER_MARK if before.startswith(BYTE_ORDER_MARK) else ""
            files.write(target.name, (mark + after).encode(), mode=mode)
    except (OSError, UnicodeDecodeError) as error:
        raise _cannot_write(path, error) from error
    except NotAnObject as error:
        text = f"{path}, line {error.line}: {error.problem}. The file was not changed. Correct it and try again."
        raise ConfigError(text) from error


@contextmanager
def _settings_target(path: Path, within: Path | None) -> Iterator[Path]:
    if within is None:
        yield path.resolve()
        return
    with directory_inside(within, path.parent.relative_to(within)) as directory:
        yield directory / path.name


def _cannot_write(path: Path, error: OSError | UnicodeDecodeError) -> ConfigError:
    return ConfigError(
        f"The settings file {path} cannot be written: {error}. It was not changed. "
        "Check the permissions of its directory, or set ROBOTA_HOME to another directory."
    )


def _with_profile(raw: dict[str, Any], profile: Profile, set_current: bool, path: Path) -> dict[str, Any]:
    new_fields = msgspec.to_builtins(profile)
    new_fields.pop("name", None)
    before = _object_at(_object_at(raw, "providers", path), profile.name, path)
    old_fields = before if before.get("type") == profile.type else {}
    changed = with_value(raw, ["providers", profile.name], {**old_fields, **new_fields}, path)
    if set_current:
        changed["currentProvider"] = profile.name
    return changed


def with_value(raw: dict[str, Any], key: list[str], value: Any, path: Path) -> dict[str, Any]:
    """The object with one value set. Raises `ConfigError` if a parent is not an object."""
    name, *rest = key
    if not rest:
        return {**raw, name: value}
    return {**raw, name: with_value(_object_at(raw, name, path), rest, value, path)}


def without_value(raw: dict[str, Any], key: list[str]) -> dict[str, Any]:
    """The object without one value, and without objects that this leaves empty."""
    name, *rest = key
    inner = raw.get(name)
    if rest and isinstance(inner, dict):
        smaller = without_value(inner, rest)
        return {**raw, name: smaller} if smaller else {other: raw[other] for other in raw if other != name}
    return raw if rest else {other: raw[other] for other in raw if other != name}


def _object_at(raw: dict[str, Any], name: str, path: Path) -> dict[str, Any]:
    inner = raw.get(name, {})
    if not isinstance(inner, dict):
        raise ConfigError(f"{path}: {name} must be an object. The file was not changed. Correct it and try again.")
    return inner


def _warnings(profile: Profile, path: Path) -> list[str]:
    if not profile.api_key or is_reference(profile.api_key):
        return []
    return [
        f"The API key is stored in {path} as plain text (readable only by you). With --api-key-env NAME it stays in "
        "the environment."
    ]
