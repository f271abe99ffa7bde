"""The user's answers about files outside a workspace that its instruction files import into the model's context.

An answer holds for one workspace, one file and its exact content. It is in the user's directory, so no repository can
give it, and it counts only in a workspace that is trusted.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from robota.config.errors import ConfigError
from robota.config.trust.linked_worktree import same_place_in_main
from robota.config.trust.lock_file import (
    Agreement,
    AgreementKind,
    ChangedPart,
    Part,
    agree,
    agreements,
    changed_parts,
    forget_agreement,
    lock_path,
)


class OutsideFileAnswers:
    """The answers for one workspace. A worktree also has the answers of its repository."""

    def __init__(self, root: Path, env: Mapping[str, str]) -> None:
        self._root = root.resolve()
        self._env = env

    def is_agreed(self, path: str, data: bytes) -> bool | None:
        """Whether the model may get the file in its present content; None if there is no answer."""
        answer = self._newest(path)
        return None if answer is None or answer.digest != _digest(data) else answer.said == "yes"

    def change(self, path: str, data: bytes) -> ChangedPart | None:
        """How the file differs from the content that was agreed to; None if there is no such agreement."""
        answer = self._newest(path)
        if answer is None or answer.said == "no":
            return None
        return next(iter(changed_parts(answer.parts, (_part_of_file(path, data),), self._env)), None)

    def remember(self, answer: Literal["yes", "no"], path: str, data: bytes, now_ms: int) -> None:
        """Store an answer. Raises `ConfigError`, and then stores nothing."""
        part = _part_of_file(path, data)
        agreement = Agreement(said=answer, digest=part.digest, given_ms=now_ms, parts={path: part.digest})
        try:
            agree(AgreementKind.OUTSIDE_FILE, _key(self._root, path), agreement, (part,), self._env)
        except OSError as error:
            raise ConfigError(
                f"The answer cannot be saved in {lock_path(self._env)}: {error}. Nothing was agreed to."
            ) from error

    def forget_all(self) -> None:
        """Delete all answers for this workspace. Raises `ConfigError` or `OSError`."""
        for key in [*agreements(AgreementKind.OUTSIDE_FILE, self._env)]:
            if _is_of(self._root, key):
                forget_agreement(AgreementKind.OUTSIDE_FILE, key, self._env)

    def _newest(self, path: str) -> Agreement | None:
        try:
            agreed = agreements(AgreementKind.OUTSIDE_FILE, self._env)
        except ConfigError:
            return None  # an unreadable lock file agrees to nothing; the problem is reported elsewhere
        answer = agreed.get(_key(self._root, path))
        if answer is None and agreed and (main := same_place_in_main(self._root)) is not None:
            answer = agreed.get(_key(main, path))
        return answer


def _part_of_file(path: str, data: bytes) -> Part:
    return Part(name=path, digest=_digest(data), data=data)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _key(root: Path, path: str) -> str:
    """Workspace and path as JSON, because a path may contain any separator."""
    return msgspec.json.encode([str(root), path]).decode()


def _is_of(root: Path, key: str) -> bool:
    return key.startswith(f"[{msgspec.json.encode(str(root)).decode()},")
