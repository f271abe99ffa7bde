"""The verb `trust`: show what a workspace would load, and decide whether to trust it."""

from typing import Annotated, Final

import msgspec

from robota.commands.verb import Answer, ConversationVerb, Family, NoArguments, ReadingConversationVerb, ShellVerb, told
from robota.commands.verb_host import VerbHost
from robota.config.arguments import ShellOption, ValuesOption
from robota.protocol.slash_commands import CommandChoice, CommandOption, SessionWanted


class DecideTrust(msgspec.Struct, frozen=True, kw_only=True):
    """What to decide about the workspace."""

    show: Annotated[bool, ShellOption("show what would be loaded and whether it is trusted", group="what")] = False
    yes: Annotated[bool, ShellOption("trust it as it is now, without asking", group="what")] = False
    revoke: Annotated[bool, ShellOption("stop trusting it", group="what")] = False
    own: Annotated[bool, ShellOption("review changes in your own skills and hooks", group="what")] = False
    import_: Annotated[
        tuple[str, ...],
        ValuesOption(
            "allow its instruction files to import these files from outside the workspace, as they are now",
            "FILE",
        ),
    ] = ()


def _show(host: VerbHost, _: NoArguments) -> Answer:
    """Whether the workspace is trusted, and a line that reviews it."""
    trust = host.settings.trust
    if trust is None:
        return told(" ".join(host.settings.ignored) or "This workspace contains nothing that needs trust.")
    sources = trust.snapshot.sources
    if not sources:
        return told(f"{trust.snapshot.root}: {trust.state}.")
    state = f"{trust.snapshot.root}: {trust.state}. It contains: {', '.join(each.path for each in sources)}."
    if trust.is_given:
        return told(state)
    decide = CommandOption(label="decide", line="/trust decide", detail="review everything, like robota trust")
    return Answer(outcome=CommandChoice(title=state, options=(decide,)))


def _decide(host: VerbHost, _: NoArguments) -> Answer:
    """The client asks about the workspace, and reopens the session."""
    session_id = None if host.opened is None else host.opened.options.session_id
    return Answer(outcome=SessionWanted(session_id=session_id, decides_trust=True))


FAMILY: Final = Family(
    name="trust",
    about="Review and trust the settings, hooks, MCP servers and other configuration of a workspace.",
    description="show whether this workspace is trusted, and its configuration",
    default="show",
    hint="[decide]",
    while_working=False,
    main=ShellVerb(
        "trust",
        "review and trust the configuration of a workspace",
        DecideTrust,
        "trust.deciding:decide_trust",
        reason="it shows everything and asks; in a conversation, /trust decide does so",
    ),
    verbs=(
        ReadingConversationVerb(
            "show", "show whether this workspace is trusted, and its configuration", NoArguments, _show
        ),
        ConversationVerb("decide", "review all of it and decide", NoArguments, _decide),
    ),
)
