"""The commands that a client may send to the engine, and the receipts."""

from robota.protocol.asks.answer import Answer
from robota.protocol.completion import PromptCompletion
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.rewind import RewindScope
from robota.protocol.slash_commands import CommandOutcome
from robota.protocol.wire import OpenValue, Value


class ClientCommand(OpenValue, frozen=True, kw_only=True, tag_field="type"):
    """The base of all commands. `request_id`, chosen by the client, comes back with the receipt."""

    request_id: str | None = None


class NewTask(ClientCommand, frozen=True, kw_only=True, tag="newTask"):
    """Start a task with a prompt, or with a shell command of the user (`is_command`)."""

    text: str
    images: tuple[str, ...] = ()
    task_id: str | None = None
    mode: str | None = None
    is_command: bool = False


class ClearTask(ClientCommand, frozen=True, kw_only=True, tag="clearTask"):
    """End the task and show none."""


class CancelTask(ClientCommand, frozen=True, kw_only=True, tag="cancelTask"):
    """Interrupt the running step with all subtasks; the task can be resumed. `task_id` stops only that subtask."""

    task_id: str | None = None


class AskResponse(ClientCommand, frozen=True, kw_only=True, tag="askResponse"):
    """An answer. `ts` names the ask; without it, the one pending ask is answered, and refused if there are several.

    `answer` is the typed value. The other fields are the untyped form of the same, used if `answer` is absent: with
    a yes, `grant` names rules of the ask's suggestions, for the `grant_scope` session, project or user. An
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
    """`continue` or `abort` the running shell command, or move it to the `background`."""

    terminal_operation: str


class QueueMessage(ClientCommand, frozen=True, kw_only=True, tag="queueMessage"):
    """Queue a message for the next model request, or with `after_turn` for the end of the turn.

    With `is_command` the text is a shell command of the user: it is run, and the model gets its output. `task_id` is
    that of a subtask that runs beside the conversation; without it, the message is for the conversation.
    """

    text: str
    images: tuple[str, ...] = ()
    after_turn: bool = False
    is_command: bool = False
    task_id: str | None = None


class EditQueuedMessage(ClientCommand, frozen=True, kw_only=True, tag="editQueuedMessage"):
    """Replace a queued message, and with `after_turn` when it is sent."""

    id: str
    text: str
    images: tuple[str, ...] = ()
    after_turn: bool | None = None


class RemoveQueuedMessage(ClientCommand, frozen=True, kw_only=True, tag="removeQueuedMessage"):
    """Remove a queued message."""

    id: str


class SwitchMode(ClientCommand, frozen=True, kw_only=True, tag="mode"):
    """Switch the task to another mode; `text` is its slug."""

    text: str


class SetPermissionMode(ClientCommand, frozen=True, kw_only=True, tag="permissionMode"):
    """Change the permission mode."""

    permission_mode: PermissionMode


class CondenseContext(ClientCommand, frozen=True, kw_only=True, tag="condenseTaskContextRequest"):
    """Condense the conversation at the next safe point; `text` is what the summary must keep above all."""

    text: str | None = None


class CondensePreviewRequest(ClientCommand, frozen=True, kw_only=True, tag="condensePreviewRequest"):
    """Request a `condensePreview`: what condensing would do to the conversation now."""


class RestoreContext(ClientCommand, frozen=True, kw_only=True, tag="restoreContext"):
    """Undo a condensation, a truncation or a cut, so that the model gets the hidden turns again.

    `id` names it; the default is the newest.
    """

    id: str | None = None


class PinTurn(ClientCommand, frozen=True, kw_only=True, tag="pinTurn"):
    """Pin or unpin a turn. A pinned turn stays word for word whatever is removed from the context."""

    turn: int
    is_pinned: bool = True


class ContextRequest(ClientCommand, frozen=True, kw_only=True, tag="contextRequest"):
    """Request a `contextUpdate` with all entries of the context window."""


class RetryNow(ClientCommand, frozen=True, kw_only=True, tag="retryNow"):
    """End the pause before the next retry."""


class RunSlashCommand(ClientCommand, frozen=True, kw_only=True, tag="slashCommand"):
    """Run a slash command as it was typed: `/mode architect`. Its outcome comes with the receipt.

    With `as_prompt`, the line came as a prompt, which may be a text of somebody else that begins with a slash: what
    would change something is refused.
    """

    line: str
    as_prompt: bool = False


class ListSlashCommands(ClientCommand, frozen=True, kw_only=True, tag="slashCommands"):
    """Request the list of slash commands; it comes with the receipt."""


class CompletePrompt(ClientCommand, frozen=True, kw_only=True, tag="complete"):
    """Request completions at the `caret`, an offset in characters; at most `limit` come with the receipt."""

    text: str
    caret: int
    limit: int = 50


class ListRewindPoints(ClientCommand, frozen=True, kw_only=True, tag="rewindList"):
    """List the prompts that the session can be rewound to; answered with `rewindPoints`."""


class ShowRewindDiff(ClientCommand, frozen=True, kw_only=True, tag="rewindDiff"):
    """Show what the calls of a prompt changed, or everything since the first change; answered with `rewindDiff`."""

    number: int | None = None


class OlderRowsRequest(ClientCommand, frozen=True, kw_only=True, tag="olderRows"):
    """Request the newest rows of the task before the row `before_ts`, or the newest of all; answered with `olderRows`.

    At most `limit` come, and never more than 1,000. `task_id` is that of any open task; without it, the rows are those
    of the task that is shown.
    """

    before_ts: int | None = None
    limit: int = 100
    task_id: str | None = None


class GoBack(ClientCommand, frozen=True, kw_only=True):
    """The base of rewinds: answered with `rewindPreview` if `is_preview`, and nothing changes; else with `rewound`.

    `state` is that of a preview: if the files would change in another way now, the rewind is refused.
    """

    is_preview: bool = False
    state: str = ""


class RewindTo(GoBack, frozen=True, kw_only=True, tag="rewind"):
    """Rewind to before a prompt, by its number, or to before a call. With `only`, just these files and directories are
    restored, and the conversation stays; without a number and a call, to before the first change of the session.

    `hunks` are single changes of the one file in `only`, by their position in the diff from then to now. The rest of
    the file stays as it is.
    """

    number: int | None = None
    call_id: str | None = None
    scope: RewindScope = RewindScope.BOTH
    only: tuple[str, ...] = ()
    hunks: tuple[int, ...] = ()


class UndoRewind(GoBack, frozen=True, kw_only=True, tag="rewindUndo"):
    """Undo the newest rewind of this session."""


class RedoRewind(GoBack, frozen=True, kw_only=True, tag="rewindRedo"):
    """Redo the rewind that was undone last."""


class UnknownCommand(ClientCommand, frozen=True, kw_only=True, tag="unknown"):
    """What a client sent that is not a command of this protocol. A session refuses it; `problem` says why."""

    problem: str


TaskCommand = NewTask | ClearTask | CancelTask | SwitchMode | SetPermissionMode | RetryNow
InputCommand = AskResponse | QueueMessage | EditQueuedMessage | RemoveQueuedMessage | TerminalOperation
ContextCommand = CondenseContext | ContextRequest | CondensePreviewRequest | RestoreContext | PinTurn
EngineCommand = TaskCommand | InputCommand | ContextCommand
RewindRequest = RewindTo | UndoRewind | RedoRewind
RewindCommand = ListRewindPoints | ShowRewindDiff | RewindRequest
SlashCommand = RunSlashCommand | ListSlashCommands | CompletePrompt

KnownCommand = EngineCommand | RewindCommand | SlashCommand | OlderRowsRequest
Command = KnownCommand | UnknownCommand


class Accepted(Value, frozen=True, kw_only=True, tag="accepted", tag_field="receipt"):
    """The command was accepted. `id` names what it created: a task, a queued message.

    `request_id` is that of the command. `is_deferred` says that it takes effect before the next model request.
    `outcome` is that of a slash command, `completion` the result of `complete`.
    """

    request_id: str | None = None
    id: str | None = None
    is_deferred: bool = False
    outcome: CommandOutcome | None = None
    completion: PromptCompletion | None = None


class Refused(Value, frozen=True, kw_only=True, tag="refused", tag_field="receipt"):
    """The command was refused and changed nothing. `request_id` is that of the command."""

    request_id: str | None = None
    code: str
    message: str


Receipt = Accepted | Refused
