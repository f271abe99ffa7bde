"""Whether the person trusts a workspace: asked once, kept outside it, void when its configuration changes.

An answer holds for one real path and the exact content that was shown. A directory above or below, a copy or a moved
repository has to be trusted by itself. Only a worktree, proven to be one, has the answer of its repository, too.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final, Literal

import msgspec

from robota.config.durable_file import keep_backup, only_writer, read_file, replace_file
from robota.config.errors import ConfigError
from robota.config.paths import user_directory
from robota.config.trust.linked_worktree import same_place_in_main
from robota.config.trust.sources import Snapshot

STORE_NAME: Final = "trust.json"
CONTENTS: Final = "trust"


class TrustState(StrEnum):
    """What is known of the person's trust in a workspace."""

    NOTHING = "nothing to trust"
    TRUSTED = "trusted"
    UNTRUSTED = "not trusted"
    CHANGED = "changed since it was trusted"
    REFUSED = "not trusted, as you decided"


class TrustAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the person said about which content, and when (milliseconds)."""

    said: Literal["yes", "no"]
    digest: str
    given_ms: int
    files: dict[str, str] = {}


class Trust(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a workspace. `problem` says why an earlier answer cannot be known, or why none can be given."""

    state: TrustState
    snapshot: Snapshot
    answer: TrustAnswer | None = None
    problem: str | None = None

    @property
    def is_given(self) -> bool:
        return self.state in (TrustState.NOTHING, TrustState.TRUSTED)


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is not as it was trusted. None stands for no file, or one too long to have been kept."""

    path: str
    before: bytes | None
    after: bytes | None


class _Store(msgspec.Struct, frozen=True, kw_only=True):
    version: int = 1
    workspaces: dict[str, TrustAnswer] = {}


def trust_of(snapshot: Snapshot, env: Mapping[str, str]) -> Trust:
    """What the person said about this workspace as it is now."""
    if not snapshot.sources and snapshot.problem is None:
        return Trust(state=TrustState.NOTHING, snapshot=snapshot)
    try:
        answer = _answer(snapshot.root, _load(_path(env)).workspaces)
    except ConfigError as error:
        return Trust(state=TrustState.UNTRUSTED, snapshot=snapshot, problem=str(error))
    return Trust(state=_state(snapshot, answer), snapshot=snapshot, answer=answer, problem=snapshot.problem)


def is_trusted_by_person(trust: Trust | None, env: Mapping[str, str]) -> bool:
    """Whether the person said yes to the workspace, which they may also do where it brings nothing."""
    if trust is None or trust.state is not TrustState.NOTHING:
        return trust is not None and trust.state is TrustState.TRUSTED
    try:
        answer = _answer(trust.snapshot.root, _load(_path(env)).workspaces)
    except ConfigError:
        return False
    return _state(trust.snapshot, answer) is TrustState.TRUSTED


def remember(said: Literal["yes", "no"], snapshot: Snapshot, env: Mapping[str, str], now_ms: int) -> None:
    """Keep the answer of the person to exactly this content."""
    if said == "yes" and snapshot.problem is not None:
        raise ConfigError(f"{snapshot.root} cannot be trusted, because {snapshot.problem}. Nothing was changed.")
    files = {source.path: source.digest for source in snapshot.sources}
    answer = TrustAnswer(said=said, digest=snapshot.digest, given_ms=now_ms, files=files)
    try:
        _keep_contents(snapshot, user_directory(env) / CONTENTS)
        _change(env, _key(snapshot.root), answer)
    except OSError as error:
        raise ConfigError(f"The answer cannot be kept in {_path(env)}: {error}. Nothing was trusted.") from error


def forget(root: Path, env: Mapping[str, str]) -> bool:
    """Forget what was said about a workspace. False if nothing was."""
    if _key(root) not in _load(_path(env)).workspaces:
        return False
    try:
        _change(env, _key(root), None)
    except OSError as error:
        raise ConfigError(f"{_path(env)} cannot be written: {error}. The workspace is still trusted.") from error
    return True


def changes(trust: Trust, env: Mapping[str, str]) -> list[ChangedFile]:
    """What is different from what was trusted; all of it is, if nothing was."""
    before = trust.answer.files if trust.answer is not None and trust.answer.said == "yes" else {}
    now = {source.path: source for source in trust.snapshot.sources}
    return [
        ChangedFile(
            path=path,
            before=_kept(before.get(path), env),
            after=now[path].data if path in now else None,
        )
        for path in sorted({*before, *now})
        if path not in now or before.get(path) != now[path].digest
    ]


def _answer(root: Path, workspaces: Mapping[str, TrustAnswer]) -> TrustAnswer | None:
    """What was said about this directory, or about the same one in the repository that it is a worktree of.

    Either way it holds for exactly the content that was shown.
    """
    answer = workspaces.get(_key(root))
    if answer is None and workspaces and (main := same_place_in_main(root)) is not None:
        answer = workspaces.get(_key(main))
    return answer


def _state(snapshot: Snapshot, answer: TrustAnswer | None) -> TrustState:
    if answer is None:
        return TrustState.UNTRUSTED
    same = answer.digest == snapshot.digest and snapshot.problem is None
    if answer.said == "no":
        return TrustState.REFUSED if same else TrustState.UNTRUSTED
    return TrustState.TRUSTED if same else TrustState.CHANGED


def _key(root: Path) -> str:
    return str(root.resolve())


def _path(env: Mapping[str, str]) -> Path:
    return user_directory(env) / STORE_NAME


def _load(path: Path) -> _Store:
    try:
        return msgspec.json.decode(read_file(path), type=_Store)
    except FileNotFoundError:
        return _Store()
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path}, which says what you trust, cannot be read ({error}), so nothing is trusted. "
            "It was left as it is. Correct or remove it."
        ) from error


def _change(env: Mapping[str, str], key: str, answer: TrustAnswer | None) -> None:
    path = _path(env)
    with only_writer(path.parent):
        workspaces = dict(_load(path).workspaces)
        workspaces.pop(key, None)
        if answer is not None:
            workspaces[key] = answer
        keep_backup(path)
        replace_file(path, msgspec.json.format(msgspec.json.encode(_Store(workspaces=workspaces)), indent=2) + b"\n")


def _keep_contents(snapshot: Snapshot, directory: Path) -> None:
    """The words themselves, by their hash, so that a later change can be shown."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    for source in snapshot.sources:
        kept = directory / source.digest
        if source.data is not None and not kept.exists():
            replace_file(kept, source.data)


def _kept(digest: str | None, env: Mapping[str, str]) -> bytes | None:
    if digest is None:
        return None
    try:
        return read_file(user_directory(env) / CONTENTS / digest)
    except OSError:
        return None
