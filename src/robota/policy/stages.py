"""The context of a decision, and the stages that make it: the first stage that gives a verdict decides."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from robota.contracts.verdict import Decision, Verdict
from robota.policy.protected.path_resolver import KeptFiles, PathResolver
from robota.policy.rules.rule import Rule
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.git.git_safety import ConfiguredPrograms, GitSafety

if TYPE_CHECKING:
    from robota.workspace.bundles import BundleMember
    from robota.workspace.confinement import Confinement
    from robota.workspace.entry_files.approved_entries import ApprovedEntries
    from robota.workspace.sandbox.home.added_directories import AddedDirectories

T = TypeVar("T")

# Why no rule is offered for what a rule, or something like one, requires approval of.
ASKED_EVERY_TIME: Final = "it is asked about every time"
# In place of a rule, for what needs approval because files of a skill or plugin are not as they were approved.
CHANGED_BUNDLE: Final = "changed files of a skill or plugin"


def only_at_the_root(directory: str) -> GitSafety:
    """A `git_safety` that trusts only the root: other directories may be separate repositories."""
    return GitSafety(problem=None if directory == "." else "another directory may contain a repository of its own")


# The workspace file or directory, executed by a program outside the sandbox, that an absolute path is or is inside of.
RunOutside = Callable[[str], str | None]


def nothing_outside(location: str) -> str | None:
    """A `run_outside` for a workspace without files that are executed outside the sandbox."""
    return None


# The bundle of a skill or plugin that an absolute path is in.
FindBundled = Callable[[str], "BundleMember | None"]


def nothing_bundled(location: str) -> "BundleMember | None":
    """A `bundled` for a session without skills and plugins."""
    return None


class AddedPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """The directories outside the workspace that the user lets a session read.

    `directories` makes the object when it is first used; `now` are its paths, without making it.
    """

    directories: "Callable[[], AddedDirectories]"
    now: Callable[[], Collection[Path]]


class PolicyContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a decision depends on, other than the call: the mode, the rules in force, paths.

    `grants` are the rules granted for this session. Read-only git commands are not harmless in an untrusted workspace,
    nor where `git_safety` reports a problem; `git_programs` are the programs that the user's git configuration runs.
    `files` says what is hidden from the model. `sandbox_missing`: a sandbox is wanted, but none works here, so even
    read-only commands need approval. `bundled` finds files that come with skills and plugins. `confinement` is
    the proof that a command is confined and can be undone, or why it is not; None if nobody has looked. `entries` finds
    the files that decide what commands mean; None where rules cannot depend on them. `own_network`: commands reach no
    servers of this machine but those of the session. `added` are directories outside the workspace that the user lets
    the session read.
    """

    mode: PermissionMode
    resolver: PathResolver
    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()
    grants: tuple[Rule, ...] = ()
    files: KeptFiles = KeptFiles()
    trusted: bool = True
    git_safety: Callable[[str], GitSafety] = only_at_the_root
    git_programs: Callable[[], ConfiguredPrograms] = ConfiguredPrograms
    run_outside: RunOutside = nothing_outside
    bundled: FindBundled = nothing_bundled
    sandboxed: bool = False
    sandbox_missing: bool = False
    confinement: "Confinement | None" = None
    entries: "Callable[[], ApprovedEntries] | None" = None
    own_network: Callable[[], bool] = lambda: False
    added: "AddedPlaces | None" = None

    def is_added(self, location: str) -> bool:
        """Whether an absolute path is in a directory that the user lets the session read."""
        return self.added is not None and self.added.directories().holding(location) is not None

    @property
    def accepts_edits(self) -> bool:
        """Whether the mode allows edits inside the workspace."""
        return self.mode in {PermissionMode.ACCEPT_EDITS, PermissionMode.CONFINED}


Stage = tuple[str, Callable[[T, PolicyContext], Verdict | None]]


def first_verdict(stages: Sequence[Stage[T]], subject: T, context: PolicyContext) -> Verdict:
    """The verdict of the first stage that gives one, with the names of the stages up to it."""
    names: list[str] = []
    for name, stage in stages:
        names.append(name)
        verdict = stage(subject, context)
        if verdict is not None:
            return msgspec.structs.replace(verdict, steps=tuple(names))
    return deny("No rule covers this call.")


def asked_if_run_outside(words: Sequence[str], context: PolicyContext) -> Verdict | None:
    """An ask if one of these paths, followed through links, is code that runs outside the sandbox."""
    for word in words:
        for location in context.resolver.locations(word):
            inside = context.run_outside(location)
            if inside is not None:
                runner = "a hook, an MCP server, the status line or Robota itself"
                reason = f"{inside} is protected: {runner} runs it outside the sandbox."
                return ask(reason, f"run outside the sandbox {inside}")
    return None


def allow(reason: str, rule: str | None = None) -> Verdict:
    """A verdict that lets the call run."""
    return Verdict(decision=Decision.ALLOW, reason=reason, rule=rule)


def ask(reason: str, rule: str | None = None) -> Verdict:
    """A verdict that needs approval."""
    return Verdict(decision=Decision.ASK, reason=reason, rule=rule)


def deny(reason: str, rule: str | None = None) -> Verdict:
    """A verdict that forbids the call."""
    return Verdict(decision=Decision.DENY, reason=reason, rule=rule)
