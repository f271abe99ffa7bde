"""Decides about a shell command: each simple command in it goes through the stages, and the strictest verdict wins."""

import posixpath
from collections.abc import Iterator
from typing import Final, assert_never

import msgspec

from robota.contracts.verdict import Decision, PartVerdict, Subject, Verdict
from robota.policy.protected.path_resolver import (
    STEPS_OF_COMMAND,
    PathResolver,
    TooMuchWork,
    credential_store,
    measured,
    measured_files,
    protected_dot_pattern,
    protected_pattern,
)
from robota.policy.shell.bundled_scripts import bundled_script, bundled_word
from robota.policy.shell.command_part import CommandPart, command_part, names_in
from robota.policy.shell.command_rules import MatchingRule, may_write, rule_against, rule_for, takes_text
from robota.policy.shell.confined_command import by_confinement
from robota.policy.shell.critical_paths import critical_target, critical_target_in_text
from robota.policy.shell.hidden_in_search import hidden_in_search, secret_in_search
from robota.policy.shell.opaque_command import OPAQUE_STAGES, OpaqueCommand, is_asked_anyway
from robota.policy.shell.readonly import NOT_IN_SUBMODULES, GitLook, is_known
from robota.policy.shell.readonly_commands import COMMANDS
from robota.policy.stages import (
    CHANGED_BUNDLE,
    PolicyContext,
    Stage,
    allow,
    ask,
    asked_if_run_outside,
    deny,
    first_verdict,
)
from robota.protocol.permission_mode import PermissionMode
from robota.text.visible import visible
from robota.workspace.shell.reading import read_script
from robota.workspace.shell.script import Opaque, Plain, SimpleCommand, Unjudgeable
from robota.workspace.shell.wrappers import MAX_DEPTH, TooDeep, program, unwrap

STRICTEST_FIRST: Final = (Decision.DENY, Decision.ASK, Decision.ALLOW)
MAX_DIRECTORIES: Final = 8
TABS: Final = frozenset("\t")
NETWORK_FILES: Final = ("/dev/tcp/", "/dev/udp/")
TEMPORARY: Final = ("/tmp/", "/var/tmp/")
# Plan mode denies then what is not read-only; confined mode decides by the proof of confinement.
LEAVE_IT_TO_THE_MODE: Final = frozenset({PermissionMode.PLAN, PermissionMode.CONFINED})
ELEVATING: Final = frozenset({"sudo", "doas", "su", "pkexec"})
BUNDLED_SCRIPT: Final = "script of a skill or plugin"
ENTRY_CHANGED: Final = "You allowed `{}`, but it may mean something else now: {} changed since then."
NOT_WORD_BY_WORD: Final = "it cannot be checked word by word"
NO_SANDBOX: Final = "No sandbox works on this machine, so every command needs approval."


def decide_command(subject: Subject, command: str, context: PolicyContext) -> Verdict:
    """The verdict about the whole command is the strictest verdict about any part."""
    script = read_script(command)
    resolver = measured(context.resolver)
    context = msgspec.structs.replace(context, resolver=resolver, files=measured_files(context.files, resolver.work))
    try:
        match script:
            case Plain():
                resolver.work.spend(len({each.argv for each in script.commands}) * STEPS_OF_COMMAND)
                return _decide_plain(subject, script, context)
            case Opaque(reason=reason, possible=possible):
                opaque = OpaqueCommand(
                    text=command,
                    reason=reason,
                    possible=possible,
                    tool=subject.tool,
                    label=subject.label,
                    directories=_start(subject, context),
                )
                verdict = first_verdict(OPAQUE_STAGES, opaque, context)
                return msgspec.structs.replace(verdict, parts=(_part(command, verdict),), no_rule=NOT_WORD_BY_WORD)
            case Unjudgeable(reason=reason):
                return _beyond_limits(reason)
            case _:
                assert_never(script)
    except TooMuchWork:
        if isinstance(script, Opaque) and is_asked_anyway(subject.tool, subject.label, context):
            return ask("The command is too large to be checked word by word and needs approval as a whole.")
        return _beyond_limits("It names too many files to check; split it into smaller commands.")


def files_written(subject: Subject, command: str, context: PolicyContext) -> tuple[str, ...] | None:
    """The paths that a command writes; None if unknown, for example because it runs programs that may do anything."""
    # Imported here because few sessions need it.
    from robota.policy.shell.written_files import written_files

    script = read_script(command)
    if not isinstance(script, Plain):
        return None
    resolver = measured(context.resolver)
    context = msgspec.structs.replace(context, resolver=resolver)
    try:
        parts = _parts(subject, script, context, resolver)
    except TooMuchWork:
        return None
    return None if parts is None else written_files(parts, resolver, trusted=context.trusted)


def _beyond_limits(reason: str) -> Verdict:
    return msgspec.structs.replace(deny(f"The command cannot be checked. {reason}"), steps=("hard limits",))


def _decide_plain(subject: Subject, script: Plain, context: PolicyContext) -> Verdict:
    parts = _parts(subject, script, context, context.resolver)
    if len(script.commands) > 1 and parts and any(part.looks is None or part.written for part in parts):
        # One command may create a file whose name another command interprets as a flag.
        parts = _parts(subject, script, context, None)
    if parts is None:
        reason = f"More than {MAX_DEPTH} commands are nested, which hides what runs."
        return msgspec.structs.replace(deny(reason), steps=("hard limits",))
    if len(parts) > 1 and any(part.may_bring_files for part in parts):
        # The repository was checked before the command; new files could change what git does in it.
        context = msgspec.structs.replace(context, trusted=False)
    judged = _judged(parts, context)
    worst = min((verdict for _, verdict in judged), key=lambda verdict: STRICTEST_FIRST.index(verdict.decision))
    reason = worst.reason
    if len(judged) > 1:
        text = next(part.command.text for part, verdict in judged if verdict is worst)
        reason = f"{_shortened(text)}: {worst.reason}" if worst.decision is not Decision.ALLOW else worst.reason
    verdict = msgspec.structs.replace(
        worst,
        reason=reason,
        # A line break within a quoted word would appear to end the part.
        parts=tuple(_part(visible(part.command.text, keep=TABS), verdict) for part, verdict in judged),
        pinned=tuple(dict.fromkeys(file for _, verdict in judged for file in verdict.pinned)),
    )
    return _with_offers(verdict, judged, context) if worst.decision is Decision.ASK else verdict


def _with_offers(verdict: Verdict, judged: list[tuple[CommandPart, Verdict]], context: PolicyContext) -> Verdict:
    from robota.policy.shell.offered_rules import offered_rules

    offered = offered_rules(judged, context)
    return msgspec.structs.replace(
        verdict,
        suggestions=offered.suggestions,
        no_rule=offered.no_rule,
        changed=tuple(change for _, each in judged for change in each.changed),
    )


def _judged(parts: list[CommandPart], context: PolicyContext) -> list[tuple[CommandPart, Verdict]]:
    """Each part with its verdict; identical parts are judged only once."""
    verdicts: dict[tuple[object, ...], Verdict] = {}
    judged = []
    for part in parts:
        same_words = (part.command.argv, part.command.redirects, part.command.globs)
        key = (*same_words, part.directories, part.feeder, part.follows_new_files)
        if key not in verdicts:
            verdicts[key] = first_verdict(PART_STAGES, part, context)
        judged.append((part, verdicts[key]))
    return judged


def _parts(
    subject: Subject, script: Plain, context: PolicyContext, resolver: PathResolver | None
) -> list[CommandPart] | None:
    """The parts of the command in order (see `command_part`); None if wrappers are nested too deeply."""
    parts: list[CommandPart] = []
    for command, directories in _with_directories(script, _start(subject, context), context):
        unwrapped = unwrap(command.argv)
        if isinstance(unwrapped, TooDeep):
            return None
        part = command_part(command, unwrapped, directories, subject, resolver)
        if part.looks is not None and context.resolver.takes_from_workspace(part.inner[0]):
            part = msgspec.structs.replace(part, looks=None)
        if parts and "xargs" in unwrapped.wrappers:
            part = msgspec.structs.replace(part, feeder=parts[-1].command.text)
        if any(each.may_bring_files and program(each.inner) != "mkdir" for each in parts):
            part = msgspec.structs.replace(part, follows_new_files=True)
        parts.append(part)
    return parts


def _start(subject: Subject, context: PolicyContext) -> tuple[str, ...]:
    """The directories the command may start in, taken from the paths of the call."""
    paths_inside = (context.resolver.inside(path) for path in subject.touches.paths)
    return tuple(dict.fromkeys(inside for inside in paths_inside if inside is not None)) or (".",)


def _with_directories(
    script: Plain, start: tuple[str, ...], context: PolicyContext
) -> Iterator[tuple[SimpleCommand, tuple[str, ...]]]:
    """Each command with every directory it may run in, because an earlier `cd` may have failed."""
    directories = start
    for command in script.commands:
        yield command, directories
        if "cd" in command.argv:
            moved = (posixpath.normpath(posixpath.join(each, _target(command, context))) for each in directories)
            # An absolute path to the workspace is the workspace.
            paths_inside = (context.resolver.inside(each) or each for each in moved)
            directories = tuple(dict.fromkeys((*directories, *paths_inside)))
        if len(directories) > MAX_DIRECTORIES:
            directories = ("/",)


def _target(command: SimpleCommand, context: PolicyContext) -> str:
    """The target of a `cd`; "/" if it is unknown."""
    if command.argv == ("cd",):
        return str(context.resolver.home or "/")
    if len(command.argv) != 2 or command.argv[1].startswith("-") or command.globs:
        return "/"
    return context.resolver.locations(command.argv[1])[0] if command.argv[1].startswith("~") else command.argv[1]


def _part(text: str, verdict: Verdict) -> PartVerdict:
    # A line break within a quoted word would appear to end the part.
    return PartVerdict(
        text=visible(text, keep=TABS), decision=verdict.decision, reason=verdict.reason, rule=verdict.rule
    )


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:57]}..."


def _by_limits(part: CommandPart, context: PolicyContext) -> Verdict | None:
    for redirect in part.command.redirects:
        if redirect.target.startswith(NETWORK_FILES):
            return deny(f"{redirect.target} opens a network connection, which a redirection must not do.")
    elevating = next((name for name in (*part.unwrapped.wrappers, program(part.inner)) if name in ELEVATING), None)
    if elevating and context.sandboxed:
        return deny(f"{elevating} does not work in the sandbox: privileges cannot be raised there.")
    ignored = _ignored(part, part.looked_at, context)
    if ignored is not None:
        return deny(f"{ignored!r} is hidden from the model by .robotaignore.", ".robotaignore")
    if context.mode is PermissionMode.PLAN and (part.looks is None or part.written):
        return deny(f"Plan mode runs only commands that are known to be read-only; {part.inner[0]} might do more.")
    return None


def _ignored(part: CommandPart, words: tuple[str, ...], context: PolicyContext) -> str | None:
    """The word that names a file or directory hidden from the model by `.robotaignore`."""
    if not words or not context.files.ignores_any():
        return None
    pieces = dict.fromkeys(piece for word in words for piece in names_in(word) if piece)
    for word, location in part.locations(pieces, context.resolver):
        inside = context.resolver.inside(location)
        if inside not in {None, "."} and context.files.is_ignored(inside or ""):
            return word
    return None


def _by_deny_rules(part: CommandPart, context: PolicyContext) -> Verdict | None:
    rule = rule_against(part, context.deny, context)
    return deny(f"The deny rule {rule.text} forbids it.", rule.text) if rule else None


def _by_ask_rules(part: CommandPart, context: PolicyContext) -> Verdict | None:
    rule = rule_against(part, context.ask, context)
    return ask(f"The ask rule {rule.text} requires approval.", rule.text) if rule else None


def _by_critical_paths(part: CommandPart, context: PolicyContext) -> Verdict | None:
    for directory in part.directories:
        word = critical_target(part.inner, context.resolver, directory)
        if word is None and (part.feeder or not takes_text(part)):
            text = f"{part.feeder} | {part.command.text}" if part.feeder else part.command.text
            word = critical_target_in_text(text, context.resolver, directory)
        if word is not None:
            reason = (
                f"Deleting {word!r} could destroy your system or your files. No permission mode or rule can approve "
                "this."
            )
            return ask(reason, "critical path")
    return None


def _by_protected_paths(part: CommandPart, context: PolicyContext) -> Verdict | None:
    if context.mode is PermissionMode.BYPASS:
        return None
    verdict = _by_what_it_writes(part, context) or _by_what_it_names(part, context)
    return hidden_in_search(part, context) if verdict is None and part.searches else verdict


def _by_what_it_writes(part: CommandPart, context: PolicyContext) -> Verdict | None:
    locations = part.locations(part.written, context.resolver)
    for target, location in locations:
        if context.resolver.inside(location) is None and not location.startswith(TEMPORARY):
            return deny(f"It writes to {target!r}, which is outside the workspace {str(context.resolver.root)!r}.")
    names = (name for _, location in locations for name in context.resolver.names(location))
    pattern = next((matched for name in names if (matched := protected_pattern(name))), None)
    if pattern is None:
        return asked_if_run_outside([location for _, location in locations], context)
    reason = f"It writes to {pattern}, which is protected: it can run code or contain secrets."
    return ask(reason, f"protected {pattern}")


def _by_what_it_names(part: CommandPart, context: PolicyContext) -> Verdict | None:
    is_protected = context.files.secret_pattern if part.looks else protected_dot_pattern
    # Unless a command is read-only, it could do anything in the directory it runs in.
    words = part.named if part.looks else (".", *part.named)
    ignored = _ignored(part, part.named, context)
    if ignored is not None:
        return ask(f"It names {ignored!r}, which .robotaignore hides from the model.", ".robotaignore")
    # Commands cannot write to the files of skills and plugins, so it is harmless to name them.
    uses_bundles = context.sandboxed and (part.looks is not None or bundled_script(part, context) is not None)
    for word, location in part.locations(words, context.resolver):
        bundled = context.bundled(location) if uses_bundles else None
        if bundled is not None and bundled.problem:
            return ask(f"{word!r} belongs to {bundled.owner}: {bundled.problem}.", CHANGED_BUNDLE)
        if bundled is not None and context.files.secret_pattern(location.lstrip("/")) is None:
            continue
        inside = context.resolver.inside(location)
        store = credential_store(location)
        if store is not None and inside is None:
            return deny(f"{word!r} resolves to {store}, which holds credentials.", f"credentials {store}")
        if inside is None and part.looks is not None and context.is_added(location):
            inside = location.lstrip("/")
        pattern = store or (is_protected(inside) if inside is not None else _steers_outside(part, location))
        if pattern is not None:
            reason = f"It names {pattern}, which is protected: it can run code or contain secrets."
            return ask(reason, f"protected {pattern}")
    return None


def _steers_outside(part: CommandPart, location: str) -> str | None:
    """A file such as ~/.bashrc that the command may change; reading outside the workspace needs approval anyway."""
    return None if part.looks else protected_dot_pattern(location.lstrip("/"))


def _by_allow_rules(part: CommandPart, context: PolicyContext) -> Verdict | None:
    match = rule_for(part, context.allow, context)
    return _allowed(match, f"The allow rule {match.rule.text} permits it.") if match else None


def _by_grants(part: CommandPart, context: PolicyContext) -> Verdict | None:
    match = rule_for(part, context.grants, context)
    return _allowed(match, f"The user allowed {match.rule.text} for this session.") if match else None


def _allowed(match: MatchingRule, reason: str) -> Verdict:
    return msgspec.structs.replace(allow(reason, match.rule.text), pinned=match.pinned)


def _by_bundled_scripts(part: CommandPart, context: PolicyContext) -> Verdict | None:
    """The scripts of skills and plugins that the user approved need no approval of their own in the sandbox."""
    script = bundled_script(part, context)
    if script is None or script.file.problem or part.feeder or not may_write(part, context):
        return None
    reason = f"{script.word!r} is a script of {script.file.owner}, which you approved, and runs in the sandbox."
    return allow(reason, BUNDLED_SCRIPT)


def _by_looking(part: CommandPart, context: PolicyContext) -> Verdict | None:
    """Known read-only commands need no approval inside the workspace."""
    if part.looks is None or not may_write(part, context) or context.mode is PermissionMode.BYPASS:
        return None
    if part.looks.git is not None and (problem := _problem_with_git(part, part.looks.git, context)) is not None:
        return None if context.mode in LEAVE_IT_TO_THE_MODE else ask(problem)
    for word, location in part.locations(part.looked_at, context.resolver):
        is_readable = context.sandboxed and (
            context.is_added(location) or bundled_word(part, word, context) is not None
        )
        if context.resolver.inside(location) is None and not is_readable:
            return None if context.mode is PermissionMode.CONFINED else _not_outside(word, context)
    if part.looks.takes_no_directories and _takes_directories(part, context):
        return None
    if context.sandbox_missing:
        return ask(NO_SANDBOX)
    if part.searches and (problem := secret_in_search(part, context)) is not None:
        return None if context.mode in LEAVE_IT_TO_THE_MODE else ask(problem)
    if part.written:
        return allow(f"{part.inner[0]} only reads, and its output file may be edited.")
    reason = f"{part.inner[0]} with these arguments only reads, and only inside the workspace."
    return allow(reason, "read-only command")


def _takes_directories(part: CommandPart, context: PolicyContext) -> bool:
    words = part.looks.paths if part.looks else ()
    return any(context.resolver.may_be_directory(word, each) for word in words for each in part.directories)


def _problem_with_git(part: CommandPart, look: GitLook, context: PolicyContext) -> str | None:
    """Why a git command that appears read-only may do more; None if it does not."""
    if not context.trusted:
        return "git obeys the configuration of its repository, and this workspace is not trusted."
    repositories = [context.git_safety(directory) for directory in part.directories]
    problem = next((repository.problem for repository in repositories if repository.problem is not None), None)
    if problem is not None:
        return f"git obeys the configuration of its repository, which needs approval here: {problem}."
    if (
        any(repository.reaches_above for repository in repositories)
        and part.looks is not None
        and part.looks.search is not None
    ):
        return "The root of the repository is above the workspace, so git would also print files outside the workspace."
    if not (look.diffs or look.compares):
        return None
    programs = context.git_programs()
    if look.searches_submodules and programs.recurses:
        return f"Your git configuration makes it search submodules too; with {NOT_IN_SUBMODULES} it does not."
    named = (look.diffs and programs.for_diffs) or (look.compares and programs.for_files)
    return f"Your git configuration names a program that may run ({named}), so this needs approval." if named else None


def _not_outside(word: str, context: PolicyContext) -> Verdict:
    outside = f"{word!r} is outside the workspace {str(context.resolver.root)!r}"
    if context.mode is PermissionMode.PLAN:
        return deny(f"{outside}, and plan mode does not ask for approval.")
    return ask(f"{outside}; reading there needs approval.")


def _by_mode(part: CommandPart, context: PolicyContext) -> Verdict | None:
    if context.mode is PermissionMode.BYPASS:
        return allow("bypassPermissions mode allows everything that is not explicitly denied.")
    if context.mode is PermissionMode.PLAN:
        return deny(f"Plan mode runs only commands that are known to be read-only; {part.inner[0]} might do more.")
    if context.mode is PermissionMode.CONFINED:
        return by_confinement((part.inner,), context)
    if program(part.inner) == "curl" and context.own_network():
        # Imported here because few sessions have a server.
        from robota.policy.shell.own_server import reads_own_server

        if reads_own_server(part):
            return allow("It only reads from a server of this session: in the sandbox, nothing else is on loopback.")
    if any(rule.pin is not None for rule in (*context.grants, *context.allow)):
        return _by_changed_entry(part, context) or ask(_why_asked(part, context))
    return ask(_why_asked(part, context))


def _by_changed_entry(part: CommandPart, context: PolicyContext) -> Verdict | None:
    """Show what changed since the user allowed the same words."""
    from robota.policy.shell.pinned_commands import changed_entry

    changed = changed_entry(part, context)
    if changed is None:
        return None
    words = " ".join(part.command.argv)
    reason = ENTRY_CHANGED.format(words, ", ".join(changed.names) or "what decides its meaning")
    return msgspec.structs.replace(ask(reason), changed=changed.changes)


def _why_asked(part: CommandPart, context: PolicyContext) -> str:
    if not may_write(part, context):
        return f"It writes to {part.written[0]!r}, which needs approval in {context.mode} mode."
    if part.looks is not None and part.looks.takes_no_directories:
        return f"In directories, {part.inner[0]} follows symbolic links wherever they lead, so it needs approval."
    if part.inner[0] in COMMANDS and context.resolver.takes_from_workspace(part.inner[0]):
        return f"{part.inner[0]} is a program of the workspace, so what it does is not known and it needs approval."
    if part.looks is None and is_known(part.inner):
        return f"{part.inner[0]} can do more than read, and not all of these arguments are known to be harmless."
    return f"{part.label} needs approval in {context.mode} mode."


PART_STAGES: Final[tuple[Stage[CommandPart], ...]] = (
    ("hard limits", _by_limits),
    ("deny rules", _by_deny_rules),
    ("ask rules", _by_ask_rules),
    ("critical paths", _by_critical_paths),
    ("protected paths", _by_protected_paths),
    ("allow rules", _by_allow_rules),
    ("session grants", _by_grants),
    ("bundled scripts", _by_bundled_scripts),
    ("read-only commands", _by_looking),
    ("mode", _by_mode),
)
