"""What a tool is: what it declares of itself, and how a call of it is decoded, prepared and run."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from robota.contracts.workspace import Files, Processes
from robota.protocol.asks.ask import QuestionAsk
from robota.protocol.calls import CallPurpose
from robota.protocol.conversation import ImageSource
from robota.protocol.message import TodoItem
from robota.protocol.views import View
from robota.workspace.problems import CommandNotStarted, FileProblem


class Effect(StrEnum):
    """What a tool can do to the world; policy and scheduling look at nothing else."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"
    TALK = "talk"  # speaks with the person or steers the task; touches nothing


class ToolGroup(StrEnum):
    """The groups of tools that a task mode has or has not. The values are the words in mode files."""

    READ = "read"
    EDIT = "edit"
    COMMAND = "command"
    MCP = "mcp"
    BROWSER = "browser"
    TASK = "modes"  # speaks with the person or steers the task; every mode has it


class ToolRole(StrEnum):
    """What the engine itself needs a tool for. It finds the tool by this, never by its name."""

    FILE_READER = "file_reader"  # shows the file that its argument `path` names
    OUTPUT_READER = "output_reader"  # looks into something kept, by its argument `artifact_id`
    SHELL = "shell"  # runs its argument `command`


class Touches(msgspec.Struct, frozen=True, kw_only=True):
    """What one call is about to touch. Paths are as the model wrote them; policy resolves them.

    `host` is empty for a call that goes to the network but names no host that could be judged.
    """

    paths: tuple[str, ...] = ()
    command: str | None = None
    host: str | None = None
    outside_sandbox: bool = False  # a command that wants to go without the walls
    opened: tuple[str, ...] = ()  # hosts and directories that the sandbox shall open for the command


class Unseen(msgspec.Struct, frozen=True, kw_only=True):
    """What of a change is too much to be shown: how many lines, and all that it would write, to be looked at."""

    lines: int
    whole: Callable[[], bytes]


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What a person is asked: the kind of ask, its text as the seed's protocol has it, and something to look at."""

    ask: str
    text: str
    view: View | None = None
    unseen: Unseen | None = None


class Complete(msgspec.Struct, frozen=True, kw_only=True):
    """The model says the task is done."""

    result: str


class Delegate(msgspec.Struct, frozen=True, kw_only=True):
    """The model hands a piece of work to a task of its own."""

    mode: str
    message: str
    todos: tuple[TodoItem, ...] = ()
    model: str | None = None  # another model than that of the task
    max_requests: int | None = None
    denied: tuple[str, ...] = ()  # rules that forbid something in it


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """The model asks the person."""

    asked: QuestionAsk


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The model replaced its todo list."""

    todos: tuple[TodoItem, ...]


class ChangeMode(msgspec.Struct, frozen=True, kw_only=True):
    """The model wants to go on in another mode. A mode limits what it may do, so a person decides."""

    mode: str
    reason: str


class UseSkill(msgspec.Struct, frozen=True, kw_only=True):
    """The model wants the instructions of a skill."""

    name: str
    arguments: str


class Remember(msgspec.Struct, frozen=True, kw_only=True):
    """The model thinks that something should be remembered in later sessions."""

    kind: str
    topic: str
    text: str


class Alternative(msgspec.Struct, frozen=True, kw_only=True):
    """The call failed as it is; with this input it might not. A person decides about that.

    `why` it failed is a sentence, `manner` ends one that begins with "Run it": "without the sandbox".
    """

    input: dict[str, Any]
    why: str
    manner: str


Control = Complete | Delegate | Question | Plan | ChangeMode | UseSkill | Remember


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """A half for the model (`content`, `images`) and a half for the person (`view`).

    `control` asks the engine for something only it can do; what comes of it is added to `content`.
    `alternative` is another way to make the call, which a person is offered.
    """

    content: str
    view: View | None = None
    images: tuple[ImageSource, ...] = ()
    is_error: bool = False
    control: Control | None = None
    alternative: Alternative | None = None


class ToolError(Exception):
    """The call cannot be done, and the model should know why. The text is written for the model."""


class BadArguments(ToolError):
    """The arguments of a call do not fit the parameters of its tool."""


LONGEST_TITLE: Final = 80
TITLE_HEAD: Final = 47
TITLE_TAIL: Final = 30

# What a tool may raise in `prepare` and `run` to tell the model why a call cannot be done.
REPORTED_TO_MODEL: Final = (ToolError, FileProblem, CommandNotStarted)


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A call that has been worked out but not done: what a person is shown is what `run` does.

    `with_hunks` gives the same call with only some hunks of the diff in `preview`, counted from 0. It is None where
    there is nothing to choose from.
    """

    preview: Preview
    run: Callable[[], Awaitable[ToolResult]]
    with_hunks: "Callable[[Collection[int]], Prepared] | None" = None


class HookNames(msgspec.Struct, frozen=True, kw_only=True):
    """How hooks written for Claude Code know the calls of a tool, where that differs from ours.

    `arguments` maps our names to theirs. `path` names the argument that hooks get as an absolute path, `seconds` the
    one that they get in milliseconds. A matcher for any of `also_matched_as` matches the tool too.
    """

    arguments: dict[str, str] = {}
    path: str | None = None
    seconds: str | None = None
    also_matched_as: tuple[str, ...] = ()


class ToolContext(Protocol):
    """What a running tool may use. Everything else it needs is bound when it is made, in `app`."""

    @property
    def cwd(self) -> Path: ...

    @property
    def call_id(self) -> str: ...

    @property
    def files(self) -> Files: ...

    @property
    def processes(self) -> Processes: ...

    def show(self, output: str) -> None:
        """Stream output to the person while the tool runs."""
        ...

    def keep(self, data: bytes) -> str:
        """Store something too big for the model beside the log; the name can be given to the model."""
        ...

    async def keep_file(self, path: Path) -> str:
        """The same for a file, which is moved and not read into memory."""
        ...

    def kept(self, name: str) -> Path:
        """Where something kept under that name lies, to read from; a `ToolError` if there is no such thing."""
        ...

    @property
    def sees_images(self) -> bool:
        """Whether the model that will read the result can look at an image."""
        ...

    async def ask(self, asked: QuestionAsk) -> str | None:
        """What the person answers while the tool runs; None if they say no, or nobody is there to be asked."""
        ...


P = TypeVar("P", bound=msgspec.Struct)


class RedirectedCall(msgspec.Struct, frozen=True, kw_only=True):
    """The call that another one stands for."""

    name: str
    input: dict[str, Any]


class Tool(msgspec.Struct, Generic[P], frozen=True, kw_only=True):
    """One tool. `name` is the id a model calls, `label` the name on screen and in rules.

    `prepare` works a call out and changes nothing; the result's `run` does it, with the same context. `editable` is the
    parameter that a person may change before approving. `title` makes the line that names a call on screen, from its
    arguments. Where `params` cannot say what a call takes, `schema` does, and `read` makes the parameters from the
    arguments, or raises `msgspec.ValidationError`. A tool with `redirect` is never run: its calls stand for those of
    other tools, which pass every stage as what they are.
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
    hook_names: HookNames = HookNames()
    timeout_s: float | None = None
    narrowed: Callable[[P], frozenset[Effect]] | None = None
    schema: dict[str, Any] | None = None
    read: Callable[[dict[str, Any]], P] | None = None
    redirect: Callable[[P], RedirectedCall] | None = None

    def decode(self, arguments: Mapping[str, Any]) -> P:
        """The parameters of a call, or `BadArguments` with a text for the model."""
        try:
            if self.read is not None:
                return self.read(dict(arguments))
            # Not strict: models write "30" for 30, and the XML form has only text.
            return msgspec.convert(arguments, self.params, strict=False)
        except msgspec.ValidationError as error:
            fields = [field.encode_name for field in msgspec.structs.fields(self.params)]
            names = ", ".join(fields if self.schema is None else self.schema.get("properties", ()))
            told = f"The arguments of {self.name} do not fit: {error}. Its parameters are: {names}."
            raise BadArguments(told) from error

    def effects_of(self, params: P) -> frozenset[Effect]:
        """What this one call can do, where that is less than what the tool can."""
        return self.effects if self.narrowed is None else self.narrowed(params) & self.effects

    @property
    def is_read_only(self) -> bool:
        """Whether calls may run side by side."""
        return self.effects <= READ_ONLY

    @property
    def changes_something(self) -> bool:
        """Whether the log must be on the disk, and a checkpoint made, before a call."""
        return bool(self.effects & CHANGING)


def titled(name: str, *parameters: str) -> Callable[[Mapping[str, Any]], str]:
    """Titles for calls: the name, then the values of those parameters, by which a person knows a call again."""

    def title(arguments: Mapping[str, Any]) -> str:
        told = " ".join(str(arguments[each]) for each in parameters if arguments.get(each))
        return f"{name} {one_line(told)}".rstrip()

    return title


def one_line(text: str) -> str:
    """A text on one line, shortened in the middle if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_TITLE else f"{line[:TITLE_HEAD]}...{line[-TITLE_TAIL:]}"


READ_ONLY = frozenset({Effect.READ, Effect.NETWORK})
CHANGING = frozenset({Effect.WRITE, Effect.EXECUTE})

AnyTool = Tool[Any]


def names_with_role(tools: Iterable[AnyTool], role: ToolRole) -> frozenset[str]:
    """The ids of the tools that can do this for the engine."""
    return frozenset(tool.name for tool in tools if tool.role is role)


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call as the model made it. `problem` is set when it could not be read; it is then never run.

    `id` is safe and unique within its reply; `given_id` is what the model's server sent.
    """

    id: str
    name: str
    input: dict[str, Any]
    problem: str | None = None
    given_id: str = ""


def call_title(tool: AnyTool | None, name: str, arguments: dict[str, Any]) -> str:
    """As the tool says; else its label, or the name it was called by, and the first argument."""
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
