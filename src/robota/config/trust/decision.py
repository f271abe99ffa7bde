"""The user's trust in a workspace: asked once, stored outside it, void when its configuration changes.

An answer holds for one real path and the exact content that was shown. A directory above or below, a copy or a moved
repository has to be trusted by itself. Only a worktree, proven to be one, has the answer of its repository, too.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

import msgspec

from robota.config.errors import ConfigError
from robota.config.trust.lock_file import (
    Agreement,
    AgreementKind,
    Answer,
    ChangedPart,
    agree,
    agreements,
    changed_parts,
    forget_agreement,
    lock_path,
)
from robota.config.trust.sources import Snapshot


class TrustState(StrEnum):
    """The state of the user's trust in a workspace."""

    NOTHING = "nothing to trust"
    TRUSTED = "trusted"
    UNTRUSTED = "not trusted"
    CHANGED = "changed since it was trusted"
    REFUSED = "not trusted, by your decision"


class Trust(msgspec.Struct, frozen=True, kw_only=True):
    """The trust of a workspace. `problem` says why the earlier answer is unreadable, or why none can be given."""

    state: TrustState
    snapshot: Snapshot
    answer: Agreement | None = None
    problem: str | None = None

    @property
    def is_given(self) -> bool:
        return self.state in (TrustState.NOTHING, TrustState.TRUSTED)


def trust_of(snapshot: Snapshot, env: Mapping[str, str]) -> Trust:
    """The trust of this workspace in its present state."""
    if not snapshot.sources and snapshot.problem is None:
        return Trust(state=TrustState.NOTHING, snapshot=snapshot)
    try:
        answer = _answer(snapshot.root, agreements(AgreementKind.WORKSPACE, env))
    except ConfigError as error:
        return Trust(state=TrustState.UNTRUSTED, snapshot=snapshot, problem=str(error))
    return Trust(state=_state(snapshot, answer), snapshot=snapshot, answer=answer, problem=snapshot.problem)


def is_trusted_by_user(trust: Trust | None, env: Mapping[str, str]) -> bool:
    """Whether the user explicitly trusted the workspace, which is also possible if it has no configuration."""
    return answer_about(trust, env) == "yes"


def answer_about(trust: Trust | None, env: Mapping[str, str]) -> Answer | None:
    """The user's answer about the workspace as it is now, also about one without configuration; None without one."""
    if trust is None:
        return None
    answer = trust.answer
    if trust.state is TrustState.NOTHING:
        try:
            answer = _answer(trust.snapshot.root, agreements(AgreementKind.WORKSPACE, env))
        except ConfigError:
            return None
    is_about_this = _state(trust.snapshot, answer) in (TrustState.TRUSTED, TrustState.REFUSED)
    return answer.said if answer is not None and is_about_this else None


def remember(answer: Answer, snapshot: Snapshot, env: Mapping[str, str], now_ms: int) -> None:
    """Store the user's answer for exactly this content."""
    if answer != "no" and snapshot.problem is not None:
        raise ConfigError(f"{snapshot.root} cannot be trusted, because {snapshot.problem}. Nothing was changed.")
    parts = snapshot.parts
    digests = {part.name: part.digest for part in parts}
    agreement = Agreement(said=answer, digest=snapshot.digest, given_ms=now_ms, parts=digests)
    try:
        agree(AgreementKind.WORKSPACE, _key(snapshot.root), agreement, parts, env)
    except OSError as error:
        raise ConfigError(f"The answer cannot be saved in {lock_path(env)}: {error}. Nothing was trusted.") from error


def forget(root: Path, env: Mapping[str, str]) -> bool:
    """Delete the answer about a workspace. False if there was none."""
    try:
        return forget_agreement(AgreementKind.WORKSPACE, _key(root), env)
    except OSError as error:
        raise ConfigError(f"{lock_path(env)} cannot be written: {error}. The workspace is still trusted.") from error


def changes(trust: Trust, env: Mapping[str, str]) -> list[ChangedPart]:
    """The changes since the workspace was trusted; everything, if it never was."""
    before = trust.answer.parts if trust.answer is not None and trust.answer.said != "no" else {}
    return changed_parts(before, trust.snapshot.parts, env)


def _answer(root: Path, workspaces: Mapping[str, Agreement]) -> Agreement | None:
    """The answer about this directory, or about the same one in the repository that it is a worktree of.

    Either way it applies to exactly the content that was shown.
    """
    answer = workspaces.get(_key(root))
    if answer is None and workspaces:
        # Imported only if another content was trusted before.
        from robota.config.trust.linked_worktree import same_place_in_main

        main = same_place_in_main(root)
        answer = None if main is None else workspaces.get(_key(main))
    return answer


def _state(snapshot: Snapshot, answer: Agreement | None) -> TrustState:
    if answer is None:
        return TrustState.UNTRUSTED
    same = answer.digest == snapshot.digest and snapshot.problem is None
    if answer.said == "no":
        return TrustState.REFUSED if same else TrustState.UNTRUSTED
    return TrustState.TRUSTED if same else TrustState.CHANGED


def _key(root: Path) -> str:
    return str(root.resolve())
