"""`robota.lock`: what the user was shown and how they answered, as digests, so that a later change is noticed.

One entry is about one subject: a workspace, a plugin, the tools of an MCP server in a workspace, a file outside a
workspace that its instructions import, or the user's own configuration. It has a digest for each part (a file, a tool).
The content of the parts is stored beside the lock file by digest, so that a change can be shown.
"""

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from enum import StrEnum
from pathlib import Path
from typing import Final, Literal

import msgspec

from robota.config.durable_file import read_file
from robota.config.errors import ConfigError
from robota.config.paths import user_directory
from robota.config.transaction import JOURNAL, Transaction, finish_interrupted, transaction

LOCK_NAME: Final = "robota.lock"
CONTENTS: Final = "trust"
PLUGINS: Final = "plugins"


class AgreementKind(StrEnum):
    """The subject of an agreement, with the name of its section in the lock file."""

    WORKSPACE = "workspaces"
    PLUGIN = "plugins"
    MCP_SERVER = "servers"
    OUTSIDE_FILE = "outside"
    PROGRAM = "programs"
    OWN = "own"


# "own": the user wrote the configuration through Robota, and was never asked about the rest of the workspace.
Answer = Literal["yes", "no", "own"]


class Agreement(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The user's answer about a content, and its time in milliseconds. `parts` has a digest for each part."""

    said: Answer
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
    programs: dict[str, Agreement] = {}
    own: dict[str, Agreement] = {}

    def about(self, subject: AgreementKind) -> dict[str, Agreement]:
        section: dict[str, Agreement] = getattr(self, subject)
        return section


def lock_path(env: Mapping[str, str]) -> Path:
    """The lock file in the user's directory, where no repository can write it."""
    return user_directory(env) / LOCK_NAME


def agreements(subject: AgreementKind, env: Mapping[str, str]) -> Mapping[str, Agreement]:
    """All agreements of one kind by key. Raises `ConfigError`."""
    path = lock_path(env)
    finish_interrupted(path.parent, path.parent / JOURNAL)
    try:
        return _decoded(read_file(path), path).about(subject)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _unreadable(path, error) from error


def agree(
    subject: AgreementKind, key: str, agreement: Agreement, parts: Iterable[Part], env: Mapping[str, str]
) -> None:
    """Store an agreement and its content. Raises `ConfigError` or `OSError`, and then stores nothing."""
    with changing_agreements(env) as files:
        put_agreement(files, subject, key, agreement, parts, env)


def forget_agreement(subject: AgreementKind, key: str, env: Mapping[str, str]) -> bool:
    """Delete an agreement. False if there was none. Raises `ConfigError` or `OSError`."""
    with changing_agreements(env) as files:
        return drop_agreement(files, subject, key, env)


def changing_agreements(env: Mapping[str, str]) -> AbstractContextManager[Transaction]:
    """A transaction over the user's directory, for agreements and what belongs to them."""
    directory = user_directory(env)
    return transaction(directory, journal=directory / JOURNAL, inside=(CONTENTS, PLUGINS))


def put_agreement(
    files: Transaction,
    subject: AgreementKind,
    key: str,
    agreement: Agreement,
    parts: Iterable[Part],
    env: Mapping[str, str],
) -> None:
    """Store an agreement with the other changes of a transaction. Raises `ConfigError` or `OSError`."""
    for part in parts:
        # By digest, so that a later change can be shown as a diff.
        if part.data is not None and not (user_directory(env) / CONTENTS / part.digest).exists():
            files.write(f"{CONTENTS}/{part.digest}", part.data)
    _set_agreement(files, subject, key, agreement, env)


def drop_agreement(files: Transaction, subject: AgreementKind, key: str, env: Mapping[str, str]) -> bool:
    """Delete an agreement with the other changes of a transaction. False if there was none. Raises `ConfigError`."""
    return _set_agreement(files, subject, key, None, env)


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


def _set_agreement(
    files: Transaction, subject: AgreementKind, key: str, agreement: Agreement | None, env: Mapping[str, str]
) -> bool:
    """Set or delete an agreement; returns whether there was one."""
    data = files.read(LOCK_NAME)
    lock = _Lock() if data is None else _decoded(data, lock_path(env))
    before = lock.about(subject)
    after = (
        {**before, key: agreement} if agreement is not None else {name: before[name] for name in before if name != key}
    )
    if after != before:
        files.keep_backup(LOCK_NAME)
        changed = msgspec.structs.replace(lock, **{subject: after})
        files.write(LOCK_NAME, msgspec.json.format(msgspec.json.encode(changed), indent=2) + b"\n")
    return key in before


def _decoded(data: bytes, path: Path) -> _Lock:
    try:
        return msgspec.json.decode(data, type=_Lock)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> ConfigError:
    return ConfigError(
        f"{path}, which lists what you trust, cannot be read ({error}), so nothing is trusted. It was not changed. "
        "Correct or remove it."
    )
