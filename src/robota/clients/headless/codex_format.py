"""`--output-format codex`: the lines of `codex exec --json`."""

from itertools import count
from typing import Any, Final

from msgspec import UNSET

from robota.clients.headless.output import Output
from robota.clients.headless.result import Result
from robota.clients.render.view_lines import view_text
from robota.clients.terminal.line import Handlers
from robota.protocol.calls import SPEAKING
from robota.protocol.conversation import TextBlock, ThinkingBlock
from robota.protocol.events import Notice, State, TaskSpawned, TodosUpdated, ToolEnd, ToolStart, TurnReply
from robota.protocol.views import DiffsView, DiffView, TerminalView, TodoView, View

Item = dict[str, Any]
# Calls of tools that Codex has under no name of its own are shown as calls of an MCP server with this name.
OWN_SERVER: Final = "robota"
MCP_PREFIX: Final = "mcp--"
COMMAND: Final = "command"


class CodexPrinter:
    """Prints each item when it is complete, and calls also when they begin. What agents do is not printed."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._numbers = count()
        self._calls: dict[str, tuple[str, ToolStart]] = {}  # with the ids of their items
        self._plan: tuple[str, Item] | None = None  # the todo list and its id
        self._has_begun = False
        self._agent_tasks: set[str] = set()

    @property
    def handlers(self) -> Handlers:
        return {
            State: self._state,
            TaskSpawned: self._spawned,
            TurnReply: self._reply,
            ToolStart: self._call_started,
            ToolEnd: self._call_ended,
            TodosUpdated: self._todos,
            Notice: self._notice,
        }

    def finish(self, result: Result) -> None:
        self._begin(result.session_id)
        if self._plan is not None:
            self._item("completed", *self._plan)
        if result.errors is not UNSET:
            message = "\n".join(result.errors)
            self._line("error", message=message)
            self._line("turn.failed", error={"message": message})
            return
        usage = {
            "input_tokens": result.usage.total_in,
            "cached_input_tokens": result.usage.cache_read_input_tokens,
            "output_tokens": result.usage.output_tokens,
        }
        self._line("turn.completed", usage=usage)

    def _state(self, event: State) -> None:
        self._begin(event.state.session_id)

    def _begin(self, session_id: str) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._line("thread.started", thread_id=session_id)
            self._line("turn.started")

    def _spawned(self, event: TaskSpawned) -> None:
        if event.agent_id is not None or event.task_id in self._agent_tasks:
            self._agent_tasks.add(event.child_task_id)

    def _reply(self, event: TurnReply) -> None:
        if event.task_id in self._agent_tasks:
            return
        for block in event.reply.content:
            match block:
                case ThinkingBlock(thinking=text) if text:
                    self._item("completed", self._new_id(), {"type": "reasoning", "text": text})
                case TextBlock(text=text) if text:
                    self._item("completed", self._new_id(), {"type": "agent_message", "text": text})
                case _:
                    pass

    def _call_started(self, event: ToolStart) -> None:
        if event.task_id in self._agent_tasks or event.purpose in SPEAKING:
            return
        id = self._new_id()
        self._calls[event.call_id] = (id, event)
        command = event.input.get(COMMAND)
        if isinstance(command, str):
            item = {"type": "command_execution", "command": command, "aggregated_output": "", "exit_code": None}
            self._item("started", id, {**item, "status": "in_progress"})
        elif event.tool.startswith(MCP_PREFIX):
            self._item("started", id, {**_mcp_call(event), "status": "in_progress"})

    def _call_ended(self, event: ToolEnd) -> None:
        id, started = self._calls.pop(event.call_id, (None, None))
        if id is not None and started is not None and not isinstance(event.view, TodoView):
            self._item("completed", id, _ended(started, event))

    def _todos(self, event: TodosUpdated) -> None:
        if event.task_id in self._agent_tasks:
            return
        items = [{"text": each.content, "completed": each.status == "completed"} for each in event.todos]
        what, id = ("started", self._new_id()) if self._plan is None else ("updated", self._plan[0])
        self._plan = (id, {"type": "todo_list", "items": items})
        self._item(what, *self._plan)

    def _notice(self, event: Notice) -> None:
        if event.level == "error":
            self._item("completed", self._new_id(), {"type": "error", "message": event.text})

    def _new_id(self) -> str:
        return f"item_{next(self._numbers)}"

    def _item(self, what: str, id: str, item: Item) -> None:
        self._line(f"item.{what}", item={"id": id, **item})

    def _line(self, kind: str, **fields: Any) -> None:
        self._output.json_line({"type": kind, **fields})


def _ended(started: ToolStart, event: ToolEnd) -> Item:
    """A call that has ended, as the kind of item that Codex has for it."""
    command, is_well = started.input.get(COMMAND), event.status == "success"
    if isinstance(command, str):
        return {"type": "command_execution", "command": command, **_command_result(event)}
    if is_well and (changes := _changes(event.view)):
        return {"type": "file_change", "changes": changes, "status": "completed"}
    text = view_text(event.view) if event.view is not None else ""
    result = {"content": [{"type": "text", "text": text}], "structured_content": None} if is_well else None
    error = None if is_well else {"message": event.reason or text or event.status}
    return {**_mcp_call(started), "result": result, "error": error, "status": "completed" if is_well else "failed"}


def _command_result(event: ToolEnd) -> Item:
    if event.status == "denied":
        return {"aggregated_output": event.reason or "", "exit_code": None, "status": "declined"}
    output, code = (event.view.output, event.view.exit_code) if isinstance(event.view, TerminalView) else ("", None)
    is_well = event.status == "success" and code in (0, None)
    return {"aggregated_output": output, "exit_code": code, "status": "completed" if is_well else "failed"}


def _changes(view: View | None) -> list[Item]:
    files = view.files if isinstance(view, DiffsView) else (view,) if isinstance(view, DiffView) else ()
    return [{"path": each.path, "kind": "add" if each.is_new else "update"} for each in files]


def _mcp_call(event: ToolStart) -> Item:
    server, _, tool = event.tool.removeprefix(MCP_PREFIX).partition("--")
    is_mcp = event.tool.startswith(MCP_PREFIX)
    return {
        "type": "mcp_tool_call",
        "server": server if is_mcp else OWN_SERVER,
        "tool": tool if is_mcp else event.tool,
        "arguments": event.input,
        "result": None,
        "error": None,
    }
