"""The `Tool` type: what a tool declares, and how its calls are decoded, prepared and run."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar, cast

import msgspec

from robota.contracts.agent import AgentControl
from robota.contracts.code import CodeAccess
from robota.contracts.workspace import Files, Processes
from robota.protocol.asks.ask import QuestionAsk
from robota.protocol.calls import CallPurpose
from robota.protocol.conversation import ImageSource
from robota.protocol.message import TodoItem
from robota.protocol.views import View
from robota.providers.chunks import EditFormat
from robota.workspace.problems import CommandNotStarted, FileProblem

if TYPE_CHECKING:
    from robota.contracts.written_call import OtherForms
    from robota.workspace.confinement import Confined
    from robota.workspace.entry_files.entry import PinnedFile


class Effect(StrEnum):
    """What a tool can do. Policy and scheduling depend on nothing else."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"
    TALK = "talk"  # talks to the user or steers the task; touches nothing


class ToolGroup(StrEnum):
    """The tool groups that a task mode may allow. The values are those written in mode files."""

    READ = "read"
    EDIT = "edit"
    COMMAND = "command"
    MCP = "mcp"
    BROWSER = "browser"
    TASK = "modes"  # talks to the user or steers the task; every mode has it


class ToolRole(StrEnum):
    """What the engine itself uses a tool for. The engine finds tools by role, never by name."""

    FILE_READER = "file_reader"  # shows the file that its argument `path` names
    OUTPUT_READER = "output_reader"  # reads a stored artifact, by its argument `artifact_id`
    SHELL = "shell"  # runs its argument `command`
    PLANNER = "planner"  # presents its argument `plan` to the user, so it is offered only in attended sessions
    ASKER = "asker"  # asks the user something, so it is offered only where the task can be answered
    MODE_CHANGER = "mode_changer"  # asks the user for another mode, so it is offered only where that can be allowed
    AGENTS = "agents"  # starts or steers agents, so it is offered only where more can be started


class Touches(msgspec.Struct, frozen=True, kw_only=True):
    """What one call is about to touch. Paths are as the model wrote them; policy resolves them.

    `host` is empty for a call that goes to the network but names no host that could be judged.
    """

    paths: tuple[str, ...] = ()
    command: str | None = None
    host: str | None = None
    outside_sandbox: bool = False  # a command that wants to run without the sandbox
    opened: tuple[str, ...] = ()  # hosts and directories that it wants the sandbox to allow
    skill: str | None = None  # the name of the skill that it loads, or of the agent that it starts


class Unseen(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a change that is too long to show: how many lines, and the whole content to write."""

    lines: int
    whole: Callable[[], bytes]


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What an approval shows: the kind of ask, its text in the seed protocol, and a view of the change."""

    ask: str
    text: str
    view: View | None = None
    unseen: Unseen | None = None


class Complete(msgspec.Struct, frozen=True, kw_only=True):
    """The model says the task is done."""

    result: str


class Delegate(msgspec.Struct, frozen=True, kw_only=True):
    """The model starts a subtask."""

    mode: str
    message: str
    todos: tuple[TodoItem, ...] = ()
    model: str | None = None  # if another than that of the task
    own_requests: int | None = None  # how many requests it may make itself
    may_answer_in_words: bool = False  # else it must call the tool that completes a task
    denied: tuple[str, ...] = ()  # deny rules for the subtask


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """The model asks the user."""

    asked: QuestionAsk


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The model replaced its todo list."""

    todos: tuple[TodoItem, ...]


class PresentPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The model presents a plan, in Markdown. The user accepts it, edits it or sends it back."""

    plan: str


class ChangeMode(msgspec.Struct, frozen=True, kw_only=True):
    """The model wants to switch the mode. A mode limits what the model may do, so the user decides."""

    mode: str
    reason: str


class UseSkill(msgspec.Struct, frozen=True, kw_only=True):
    """The model wants the instructions of a skill."""

    name: str
    arguments: str


class Remember(msgspec.Struct, frozen=True, kw_only=True):
    """The model proposes a memory entry for later sessions."""

    kind: str
    topic: str
    text: str


class Alternative(msgspec.Struct, frozen=True, kw_only=True):
    """Another input with which a failed call might succeed, if the user approves it.

    `why` is a sentence that says why the call failed; `manner` completes "Run it …", as in "without the sandbox".
    `cause` is the same for failures of the same cause. With `needs_approval`, the user is asked even if the call could
    run confined: it just did, and failed.
    """

    input: dict[str, Any]
    why: str
    manner: str
    cause: str = ""
    needs_approval: bool = False


Control = Complete | Delegate | Question | Plan | PresentPlan | ChangeMode | UseSkill | Remember | AgentControl


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a call: `content` and `images` for the model, `view` for the user.

    `control` asks the engine to do something, whose result is added to `content`. `alternative` is another way to make
    the call, which the user is offered.
    """

    content: str
    view: View | None = None
    images: tuple[ImageSource, ...] = ()
    is_error: bool = False
    control: Control | None = None
    alternative: Alternative | None = None


class ToolError(Exception):
    """The call cannot be carried out. The text says why, for the model; `shown` says it to the user, if differently."""

    def __init__(self, text: str, *, shown: str = "") -> None:
        super().__init__(text)
        self.shown = shown


def shown_reason(error: Exception) -> str:
    """What the user sees of an error that is reported to the model."""
    return error.shown or str(error) if isinstance(error, ToolError) else str(error)


class BadArguments(ToolError):
    """The arguments do not match the parameters of the tool."""


# What a tool shows of what it found: about 10,000 tokens. With a little about it that is a result; longer ones are cut.
SHOWN_CHARACTERS: Final = 40_000
RESULT_CHARACTERS: Final = SHOWN_CHARACTERS + 2_000
# Of a tool that the model tells how much it wants.
MAX_RESULT_CHARACTERS: Final = 100_000

MAX_TITLE_LENGTH: Final = 80
TITLE_HEAD: Final = 47
TITLE_TAIL: Final = 30

# The exceptions that a tool may raise in `prepare` and `run`, to tell the model why a call cannot be carried out.
REPORTED_TO_MODEL: Final = (ToolError, FileProblem, CommandNotStarted)


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A call that is worked out but not carried out: `preview` shows exactly what `run` will do.

    `with_hunks` returns the same call with only some hunks of the diff in `preview`, counted from 0. It is None if
    there is nothing to choose from.
    """

    preview: Preview
    run: Callable[[], Awaitable[ToolResult]]
    with_hunks: "Callable[[Collection[int]], Prepared] | None" = None


class HookNames(msgspec.Struct, frozen=True, kw_only=True):
    """The names that hooks written for Claude Code use for a tool, where they differ from ours.

    `arguments` maps our argument names to theirs. Hooks get the argument `path` as an absolute path, and the argument
    `seconds` in milliseconds. A matcher for any of `also_matched_as` matches the tool too.
    """

    arguments: dict[str, str] = {}
    path: str | None = None
    seconds: str | None = None
    also_matched_as: tuple[str, ...] = ()


class ToolContext(Protocol):
    """What a running tool may use of its task. Everything else is bound when the tool is created, in `app`."""

    @property
    def cwd(self) -> Path: ...

    @property
    def call_id(self) -> str: ...

    @property
    def confined(self) -> "Confined | None":
        """The proof that an unapproved command needs in order to run; None if it was approved."""
        ...

    @property
    def pinned(self) -> "tuple[PinnedFile, ...]":
        """The files that a command must find as they are here, because a rule allows it only with them."""
        ...

    @property
    def files(self) -> Files: ...

    @property
    def processes(self) -> Processes: ...

    @property
    def code(self) -> CodeAccess: ...

    def show(self, output: str) -> None:
        """Stream output to the user while the tool runs."""
        ...

    def announce(self, text: str) -> None:
        """Show why the tool waits: as output and, in print mode, which shows no output of tools, as a warning."""
        ...

    def keep(self, data: bytes) -> str | None:
        """Store data that is too big for the model as an artifact; returns its short name, None if that failed."""
        ...

    async def keep_file(self, path: Path) -> str | None:
        """Store a file as an artifact. It is moved, not read into memory."""
        ...

    def kept(self, name: str) -> Path:
        """The path of a stored artifact; raises `ToolError` if there is none of that name."""
        ...

    @property
    def sees_images(self) -> bool:
        """Whether the model accepts images."""
        ...

    @property
    def is_attended(self) -> bool:
        """Whether a user is there who can allow something."""
        ...

    async def ask(self, asked: QuestionAsk) -> str | None:
        """Ask the user while the tool runs; None if they decline, or cannot be asked."""
        ...


P = TypeVar("P", bound=msgspec.Struct)


class RedirectedCall(msgspec.Struct, frozen=True, kw_only=True):
    """The call of another tool that replaces a redirecting call."""

    name: str
    input: dict[str, Any]


class Tool(msgspec.Struct, Generic[P], frozen=True, kw_only=True):
    """One tool. `name` is the id a model calls, `label` the name on screen and in rules.

    `prepare` works a call out and changes nothing; `run` of its result carries it out, with the same context.
    `editable` is the parameter that the user may change before approving. `title` makes the line that names a call on
    screen. Where `params` cannot express the parameters, `schema` does, and `read` decodes the arguments, or raises
    `msgspec.ValidationError`. `narrowed` returns the effects of one call, if fewer than those of the tool. A tool with
    `redirect` never runs: its calls become calls of other tools, which pass every stage. One with an `edit_format` is
    offered only to models that edit files in this format; calls of others run all the same. `other_forms` are the forms
    in which models write calls that they know from other agents, needed only for such a call. `sandbox_parameters` mean
    something only where there is a sandbox, and are offered only there. A longer result than `max_result` characters is
    cut. Only the commands of a tool that `confines` them, by passing on the proof in its context, can run without
    approval because they are confined. Neighbouring calls of tools with `runs_beside` run at once, however many.
    """

    name: str
    label: str
    group: ToolGroup
    params: type[P]
    description: Callable[[], str]
    effects: frozenset[Effect]
    touches: Callable[[P], Touches]
    prepare: Callable[[P, ToolContext], Awaitable[Prepared]]
    aliases: tuple[str, ...] = ()
    editable: str | None = None
    title: Callable[[Mapping[str, Any]], str] | None = None
    purpose: CallPurpose = CallPurpose.WORK
    role: ToolRole | None = None
    edit_format: EditFormat | None = None
    hook_names: HookNames = HookNames()
    sandbox_parameters: tuple[str, ...] = ()
    confines: bool = False
    runs_beside: bool = False
    other_forms: "Callable[[], OtherForms] | None" = None
    timeout_s: float | None = None
    max_result: int = RESULT_CHARACTERS
    narrowed: Callable[[P], frozenset[Effect]] | None = None
    schema: dict[str, Any] | None = None
    read: Callable[[dict[str, Any]], P] | None = None
    redirect: Callable[[P], RedirectedCall] | None = None

    def decode(self, arguments: Mapping[str, Any]) -> P:
        """Decode the arguments of a call; raises `BadArguments` with a text for the model.

        An unknown argument is refused if it looks like an optional one that is missing: without that the call would do
        something else than the model meant.
        """
        try:
            if self.read is not None:
                params = self.read(dict(arguments))
            else:
                # Not strict: models write "30" for 30, and the XML form has only text.
                params = msgspec.convert(arguments, self.params, strict=False)
        except msgspec.ValidationError as error:
            # Imported with the first invalid call.
            from robota.contracts.argument_problem import problem_in_words

            raise self._invalid(problem_in_words(str(error), self.params)) from error
        if unknown := self.unknown_arguments(arguments):
            self._refuse_misspelt(unknown, [name for name in self.parameters if name not in arguments])
        return params

    def is_normal(self, arguments: Mapping[str, Any]) -> bool:
        """Whether these arguments have exactly the names and types that the tool declares."""
        if self.read is not None:
            return True
        try:
            msgspec.convert(arguments, self.params)
        except msgspec.ValidationError:
            return False
        return None not in arguments.values() and not self.unknown_arguments(arguments)

    def unknown_arguments(self, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        """The names of the arguments that the tool does not declare, unless its schema allows others."""
        if self.schema is not None and (
            self.schema.get("additionalProperties")
            or self.schema.get("patternProperties")
            or not self.schema.get("properties")
        ):
            return ()
        return tuple(name for name in arguments if name not in self.parameters)

    @property
    def every_name(self) -> tuple[str, ...]:
        """Its id, its label, its aliases, and what other agents call it."""
        return (self.name, self.label, *self.aliases, *(self.other_forms().names if self.other_forms else ()))

    @property
    def parameters(self) -> Collection[str]:
        """The names of the parameters, as a model writes them."""
        if self.schema is None:
            return self.params.__struct_encode_fields__
        return cast("Mapping[str, Any]", self.schema.get("properties", {}))

    @property
    def optional(self) -> Collection[str]:
        """The names of the parameters that may be left out."""
        if self.schema is not None:
            return set(self.parameters) - set(self.schema.get("required", ()))
        return [field.encode_name for field in msgspec.structs.fields(self.params) if not field.required]

    def _refuse_misspelt(self, unknown: Iterable[str], missing: Sequence[str]) -> None:
        # Imported with the first unknown argument.
        from robota.contracts.misspelling import meant_name

        for name in unknown:
            suggestion = meant_name(name, missing)
            if suggestion is not None:
                raise self._invalid(f"there is no parameter {name!r}. Did you mean {suggestion!r}? Nothing was done")

    def _invalid(self, problem: str) -> BadArguments:
        names = ", ".join(self.parameters)
        text = f"Invalid arguments for {self.name}: {problem}. Correct the call. Its parameters are: {names}."
        return BadArguments(text)

    def effects_of(self, params: P) -> frozenset[Effect]:
        """The effects of one call, which can be fewer than those of the tool."""
        return self.effects if self.narrowed is None else self.narrowed(params) & self.effects

    @property
    def is_read_only(self) -> bool:
        """Whether calls may run in parallel."""
        return self.effects <= READ_ONLY

    @property
    def lane(self) -> int:
        """Neighbouring calls of the same lane run at once; those of lane 0 alone."""
        return -1 if self.is_read_only else -2 if self.runs_beside else 0

    @property
    def changes_something(self) -> bool:
        """Whether a call needs the log on disk and a checkpoint before it runs."""
        return bool(self.effects & CHANGING)


def titled(name: str, *parameters: str) -> Callable[[Mapping[str, Any]], str]:
    """A function that makes the title of a call: `name` and the values of these parameters."""

    def title(arguments: Mapping[str, Any]) -> str:
        values = " ".join(str(arguments[parameter]) for parameter in parameters if arguments.get(parameter))
        return f"{name} {one_line(values)}".rstrip()

    return title


def one_line(text: str) -> str:
    """The text on one line, shortened in the middle if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_TITLE_LENGTH else f"{line[:TITLE_HEAD]}...{line[-TITLE_TAIL:]}"


READ_ONLY = frozenset({Effect.READ, Effect.NETWORK})
CHANGING = frozenset({Effect.WRITE, Effect.EXECUTE})

AnyTool = Tool[Any]


def names_with_role(tools: Iterable[AnyTool], role: ToolRole) -> frozenset[str]:
    """The ids of the tools with this role."""
    return frozenset(tool.name for tool in tools if tool.role is role)


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call as the model made it. `problem` is set when it could not be read; it is then never run.

    `id` is safe and unique within its reply; `given_id` is what the model's server sent. `assumed` says what was taken
    for granted to understand it, see `engine.model.normal_form`.
    """

    id: str
    name: str
    input: dict[str, Any]
    problem: str | None = None
    given_id: str = ""
    assumed: tuple[str, ...] = ()


def call_title(tool: AnyTool | None, name: str, arguments: dict[str, Any]) -> str:
    """The title of a call: by the tool's own `title`, else its label and the first argument."""
    if tool is not None and tool.title is not None:
        return tool.title(arguments)
    return f"{tool.label if tool is not None else name} {first_argument(arguments)}".rstrip()


def first_argument(arguments: dict[str, Any]) -> str:
    """The first argument as one short line, for a list of calls."""
    if not arguments:
        return ""
    value = next(iter(arguments.values()))
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return one_line(text)
