"""Decides whether a call may run: a pure function from a call and its context to a verdict with a reason."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

import msgspec

from robota.contracts.tool import AnyTool, Effect
from robota.contracts.verdict import Decision, Subject, Verdict
from robota.policy.protected.path_resolver import (
    KeptFiles,
    PathResolver,
    credential_store,
    hides_what_it_is,
    protected_dot_pattern,
    protected_pattern,
)
from robota.policy.rules.rule import READ, names_tool, possibly_matches, surely_matches
from robota.policy.rules.sources import RuleSet, rules_granted
from robota.policy.stages import (
    ASKED_EVERY_TIME,
    CHANGED_BUNDLE,
    AddedPlaces,
    FindBundled,
    PolicyContext,
    RunOutside,
    Stage,
    allow,
    ask,
    asked_if_run_outside,
    deny,
    first_verdict,
    nothing_bundled,
    nothing_outside,
    only_at_the_root,
)
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.git.git_safety import ConfiguredPrograms, GitSafety

if TYPE_CHECKING:
    from robota.workspace.confinement import Confinement
    from robota.workspace.entry_files.approved_entries import ApprovedEntries

READING: Final = frozenset({Effect.READ, Effect.TALK})
SESSION: Final = "session"
LEAVES_SANDBOX: Final = "Running outside the sandbox needs approval every time."
FOR_GOOD: Final = f"{ASKED_EVERY_TIME}; to allow it for good, add {{}} to sandbox.allowedHosts in your settings"
OPENS_SANDBOX: Final = "Letting it {} from the sandbox, for this command only, needs approval every time."


class SessionPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """`decide` bound to what stays the same for a session.

    `names` maps every name of a tool to its id. `files`, `git_safety`, `git_programs`, `run_outside`, `bundled` and
    `entries` are as in `PolicyContext`, and so are `own_network` and `added`.

    `sandbox_works` is called only for commands, because it starts a probe; None means that no sandbox is wanted.
    `keep_rules` saves rules to the settings, and returns what went wrong.
    """

    rules: RuleSet
    resolver: PathResolver
    names: Mapping[str, str]
    trusted: bool = True
    files: KeptFiles = KeptFiles()
    git_safety: Callable[[str], GitSafety] = only_at_the_root
    git_programs: Callable[[], ConfiguredPrograms] = ConfiguredPrograms
    sandbox_works: Callable[[], bool] | None = None
    run_outside: RunOutside = nothing_outside
    bundled: FindBundled = nothing_bundled
    entries: "Callable[[], ApprovedEntries] | None" = None
    own_network: Callable[[], bool] = lambda: False
    added: AddedPlaces | None = None
    keep_rules: Callable[[str, Sequence[str]], str] = lambda scope, rules: "Rules cannot be saved here."

    def forbids_reading(self, path: str) -> bool:
        """Whether a deny rule forbids reading this file, with any tool."""
        patterns = (rule.paths for rule in self.rules.deny if rule.tool == READ)
        return any(pattern and self.resolver.matches(path, pattern, broadly=True) for pattern in patterns)

    def forbids(self, tool: AnyTool) -> bool:
        """Whether a deny rule forbids every call of a tool."""
        return any(
            rule.spec is None and names_tool(rule, tool.name, tool.label, tool.effects) for rule in self.rules.deny
        )

    def judge(
        self,
        subject: Subject,
        mode: PermissionMode,
        grants: Sequence[str],
        denials: Sequence[str] = (),
        confinement: "Confinement | None" = None,
    ) -> Verdict:
        """Decide about a call, given the permission mode and the rules granted for the session.

        `denials` are temporary deny rules, such as those of a skill. `confinement` is the proof that a command is
        confined and can be undone, or what is missing for it.
        """
        runs = Effect.EXECUTE in subject.effects
        context = PolicyContext(
            mode=mode,
            resolver=msgspec.structs.replace(self.resolver, linked=cache(self.resolver.linked)),
            allow=self.rules.allow,
            ask=self.rules.ask,
            deny=(*rules_granted(denials, self.names), *self.rules.deny) if denials else self.rules.deny,
            grants=rules_granted(grants, self.names) if grants else (),
            files=self.files,
            trusted=self.trusted,
            git_safety=cache(self.git_safety),
            git_programs=self.git_programs,
            run_outside=self.run_outside,
            bundled=self.bundled,
            entries=self.entries,
            own_network=(lambda: False) if subject.touches.outside_sandbox else self.own_network,
            added=self.added,
            sandboxed=self.sandbox_works is not None and not subject.touches.outside_sandbox,
            sandbox_missing=runs and self.sandbox_works is not None and not self.sandbox_works(),
            confinement=None if subject.touches.outside_sandbox or subject.touches.opened else confinement,
        )
        verdict = decide(subject, context)
        if subject.touches.outside_sandbox:
            return ask_to_leave_sandbox(verdict, mode)
        return _ask_to_open(verdict, subject.touches.opened, context) if subject.touches.opened else verdict

    def written_by(self, subject: Subject) -> tuple[str, ...] | None:
        """The files that a command writes, empty if it only reads; None if that is unknown."""
        if subject.touches.command is None:
            return None
        if self.judge(subject, PermissionMode.PLAN, ()).decision is Decision.ALLOW:
            return ()
        from robota.policy.shell.decide_command import files_written

        context = PolicyContext(mode=PermissionMode.PLAN, resolver=self.resolver, trusted=self.trusted)
        return files_written(subject, subject.touches.command, context)

    def decline(self, verdict: Verdict, subject: Subject) -> Verdict:
        """The denial that replaces an ask when no user is available to answer it."""
        # Imported here because most calls need no approval.
        from robota.policy.unattended import unattended

        return unattended(verdict, subject, lambda mode, rules: self.judge(subject, mode, rules).decision)

    def remember(self, scope: str, rules: Sequence[str]) -> str:
        """Note what granted rules depend on, and save them beyond the session; returns what went wrong, or nothing."""
        for rule in rules_granted(rules, self.names):
            if rule.pin is not None and self.entries is not None:
                self.entries().keep(rule.pin)
        return "" if scope == SESSION else self.keep_rules(scope, rules)


def decide(subject: Subject, context: PolicyContext) -> Verdict:
    """The verdict of the first stage that gives one; of a shell command, that of its strictest part."""
    if subject.touches.command is None:
        return first_verdict(CALL_STAGES, subject, context)
    return _decide_command(subject, subject.touches.command, context)


def _under_all_names(subject: Subject, resolver: PathResolver) -> Subject:
    """A call that writes, with the names under which links lead to what it writes: it changes those, too.

    Only stages that speak against a call look at it in this way.
    """
    touches = subject.touches
    if _only_reads(subject) or not touches.paths:
        return subject
    names = (name for path in touches.paths for name in resolver.names(path)[1:])
    paths = tuple(dict.fromkeys((*touches.paths, *names)))
    return msgspec.structs.replace(subject, touches=msgspec.structs.replace(touches, paths=paths))


def _decide_command(subject: Subject, command: str, context: PolicyContext) -> Verdict:
    # Imported with the first command: the shell rules are a large part of policy.
    from robota.policy.shell.decide_command import decide_command

    limit = _by_hard_limits(subject, context)
    if limit is not None:
        return msgspec.structs.replace(limit, steps=("hard limits",))
    for directory in subject.touches.paths:
        if any(context.resolver.inside(location) is None for location in context.resolver.locations(directory)):
            refusal = deny(f"{directory!r} resolves to a directory outside the workspace.")
            return msgspec.structs.replace(refusal, steps=("hard limits",))
    return decide_command(subject, command, context)


def _by_hard_limits(subject: Subject, context: PolicyContext) -> Verdict | None:
    touches = subject.touches
    if any("\0" in text for text in (*touches.paths, touches.command or "", touches.host or "")):
        return deny("Paths, commands and host names must not contain a NUL byte.")
    for path in touches.paths:
        inside = context.resolver.inside(path)
        if inside is None and _only_reads(subject):
            if (refusal := _by_outside_keeper(path, context)) is not None:
                return refusal
            continue
        if inside is None:
            return deny(f"{path!r} is outside the workspace {str(context.resolver.root)!r}.")
        if not _only_reads(subject) and protected_pattern(inside) is not None and hides_what_it_is(path, inside):
            return deny(f"{path!r} names a protected file in a disguised form. Use its plain path to request approval.")
    if touches.command is None and context.mode is PermissionMode.PLAN and not _only_reads(subject):
        return deny(f"{subject.label} is not available in plan mode, where nothing is changed or run.")
    return _by_host(subject)


def _by_outside_keeper(path: str, context: PolicyContext) -> Verdict | None:
    """Of what is outside the workspace, credentials are never read, except where they belong to a skill or plugin."""
    location = context.resolver.absolute(path)
    store = credential_store(location) or (context.added and context.added.directories().keeper_of(location))
    if store is None or context.bundled(path) is not None:
        return None
    return deny(f"{path!r} is in {store}, which may hold credentials and is never read.", f"credentials {store}")


def _by_host(subject: Subject) -> Verdict | None:
    host = subject.touches.host
    if host is None:
        return None
    if not host:
        return deny("The URL has no host name that could be checked.")
    # Imported here because few calls go to the network.
    from robota.policy.rules.hosts import problem_with_host

    problem = problem_with_host(host)
    return deny(f"Fetching from {host!r} is not allowed: {problem}.") if problem else None


def _by_deny_rules(subject: Subject, context: PolicyContext) -> Verdict | None:
    subject = _under_all_names(subject, context.resolver)
    for rule in context.deny:
        if possibly_matches(rule, subject, context.resolver):
            return deny(f"The deny rule {rule.text} forbids it.", rule.text)
    return None


def _by_ask_rules(subject: Subject, context: PolicyContext) -> Verdict | None:
    subject = _under_all_names(subject, context.resolver)
    for rule in context.ask:
        if possibly_matches(rule, subject, context.resolver):
            return ask(f"The ask rule {rule.text} requires approval.", rule.text)
    return None


def _by_protected_paths(subject: Subject, context: PolicyContext) -> Verdict | None:
    if context.mode is PermissionMode.BYPASS:
        return None
    is_protected = context.files.secret_pattern if _only_reads(subject) else protected_pattern
    for path in _under_all_names(subject, context.resolver).touches.paths:
        pattern = is_protected(context.resolver.inside(path) or path)
        if pattern is not None:
            by_link = "" if path in subject.touches.paths else f", and the link {path} leads to this file"
            reason = f"{pattern} is protected{by_link}: it can run code or contain secrets."
            return ask(reason, f"protected {pattern}")
        if not _only_reads(subject) and (verdict := asked_if_run_outside((path,), context)) is not None:
            return verdict
    return None


def _by_outside_places(subject: Subject, context: PolicyContext) -> Verdict | None:
    """Reading outside the workspace is asked about, except in added directories and where a rule names the place."""
    if context.mode is PermissionMode.BYPASS or not _only_reads(subject):
        return None
    outside = [path for path in subject.touches.paths if context.resolver.inside(path) is None]
    unknown = [
        path
        for path in outside
        if not context.is_added(context.resolver.absolute(path)) and context.bundled(path) is None
    ]
    if not unknown:
        return None
    for rule in (*context.grants, *context.allow):
        # A rule without a place, such as `Read`, is about the workspace.
        if (rule.spec or "").startswith(("//", "~/")) and surely_matches(rule, subject, context.resolver):
            return allow(f"The rule {rule.text} permits it.", rule.text)
    from robota.policy.rules.suggest import outside_suggestions

    verdict = ask(f"{unknown[-1]!r} is outside the workspace {str(context.resolver.root)!r}.")
    suggestions = outside_suggestions(subject, context.resolver)
    return msgspec.structs.replace(verdict, suggestions=suggestions, no_rule="" if suggestions else ASKED_EVERY_TIME)


def _by_allow_rules(subject: Subject, context: PolicyContext) -> Verdict | None:
    for rule in context.allow:
        if surely_matches(rule, subject, context.resolver):
            return allow(f"The allow rule {rule.text} permits it.", rule.text)
    return None


def _by_grants(subject: Subject, context: PolicyContext) -> Verdict | None:
    for rule in context.grants:
        if surely_matches(rule, subject, context.resolver):
            return allow(f"The user allowed {rule.text} for this session.", rule.text)
    return None


def _by_readable_places(subject: Subject, context: PolicyContext) -> Verdict | None:
    """Added directories may be read, and files of skills and plugins as far as the user approved them."""
    outside = [path for path in subject.touches.paths if context.resolver.inside(path) is None]
    if outside and all(context.is_added(context.resolver.absolute(path)) for path in outside):
        return allow("The user lets the session read in this directory.", "added directory")
    bundles = [bundled for path in outside if (bundled := context.bundled(path)) is not None]
    changed = next((bundled for bundled in bundles if bundled.problem), None)
    if changed is not None and context.mode is not PermissionMode.BYPASS:
        return ask(f"It reads a file of {changed.owner}: {changed.problem}.", CHANGED_BUNDLE)
    return allow(f"Files of {bundles[0].owner} may be read.") if bundles else None


def _by_mode(subject: Subject, context: PolicyContext) -> Verdict | None:
    mode = context.mode
    if mode is PermissionMode.BYPASS:
        return allow("bypassPermissions mode allows everything that is not explicitly denied.")
    if _only_reads(subject):
        return allow("Reading inside the workspace and talking to the user need no approval.")
    if context.accepts_edits and subject.effects and subject.effects <= READING | {Effect.WRITE}:
        return allow(f"{mode} mode allows edits inside the workspace.")
    from robota.policy.rules.suggest import call_suggestions

    verdict = ask(f"{subject.label} needs approval in {mode} mode.")
    suggestions = call_suggestions(subject, context.resolver)
    return msgspec.structs.replace(verdict, suggestions=suggestions, no_rule="" if suggestions else ASKED_EVERY_TIME)


CALL_STAGES: Final[tuple[Stage[Subject], ...]] = (
    ("hard limits", _by_hard_limits),
    ("deny rules", _by_deny_rules),
    ("ask rules", _by_ask_rules),
    ("protected paths", _by_protected_paths),
    ("outside places", _by_outside_places),
    ("allow rules", _by_allow_rules),
    ("session grants", _by_grants),
    ("readable places", _by_readable_places),
    ("mode", _by_mode),
)


def _only_reads(subject: Subject) -> bool:
    # A tool that declares no effect is not understood, so it gets nothing without approval.
    return bool(subject.effects) and subject.effects <= READING


def _ask_to_open(verdict: Verdict, opened: tuple[str, ...], context: PolicyContext) -> Verdict:
    """The verdict about a command that wants the sandbox to allow hosts or directories."""
    from robota.workspace.sandbox.extra_access import describe_extra_access, problem_with_extra_access

    for entry in opened:
        problem = problem_with_extra_access(entry, context.resolver.root, context.resolver.home)
        pattern = credential_store(entry) or protected_dot_pattern(entry.lstrip("/")) if "/" in entry else None
        if problem is not None or pattern is not None:
            asked = describe_extra_access((entry,))
            return deny(f"The sandbox cannot let it {asked}: {problem or f'{pattern} is protected'}.")
    opening = ask_to_leave_sandbox(verdict, context.mode, OPENS_SANDBOX.format(describe_extra_access(opened)))
    is_one_host = len(opened) == 1 and "/" not in opened[0]
    if opening.decision is not Decision.ASK or not is_one_host:
        return opening
    return msgspec.structs.replace(opening, no_rule=FOR_GOOD.format(opened[0]))


def ask_to_leave_sandbox(verdict: Verdict, mode: PermissionMode, reason: str = LEAVES_SANDBOX) -> Verdict:
    """Turn the verdict into an ask that no rule and no hook can answer. Denials and bypassPermissions stay."""
    if verdict.decision is Decision.DENY or mode is PermissionMode.BYPASS:
        return verdict
    return msgspec.structs.replace(
        verdict,
        decision=Decision.ASK,
        reason=reason,
        rule="sandbox",
        suggestions=(),
        no_rule=ASKED_EVERY_TIME,
        steps=(*verdict.steps, "sandbox"),
    )
