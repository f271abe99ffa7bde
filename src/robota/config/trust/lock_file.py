"""`robota.lock`: what a person has seen and what they said of it, as digests, so that a later change is noticed.

One entry is about one thing: a workspace, a plugin, the tools of an MCP server in a workspace, a file outside of one
that its instructions lead to, or what the person has everywhere. It has a digest for each part (a file, a tool). What
the parts said is stored beside the lock file by digest, so that a change can be shown.
"""

import hashlib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final, Literal

import msgspec

from robota.config.durable_file import keep_backup, make_private_directory, only_writer, read_file, replace_file
from robota.config.errors import ConfigError
from robota.config.paths import user_directory

LOCK_NAME: Final = "robota.lock"
CONTENTS: Final = "trust"


class AgreementKind(StrEnum):
    """The subject of an agreement, with the name of its section in the lock file."""

    WORKSPACE = "workspaces"
    PLUGIN = "plugins"
    MCP_SERVER = "servers"
    OUTSIDE_FILE = "outside"
    OWN = "own"


class Agreement(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The user's answer about a content, and its time in milliseconds. `parts` has a digest for each part."""

    said: Literal["yes", "no"]
    digest: str
    given_ms: int
    parts: dict[str, str] = {}


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the content. `data` is None if it is too long to store or unreadable."""

    name: str
    digest: str
    data: bytes | None = None


class ChangedPart(msgspec.Struct, frozen=True, kw_only=True):
    """A changed part. None stands for a missing part, or one that was too long to store."""

    name: str
    before: bytes | None
    after: bytes | None


class _Lock(msgspec.Struct, frozen=True, kw_only=True):
    version: int = 1
    workspaces: dict[str, Agreement] = {}
    plugins: dict[str, Agreement] = {}
    servers: dict[str, Agreement] = {}
    outside: dict[str, Agreement] = {}
    own: dict[str, Agreement] = {}

    def about(self, subject: AgreementKind) -> dict[str, Agreement]:
        section: dict[str, Agreement] = getattr(self, subject)
        return section


def lock_path(env: Mapping[str, str]) -> Path:
    """The lock file in the user's directory, where no repository can write it."""
    return user_directory(env) / LOCK_NAME


def agreements(subject: AgreementKind, env: Mapping[str, str]) -> Mapping[str, Agreement]:
    """All agreements of one kind by key. Raises `ConfigError`."""
    return _load(lock_path(env)).about(subject)


def agree(
    subject: AgreementKind, key: str, agreement: Agreement, parts: Iterable[Part], env: Mapping[str, str]
) -> None:
    """Store an agreement and its content. Raises `ConfigError` or `OSError`, and then stores nothing."""
    _keep_contents(parts, user_directory(env) / CONTENTS)
    _change(subject, {key: agreement}, env)


def forget_agreement(subject: AgreementKind, key: str, env: Mapping[str, str]) -> bool:
    """Delete an agreement. False if there was none. Raises `ConfigError` or `OSError`."""
    if key not in agreements(subject, env):
        return False
    _change(subject, {key: None}, env)
    return True


def changed_parts(before: Mapping[str, str], now: Iterable[Part], env: Mapping[str, str]) -> list[ChangedPart]:
    """The parts that differ from the earlier digests, sorted by name."""
    after = {part.name: part for part in now}
    return [
        ChangedPart(
            name=name,
            before=kept_content(before[name], env) if name in before else None,
            after=after[name].data if name in after else None,
        )
        for name in sorted({*before, *after})
        if name not in after or before.get(name) != after[name].digest
    ]


def kept_content(digest: str, env: Mapping[str, str]) -> bytes | None:
    """The content with this digest; None if it was not stored."""
    try:
        return read_file(user_directory(env) / CONTENTS / digest)
    except OSError:
        return None


def digest_of_parts(parts: Iterable[Part]) -> str:
    """One digest over the names and contents of all parts."""
    # The separator cannot occur in a name, so different sets of parts have different digests.
    lines = "".join(f"{part.digest} {part.name}\0" for part in parts)
    return hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()


def _load(path: Path) -> _Lock:
    try:
        return msgspec.json.decode(read_file(path), type=_Lock)
    except FileNotFoundError:
        return _Lock()
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(
            f"{path}, which lists what you trust, cannot be read ({error}), so nothing is trusted. It was not "
            "changed. Correct or remove it."
        ) from error


def _change(subject: AgreementKind, entries: Mapping[str, Agreement | None], env: Mapping[str, str]) -> None:
    path = lock_path(env)
    with only_writer(path.parent):
        lock = _load(path)
        changed = {key: each for key, each in {**lock.about(subject), **entries}.items() if each is not None}
        lock = msgspec.structs.replace(lock, **{subject: changed})
        keep_backup(path)
        replace_file(path, msgspec.json.format(msgspec.json.encode(lock), indent=2) + b"\n")


def _keep_contents(parts: Iterable[Part], directory: Path) -> None:
    """Store the contents by digest, so that a later change can be shown as a diff."""
    make_private_directory(directory)
    for part in parts:
        stored = directory / part.digest
        if part.data is not None and not stored.exists():
            replace_file(stored, part.data)
