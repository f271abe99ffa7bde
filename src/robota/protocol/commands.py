"""What a client may tell the engine."""

from robota.protocol.asks.answer import Answer
from robota.protocol.completion import PromptCompletion
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.rewind import RewindScope
from robota.protocol.slash_commands import CommandOutcome
from robota.protocol.wire import OpenValue, Value


class ClientCommand(OpenValue, frozen=True, kw_only=True, tag_field="type"):
    """A command; `request_id` comes back with the receipt where the transport is not a function call."""

    request_id: str | None = None


class NewTask(ClientCommand, frozen=True, kw_only=True, tag="newTask"):
    """Start a task with a prompt, or with a command line of the person (`is_command`)."""

    text: str
    images: tuple[str, ...] = ()
    task_id: str | None = None
    mode: str | None = None
    is_command: bool = False


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
    """Send words to the model with its next request, or `after_turn`, when it has handed the floor back.

    If it `is_command`, the text is a command line of the person's own: it runs then, and the model is shown its output.
    """

    text: str
    images: tuple[str, ...] = ()
    after_turn: bool = False
    is_command: bool = False


class EditQueuedMessage(ClientCommand, frozen=True, kw_only=True, tag="editQueuedMessage"):
    """Replace a message that still waits; with `after_turn` also until when."""

    id: str
    text: str
    images: tuple[str, ...] = ()
    after_turn: bool | None = None


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


class CondensePreviewRequest(ClientCommand, frozen=True, kw_only=True, tag="condensePreviewRequest"):
    """Tell in a `condensePreview` what would become of the conversation if it were condensed now."""


class RestoreContext(ClientCommand, frozen=True, kw_only=True, tag="restoreContext"):
    """Undo a condensation, a truncation or a cut, so that the model is shown again what it hid.

    `id` names it; without one the newest is meant.
    """

    id: str | None = None


class PinTurn(ClientCommand, frozen=True, kw_only=True, tag="pinTurn"):
    """Keep a turn of the conversation word for word, whatever else is taken out of the context; or no longer."""

    turn: int
    is_pinned: bool = True


class ContextRequest(ClientCommand, frozen=True, kw_only=True, tag="contextRequest"):
    """Tell what fills the context window: the next `contextUpdate` has all entries."""


class RetryNow(ClientCommand, frozen=True, kw_only=True, tag="retryNow"):
    """Do not wait out the pause before the next try."""


class RunSlashCommand(ClientCommand, frozen=True, kw_only=True, tag="slashCommand"):
    """Run a slash command, given as it was typed: `/mode architect`. The receipt carries what it gave back."""

    line: str


class ListSlashCommands(ClientCommand, frozen=True, kw_only=True, tag="slashCommands"):
    """Ask for every slash command there is; they come with the receipt."""


class CompletePrompt(ClientCommand, frozen=True, kw_only=True, tag="complete"):
    """Ask what may be typed at the `caret`, a number of characters of the text; the words come with the receipt.

    `limit` is how many are wanted at most.
    """

    text: str
    caret: int
    limit: int = 50


class ListRewindPoints(ClientCommand, frozen=True, kw_only=True, tag="rewindList"):
    """Tell which prompts can be gone back to; answered with `rewindPoints`."""


class ShowRewindDiff(ClientCommand, frozen=True, kw_only=True, tag="rewindDiff"):
    """Tell what the calls of a prompt changed, or all since the first change; answered with `rewindDiff`."""

    number: int | None = None


class OlderRowsRequest(ClientCommand, frozen=True, kw_only=True, tag="olderRows"):
    """Ask for the newest rows of the task before the row `before_ts`, or the newest of all; answered with `olderRows`.

    At most `limit` come, and never more than 1,000.
    """

    before_ts: int | None = None
    limit: int = 100


class GoBack(ClientCommand, frozen=True, kw_only=True):
    """Answered with `rewindPreview` if `is_preview`, and nothing changes; else with `rewound`.

    `state` is that of a preview: if other changes of files would come of it now, nothing changes.
    """

    is_preview: bool = False
    state: str = ""


class RewindTo(GoBack, frozen=True, kw_only=True, tag="rewind"):
    """Go back to before a prompt, by its number, or to before a call. `only` are files and directories: no others are
    restored, and the conversation stays.
    """

    number: int | None = None
    call_id: str | None = None
    scope: RewindScope = RewindScope.BOTH
    only: tuple[str, ...] = ()


class UndoRewind(GoBack, frozen=True, kw_only=True, tag="rewindUndo"):
    """Take the newest way back in this session back."""


class RedoRewind(GoBack, frozen=True, kw_only=True, tag="rewindRedo"):
    """Go the way again that was undone last."""


ContextCommand = CondenseContext | ContextRequest | CondensePreviewRequest | RestoreContext | PinTurn
RewindRequest = RewindTo | UndoRewind | RedoRewind
RewindCommand = ListRewindPoints | ShowRewindDiff | RewindRequest
SlashCommand = RunSlashCommand | ListSlashCommands | CompletePrompt

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
    | ContextCommand
    | RetryNow
    | SlashCommand
    | RewindCommand
    | OlderRowsRequest
)


class Accepted(Value, frozen=True, kw_only=True, tag="accepted", tag_field="receipt"):
    """The command was taken. `id` names what it made: a task, a queued message.

    `is_deferred` says that it takes effect later: before the next request to the model. `outcome` is what a slash
    command gave back, `completion` what `complete` found.
    """

    id: str | None = None
    is_deferred: bool = False
    outcome: CommandOutcome | None = None
    completion: PromptCompletion | None = None


class Refused(Value, frozen=True, kw_only=True, tag="refused", tag_field="receipt"):
    """The command was not taken and changed nothing."""

    code: str
    message: str


Receipt = Accepted | Refused
