"""What a client may tell the engine."""

from robota.protocol.asks.answer import Answer
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.slash_commands import CommandOutcome
from robota.protocol.wire import OpenValue, Value


class ClientCommand(OpenValue, frozen=True, kw_only=True, tag_field="type"):
    """A command; `request_id` comes back with the receipt where the transport is not a function call."""

    request_id: str | None = None


class NewTask(ClientCommand, frozen=True, kw_only=True, tag="newTask"):
    """Start a task with a prompt."""

    text: str
    images: tuple[str, ...] = ()
    task_id: str | None = None
    mode: str | None = None


class ClearTask(ClientCommand, frozen=True, kw_only=True, tag="clearTask"):
    """End the task and show none."""


class CancelTask(ClientCommand, frozen=True, kw_only=True, tag="cancelTask"):
    """Stop what runs now. The task can be resumed."""


class AskResponse(ClientCommand, frozen=True, kw_only=True, tag="askResponse"):
    """An answer. `ts` names the ask; without it the pending ask is meant, as the seed's clients do.

    `answer` is the typed value. The other fields are the seed's form of the same, which counts where `answer` is
    absent: with a yes, `grant` names rules of the ask's suggestions, for the `grant_scope` session, project or user. An
    `objectResponse` is a yes to something else: its text is JSON, either `{"input": {…}}` for another input, or
    `{"hunks": [0, 2]}` for only these changes of the diff.
    """

    answer: Answer | None = None
    ask_response: str = ""
    text: str | None = None
    images: tuple[str, ...] = ()
    ts: int | None = None
    grant: tuple[str, ...] = ()
    grant_scope: str = "session"


class TerminalOperation(ClientCommand, frozen=True, kw_only=True, tag="terminalOperation"):
    """`continue` or `abort` for the command that runs now."""

    terminal_operation: str


class QueueMessage(ClientCommand, frozen=True, kw_only=True, tag="queueMessage"):
    """Send words to the model as soon as it can take them."""

    text: str
    images: tuple[str, ...] = ()


class EditQueuedMessage(ClientCommand, frozen=True, kw_only=True, tag="editQueuedMessage"):
    """Replace a message that still waits."""

    id: str
    text: str
    images: tuple[str, ...] = ()


class RemoveQueuedMessage(ClientCommand, frozen=True, kw_only=True, tag="removeQueuedMessage"):
    """Take back a message that still waits."""

    id: str


class SwitchMode(ClientCommand, frozen=True, kw_only=True, tag="mode"):
    """Switch the task to another mode; `text` is its slug."""

    text: str


class SetPermissionMode(ClientCommand, frozen=True, kw_only=True, tag="permissionMode"):
    """Change how much is asked before calls run."""

    permission_mode: PermissionMode


class CondenseContext(ClientCommand, frozen=True, kw_only=True, tag="condenseTaskContextRequest"):
    """Condense the conversation at the next safe point; `text` is what the summary must keep above all."""

    text: str | None = None


class ContextRequest(ClientCommand, frozen=True, kw_only=True, tag="contextRequest"):
    """Tell what fills the context window: the next `contextUpdate` has all entries."""


class RetryNow(ClientCommand, frozen=True, kw_only=True, tag="retryNow"):
    """Do not wait out the pause before the next try."""


class RunSlashCommand(ClientCommand, frozen=True, kw_only=True, tag="slashCommand"):
    """Run a slash command, given as it was typed: `/mode architect`. The receipt carries what it gave back."""

    line: str


class ListSlashCommands(ClientCommand, frozen=True, kw_only=True, tag="slashCommands"):
    """Ask for every slash command there is; they come with the receipt."""


Command = (
    NewTask
    | ClearTask
    | CancelTask
    | AskResponse
    | TerminalOperation
    | QueueMessage
    | EditQueuedMessage
    | RemoveQueuedMessage
    | SwitchMode
    | SetPermissionMode
    | CondenseContext
    | ContextRequest
    | RetryNow
    | RunSlashCommand
    | ListSlashCommands
)


class Accepted(Value, frozen=True, kw_only=True, tag="accepted", tag_field="receipt"):
    """The command was taken. `id` names what it made: a task, a queued message.

    `is_deferred` says that it takes effect later: before the next request to the model. `outcome` is what a slash
    command gave back.
    """

    id: str | None = None
    is_deferred: bool = False
    outcome: CommandOutcome | None = None


class Refused(Value, frozen=True, kw_only=True, tag="refused", tag_field="receipt"):
    """The command was not taken and changed nothing."""

    code: str
    message: str


Receipt = Accepted | Refused
