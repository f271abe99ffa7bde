"""Shows what a workspace would load, and asks whether to trust it."""

from typing import Final

from robota.commands.families.trust import DecideTrust
from robota.commands.trust.files import (
    agree_to_files,
    agree_to_programs,
    ask_about_outside_files,
    ask_about_programs,
    say_files_to_run,
    show_programs,
    undecided_files,
)
from robota.commands.verb import Answer, RawOutput, WrongArguments, printed
from robota.commands.verb_host import VerbHost
from robota.config.settings.load import Settings, load_settings
from robota.config.trust.change_text import change_lines
from robota.config.trust.decision import (
    Trust,
    TrustState,
    answer_about,
    changes,
    forget,
    is_trusted_by_user,
    remember,
)
from robota.config.trust.outside_files import OutsideFileAnswers
from robota.config.trust.own_files import note_own, own_changes, own_parts
from robota.config.trust.sources import ConfigSource
from robota.log.chain.writer import wall_clock_ms
from robota.text.visible import single_line

MAX_PATH: Final = 4096
NOBODY: Final = "Not a terminal, so nobody can answer. To trust it as it is: robota trust --yes"
NOW_TRUSTED: Final = "This workspace is now trusted in its current state."


def decide_trust(host: VerbHost, args: DecideTrust) -> Answer:
    """Decide, or show; the exit code is 0 if the workspace is trusted afterwards, or has no configuration."""
    if args.import_ and (args.show or args.yes or args.revoke or args.own):
        raise WrongArguments("--import cannot be combined with another option. Nothing was changed.")
    if args.revoke:
        is_done = _revoke(host)
    elif args.own:
        is_done = _review_own(host)
    elif args.import_:
        is_done = _import(host, args)
    else:
        is_trusted = _decide(host, args)
        _decide_on_outside_files(host, args)
        is_done = _decide_on_programs(host, args) and is_trusted
    trust = load_settings(host.root, host.env).trust
    data = {"root": str(host.root), "state": None if trust is None else trust.state, "ok": is_done}
    return printed(RawOutput(()), data, ok=is_done)


def ask_if_needed(host: VerbHost) -> None:
    """At an interactive start: ask about a workspace that is new, or changed since the user decided."""
    settings = load_settings(host.root, host.env)
    trust = settings.trust
    if trust is not None and trust.state in (TrustState.UNTRUSTED, TrustState.CHANGED):
        _describe(host, trust)
        if _ask(host, trust, tells_no=False):  # the new session says what it leaves out
            settings = load_settings(host.root, host.env)
    from robota.app.extensions import has_programs

    if settings.is_trusted and has_programs(settings):
        is_undecided = trust is not None and answer_about(settings.trust, host.env) in (None, "own")
        if is_undecided and settings.trust is not None and say_files_to_run(host, settings):
            _ask(host, settings.trust, tells_no=False)
        elif not is_undecided:
            ask_about_programs(host, settings)
    if is_trusted_by_user(settings.trust, host.env):
        ask_about_outside_files(host, settings)


def _decide(host: VerbHost, args: DecideTrust) -> bool:
    settings = load_settings(host.root, host.env)
    trust = settings.trust
    if trust is None:
        host.say(" ".join(settings.ignored))
        return True
    _describe(host, trust)
    if args.show:
        return trust.is_given
    if trust.is_given:
        return _decide_on_files(host, settings, trust, args)
    if args.yes:
        remember("yes", trust.snapshot, host.env, wall_clock_ms())
        host.say(NOW_TRUSTED)
        return True
    if not host.can_ask:
        host.tell(NOBODY)
        return False
    return _ask(host, trust)


def _decide_on_files(host: VerbHost, settings: Settings, trust: Trust, args: DecideTrust) -> bool:
    """Decide on files that need trust although the configuration needs none: instructions, and what programs run.

    Until it is trusted, instructions are only quoted, and programs outside the sandbox run none of its files.
    """
    from robota.app.knowledge.instructions import has_project_instructions

    has_instructions = has_project_instructions(host.root, host.env)
    if is_trusted_by_user(trust, host.env):
        if has_instructions:
            told_as = "It is trusted: its instruction files are sent to the model as yours."
            host.say(f"{told_as} To see them: robota instructions")
        return True
    if has_instructions:
        told_as = "Its instruction files are quoted as data, not given as instructions."
        host.say(f"{told_as} To see them: robota instructions")
    needs_decision = say_files_to_run(host, settings) or has_instructions
    if args.yes:
        remember("yes", trust.snapshot, host.env, wall_clock_ms())
        host.say(NOW_TRUSTED)
    elif needs_decision and host.can_ask:
        _ask(host, trust)
    return True


def _decide_on_outside_files(host: VerbHost, args: DecideTrust) -> None:
    """List the undecided files outside the workspace that its instructions include, or ask about them."""
    settings = load_settings(host.root, host.env)
    if host.can_ask and not args.show and not args.yes:
        ask_about_outside_files(host, settings)
        return
    for file in undecided_files(host, settings):
        path = single_line(file.path, MAX_PATH)
        by = single_line(file.referenced_by, MAX_PATH)
        host.say(f"{by} refers to {path}, outside the workspace, which is ignored.")
        host.say(f"To include it in its current state: robota trust --import {path}")


def _decide_on_programs(host: VerbHost, args: DecideTrust) -> bool:
    """Show which files that run outside the sandbox have changed, and ask about them; whether all may run."""
    settings = load_settings(host.root, host.env)
    if settings.trust is not None and not is_trusted_by_user(settings.trust, host.env):
        return True  # none of them runs
    if args.yes:
        agree_to_programs(host, settings)
        return True
    asks = host.can_ask and not args.show
    return ask_about_programs(host, settings) if asks else show_programs(host, settings)


def _import(host: VerbHost, args: DecideTrust) -> bool:
    agree_to_files(host, args.import_)
    is_trusted = is_trusted_by_user(load_settings(host.root, host.env).trust, host.env)
    if not is_trusted:
        host.say("This takes effect when you trust the workspace: robota trust")
    return is_trusted


def _ask(host: VerbHost, trust: Trust, *, tells_no: bool = True) -> bool:
    if trust.problem is not None:
        host.say(f"It cannot be trusted: {trust.problem}")
        return False
    decision = host.confirm("Do you trust it?", default=False)
    if decision is None:
        if tells_no:
            host.say("Not decided; its configuration is ignored this time.")
        return False
    remember("yes" if decision else "no", trust.snapshot, host.env, wall_clock_ms())
    if decision:
        agree_to_programs(host, load_settings(trust.snapshot.root, host.env))
    if decision or tells_no:
        host.say("Trusted." if decision else "Its configuration is ignored. To decide again: robota trust")
    return decision


def _describe(host: VerbHost, trust: Trust) -> None:
    host.say(f"{single_line(str(trust.snapshot.root), MAX_PATH)}: {trust.state}.")
    if trust.state is TrustState.NOTHING:
        return
    if trust.state is TrustState.CHANGED:
        host.say("Differences from what you trusted:")
        for change in changes(trust, host.env):
            host.say("\n".join(f"  {line}" for line in change_lines(change)))
        return
    host.say("Its configuration can run commands, allow tool calls and change the model's instructions:")
    for source in trust.snapshot.sources:
        host.say(f"  {single_line(source.path, 200)}  ({_content_of(source)})")


def _content_of(source: ConfigSource) -> str:
    if source.is_link:
        return "a link: not followed"
    size = "special or too long: not read" if source.data is None else f"{len(source.data):,} bytes"
    return f"{size}, through a link to {single_line(source.linked_to, 200)}" if source.linked_to else size


def _revoke(host: VerbHost) -> bool:
    was_trusted = forget(host.root, host.env)
    OutsideFileAnswers(host.root, host.env).forget_all()
    state = "is no longer trusted" if was_trusted else "was not trusted"
    host.say(f"{single_line(str(host.root), MAX_PATH)} {state}.")
    return True


def _review_own(host: VerbHost) -> bool:
    """Show changes in the user's own skills, commands, styles and hooks; whether all are reviewed now."""
    parts = own_parts(load_settings(None, host.env).values.hooks or {}, host.env)
    differences = own_changes(parts, host.env)
    if differences is None:
        host.say("Your own skills, commands, styles and hooks, not reviewed before:")
        host.say("\n".join(f"  {single_line(part.name, MAX_PATH)}" for part in parts) or "  none")
    elif not differences:
        host.say("Your own skills, commands, styles and hooks have not changed since you last reviewed them.")
        return True
    else:
        host.say("Differences since you last reviewed them:")
        for change in differences:
            host.say("\n".join(f"  {line}" for line in change_lines(change)))
    decision = host.confirm("Accept these changes?", default=True) if host.can_ask else True
    if not decision:
        if decision is False:
            host.say("Nothing was saved; robota doctor keeps reporting it. Change or remove what you do not want.")
        return False
    note_own(parts, host.env, wall_clock_ms())
    host.say("Saved in robota.lock. robota doctor reports later changes.")
    return True
