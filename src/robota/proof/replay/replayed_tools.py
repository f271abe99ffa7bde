"""Tools that return the recorded results of calls, or run again in the replay workspace."""

import sys
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from robota.contracts.hook import HookContext, Proceed
from robota.contracts.tool import (
    AnyTool,
    BadArguments,
    Effect,
    Prepared,
    Preview,
    Tool,
    ToolCall,
    ToolContext,
    ToolError,
    ToolGroup,
    ToolResult,
    Touches,
)
from robota.proof.replay.recording import RunCall
from robota.protocol.events import McpServerState, Notice
from robota.providers.chunks import ToolSpec
from robota.secrets.redaction import SHORTEST_SECRET

# What logs have in place of a key; none is shorter.
STARS: Final = b"*" * SHORTEST_SECRET


class ReplayPlace(Protocol):
    """The files of the replay workspace."""

    def before(self, call: RunCall) -> None:
        """Restore the files as they were before the call, and mark as read what the model had read by then."""
        ...

    def hold_a_key(self, call: RunCall) -> bool:
        """Whether files that the call wrote held a key before."""
        ...

    def take_over(self, call: RunCall) -> None:
        """Restore the files as they were after the call."""
        ...

    def compare(self, call: RunCall, *, everything: bool) -> None:
        """Note files that differ from the recording after the call: those it wrote, or any."""
        ...


class AnyInput(msgspec.Struct, frozen=True):
    """The arguments of a tool that is not installed."""

    arguments: dict[str, Any]


class ReplayManner(msgspec.Struct, frozen=True, kw_only=True):
    """How calls are replayed.

    Tools in `talking` only change the state of the task, so they run again. With `is_live` every installed tool runs
    that stays in the sandbox and needs no network. `counts_mistakes`: mistakes of the model are counted. Tools in
    `delegating` start a subtask if they did so in the recording.
    """

    talking: frozenset[str]
    is_live: bool = False
    counts_mistakes: bool = False
    delegating: frozenset[str] = frozenset()


class ReplayedTools:
    """A `ToolService`. `place` is None if the files of the recording are not here: then nothing runs.

    Tools that edit files run again, so that the bytes can be compared, as do those that `manner` names. All others
    return the recorded result.
    """

    def __init__(
        self,
        tools: Sequence[AnyTool],
        specs: Sequence[ToolSpec],
        calls: Mapping[str, deque[RunCall]],
        place: ReplayPlace | None,
        manner: ReplayManner,
    ) -> None:
        """`specs` are the tools that the model had, and `calls` the recorded calls in order."""
        self._manner = manner
        self._calls = calls
        self._place = place
        names = {tool.name for tool in tools}
        called = {call.tool for each in calls.values() for call in each if call.input is not None}
        unheard_of = called - names - {spec.name for spec in specs}
        missing = [spec for spec in specs if spec.name not in names]
        missing += [ToolSpec(name=name, description="", schema={}) for name in sorted(unheard_of)]
        self.all: Sequence[AnyTool] = tuple(map(self._replayed, (*tools, *map(_stand_in, missing))))
        self.names: Sequence[str] = tuple(tool.name for tool in self.all)
        self.specs: Sequence[ToolSpec] = specs
        self.servers: Sequence[McpServerState] = ()
        self.is_complete = True

    async def gather(self, context_window: int, tell: Callable[[Notice], None]) -> Sequence[Notice]:
        return ()

    def _replayed(self, tool: AnyTool) -> AnyTool:
        async def prepare(params: Any, context: ToolContext) -> Prepared:
            waiting = self._calls.get(context.call_id)
            if not waiting:
                raise ToolError(f"The call {context.call_id} is not in the recording.")
            call = waiting.popleft()
            return await self._prepared(tool, params, context, call)

        def read(arguments: dict[str, Any]) -> Any:
            """Read the arguments of a call. Invalid ones are not checked again: the recording has the result."""
            try:
                return tool.decode(arguments)
            except BadArguments:
                return AnyInput(arguments)

        return msgspec.structs.replace(
            tool,
            prepare=prepare,
            read=read,
            touches=lambda params: Touches() if isinstance(params, AnyInput) else tool.touches(params),
            narrowed=None if tool.narrowed is None else lambda params: _effects(tool, params),
            redirect=None,
            timeout_s=tool.timeout_s if self._manner.is_live else None,
            # A recorded result is as long as the version that recorded it allowed.
            max_result=tool.max_result if self._manner.is_live or tool.name in self._manner.talking else sys.maxsize,
        )

    async def _prepared(self, tool: AnyTool, params: Any, context: ToolContext, call: RunCall) -> Prepared:
        if call.input is None:
            if call.status == "error" and call.result is not None and self._manner.counts_mistakes:
                raise (BadArguments if isinstance(params, AnyInput) else ToolError)(call.result.content)
            return self._serving(call, lambda: None)
        is_known = call.tool == tool.name and not isinstance(params, AnyInput)
        if is_known and (call.delegated if tool.name in self._manner.delegating else tool.name in self._manner.talking):
            return await tool.prepare(params, context)
        if not isinstance(params, AnyInput) and self._runs(tool, call):
            return await self._run_again(tool, context, call)
        place = self._place
        return self._serving(call, (lambda: place.take_over(call)) if place is not None else lambda: None)

    def _runs(self, tool: AnyTool, call: RunCall) -> bool:
        if self._place is None:
            return False
        if self._manner.is_live:
            touches = tool.touches(tool.decode(call.input or {}))
            return Effect.NETWORK not in tool.effects and not touches.outside_sandbox and not touches.opened
        return tool.group is ToolGroup.EDIT and call.status == "success" and bool(call.before and call.after)

    async def _run_again(self, tool: AnyTool, context: ToolContext, call: RunCall) -> Prepared:
        place = self._place
        assert place is not None
        place.before(call)
        if STARS in msgspec.json.encode(call.input) and place.hold_a_key(call):
            # The log has the key covered, so what the call looked for is not to be found in the file.
            return self._serving(call, lambda: place.take_over(call))
        prepared = await tool.prepare(tool.decode(call.input or {}), context)
        if call.hunks is not None and prepared.with_hunks is not None:
            prepared = prepared.with_hunks(call.hunks)

        async def run() -> ToolResult:
            result = await prepared.run()
            place.compare(call, everything=tool.group is not ToolGroup.EDIT)
            return result if self._manner.is_live else self._recorded(call)

        return Prepared(preview=prepared.preview, run=run)

    def _serving(self, call: RunCall, then: Callable[[], None]) -> Prepared:
        async def run() -> ToolResult:
            then()
            return self._recorded(call)

        return Prepared(preview=Preview(ask="tool", text="{}"), run=run)

    def _recorded(self, call: RunCall) -> ToolResult:
        result = call.result
        if result is None:
            return ToolResult(content="(the recording does not say what came of it)", is_error=True)
        return ToolResult(content=result.content, is_error=result.is_error, images=result.images)


class RecordedChanges:
    """A `PreToolHook` that replaces the input of calls that the user or a hook changed; it calls `on_call` first."""

    def __init__(self, calls: Mapping[str, deque[RunCall]], on_call: Callable[[], Awaitable[None]]) -> None:
        self._calls = calls
        self._on_call = on_call

    async def before_tool(self, tool: AnyTool, call: ToolCall, context: HookContext) -> Proceed:
        await self._on_call()
        waiting = self._calls.get(call.id)
        return Proceed(input=waiting[0].input if waiting and waiting[0].is_changed else None)


def _effects(tool: AnyTool, params: Any) -> frozenset[Effect]:
    return tool.effects if isinstance(params, AnyInput) else tool.effects_of(params)


def _stand_in(spec: ToolSpec) -> AnyTool:
    """A stand-in for a recorded tool that is not installed, such as one of an MCP server or plugin."""

    async def prepare(params: AnyInput, context: ToolContext) -> Prepared:
        raise ToolError(f"{spec.name} is not here.")

    prepare_any: Callable[[Any, ToolContext], Awaitable[Prepared]] = prepare
    return Tool(
        name=spec.name,
        label=spec.name,
        group=ToolGroup.MCP,
        params=AnyInput,
        description=lambda: spec.description,
        effects=frozenset({Effect.EXECUTE}),
        touches=lambda params: Touches(),
        prepare=prepare_any,
        schema=spec.schema,
        read=AnyInput,
    )
