"""Slash commands: what a client needs to offer them, and what running one gives back for the client to draw."""

from enum import StrEnum

import msgspec

from robota.protocol.appearance import Appearance
from robota.protocol.events import CondensePreview, ContextUpdate, OlderRows
from robota.protocol.rewind import RewindResult
from robota.protocol.views import View
from robota.protocol.wire import OpenValue, Value


class TypedCommand(msgspec.Struct, frozen=True):
    """The name of a command and the words after it, as they were typed."""

    name: str
    arguments: str


def typed_command(line: str) -> TypedCommand | None:
    """The command in a line; None if these are words for the model, such as `/etc/hosts is odd`."""
    name, *rest = line.strip().split(maxsplit=1) or ("",)
    if not name.startswith("/") or "/" in name[1:]:
        return None
    return TypedCommand(name[1:], rest[0] if rest else "")


def typed_order(line: str) -> TypedCommand | None:
    """The command in a line at a prompt: one with a slash, or `# words` alone on a line, which are remembered."""
    words = line.strip().removeprefix("# ").strip()
    if line.lstrip().startswith("# ") and words and "\n" not in words:
        return TypedCommand("memory", f"note {words}")
    return typed_command(line)


class CommandSource(StrEnum):
    """Who brought a command."""

    BUILT_IN = "builtin"
    PROGRAM = "program"  # one that embeds Robota
    PROJECT = "project"
    USER = "user"
    SKILL = "skill"
    PLUGIN = "plugin"
    MCP = "mcp"


class SubcommandInfo(Value, frozen=True, kw_only=True):
    """A word that may follow the name of a command."""

    name: str
    description: str = ""
    argument_hint: str = ""


class SlashCommandInfo(OpenValue, frozen=True, kw_only=True):
    """A command as it is offered: without the slash, with what may follow it.

    `while_working` says that it may run while a task runs; `needs_model`, that it makes requests to the model;
    `model_may_call`, that the model may run it by itself.
    """

    name: str
    description: str
    source: CommandSource = CommandSource.BUILT_IN
    aliases: tuple[str, ...] = ()
    argument_hint: str = ""
    subcommands: tuple[SubcommandInfo, ...] = ()
    while_working: bool = True
    needs_model: bool = False
    model_may_call: bool = False

    @property
    def takes_arguments(self) -> bool:
        """Whether anything may follow its name: a prompt takes all that is typed."""
        return self.source is not CommandSource.BUILT_IN or bool(self.argument_hint or self.subcommands)


class CommandOutcomeValue(OpenValue, frozen=True, kw_only=True, tag_field="kind"):
    """What a command gave back. An outcome of an unknown kind has no more to show than that it came."""


class CommandShown(CommandOutcomeValue, frozen=True, kw_only=True, tag="shown"):
    """Something to read. With an `appearance` the client draws like that from now on."""

    view: View
    appearance: Appearance | None = None


class CommandOption(Value, frozen=True, kw_only=True):
    """One of several things to choose from: `line` is the command that chooses it, `preview` one that shows it.

    If `line` ends with a space, the user adds text to it before it is run. With an `appearance`, the client uses it
    while the option is highlighted. `is_current` marks the present choice.
    """

    label: str
    line: str
    detail: str = ""
    preview: str = ""
    appearance: Appearance | None = None
    is_current: bool = False


class CommandChoice(CommandOutcomeValue, frozen=True, kw_only=True, tag="choice"):
    """A choice to make: the client runs the `line` of what was chosen, or nothing."""

    title: str
    options: tuple[CommandOption, ...]


class CommandStarted(CommandOutcomeValue, frozen=True, kw_only=True, tag="started"):
    """Work has begun; the events of the session report the rest.

    If it `is_prompt`, the line is a row of the conversation.
    """

    is_prompt: bool = False


class ContextShown(CommandOutcomeValue, frozen=True, kw_only=True, tag="context"):
    """What fills the context window: the largest things in it, or each one."""

    update: ContextUpdate
    is_whole: bool = False


class RewindShown(CommandOutcomeValue, frozen=True, kw_only=True, tag="rewind"):
    """What a rewind would change; the client runs `line` if the user confirms. If `is_done`, it was done."""

    result: RewindResult
    line: str | None = None
    is_done: bool = False


class PreviewShown(CommandOutcomeValue, frozen=True, kw_only=True, tag="condensePreview"):
    """What would become of the conversation if it were condensed now."""

    preview: CondensePreview


class RowsShown(CommandOutcomeValue, frozen=True, kw_only=True, tag="rows"):
    """Rows of the conversation, and how many there are before them."""

    rows: OlderRows


class AgentsShown(CommandOutcomeValue, frozen=True, kw_only=True, tag="agents"):
    """The agents of the session, or the one whose task is `task_id`, to be watched live. Others show the `view`."""

    view: View
    task_id: str | None = None


class DiffShown(CommandOutcomeValue, frozen=True, kw_only=True, tag="diff"):
    """The changes, as a unified diff."""

    diff: str


class TextCopied(CommandOutcomeValue, frozen=True, kw_only=True, tag="copy"):
    """A text for the user's clipboard; a client without access to it shows the text. `what` names it."""

    text: str
    what: str


class CommandList(CommandOutcomeValue, frozen=True, kw_only=True, tag="commands"):
    """Every command of the session."""

    commands: tuple[SlashCommandInfo, ...]


class ClientClosed(CommandOutcomeValue, frozen=True, kw_only=True, tag="leave"):
    """The user wants to quit; the session stays as it is."""


class SessionWanted(CommandOutcomeValue, frozen=True, kw_only=True, tag="session"):
    """The user wants to continue in another session, in a new one (without an id), or in this one with other settings.

    The client closes this session and opens that one, or says how to. With `sets_up`, it first asks the user for a new
    provider, of that type if it names one; with `decides_trust`, whether to trust the workspace.
    """

    session_id: str | None = None
    provider: str | None = None
    model: str | None = None
    effort: str | None = None
    language: str | None = None
    sets_up: str | None = None
    decides_trust: bool = False


class SessionDetached(CommandOutcomeValue, frozen=True, kw_only=True, tag="detach"):
    """The user wants to leave the terminal, and the session to go on without it.

    The client that runs the session hands it over to another process; a client that only shows it leaves.
    """


class InboxWanted(CommandOutcomeValue, frozen=True, kw_only=True, tag="inbox"):
    """The user wants to see and answer the open questions of all sessions."""


CommandOutcome = (
    CommandShown
    | CommandChoice
    | CommandStarted
    | ContextShown
    | PreviewShown
    | RewindShown
    | RowsShown
    | AgentsShown
    | DiffShown
    | TextCopied
    | CommandList
    | ClientClosed
    | SessionWanted
    | SessionDetached
    | InboxWanted
)
# How a conversation ends, besides an exit code: where the client goes on, or what becomes of the session.
NextStep = SessionWanted | SessionDetached
