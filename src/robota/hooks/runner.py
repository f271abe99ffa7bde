"""Runs the hooks of a session: selects the handlers of an event and applies their results."""

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.contracts.hook import (
    EMPTY_HOOK_RESULT,
    BlockCall,
    CompletedCall,
    Halt,
    HookContext,
    HookEvent,
    HookResult,
    Proceed,
)
from robota.contracts.rest_of_result import byte_offset, how_to_read_rest
from robota.contracts.tool import AnyTool, ToolCall, ToolResult
from robota.contracts.verdict import Verdict
from robota.hooks.claude_format import (
    arguments_for_hooks,
    arguments_from_hooks,
    matched_names,
    name_for_hooks,
    permission_suggestions,
)
from robota.hooks.definitions import CommandHandler, HandlerToRun, HookRule, HookSet, rule_applies
from robota.hooks.handlers import HandlerEnvironment, HookPayload, hook_program, run_handler
from robota.hooks.results import HookFailed, HookRefused, failed_closed, merge_results
from robota.log.errors import LogWriteError
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.views import TerminalView
from robota.text.visible import single_line
from robota.workspace.outside_code.outside_code import OutsideCode
from robota.workspace.process.tree import OrphanGuard
from robota.workspace.process.withheld_variables import NOTHING_NAMED, WithheldVariables

MAX_IN_BACKGROUND: Final = 20
REPLACED: Final = "A hook replaced what the tool returned; this is not the tool's own output."

# Whether a permission rule matches a call.
RuleMatches = Callable[[str, AnyTool, ToolCall], bool]

MAX_CHARACTERS: Final = 10_000
MAX_NAME: Final = 120
PREVIEW_CHARACTERS: Final = 2_000

# Stores a text beside the log and returns its name.
StoreText = Callable[[bytes], str]


class HookSessionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The session fields that every hook gets."""

    session_id: str
    transcript_path: str
    cwd: Path


class Hooks:
    """The hooks of one session. All handlers of an event run concurrently, identical ones once."""

    def __init__(
        self,
        hooks: HookSet,
        session: HookSessionInfo,
        code: OutsideCode | None,
        env: Mapping[str, str] | None = None,
        rule_matches: RuleMatches = lambda rule, tool, call: True,
        store: StoreText | None = None,
        withheld: WithheldVariables = NOTHING_NAMED,
    ) -> None:
        """`code` compares what hooks run of the workspace. `rule_matches` is for handlers with an `if`; `store` keeps
        beside the log what is too long for the model. `withheld` says which variables the commands of hooks do not get.
        """
        self._rules = hooks.rules
        if code is not None:
            add_programs(hooks, session.cwd, code)
        self._session = session
        self._watch = OrphanGuard()
        self._environment = HandlerEnvironment(
            cwd=session.cwd,
            env=dict(os.environ if env is None else env),
            withheld=withheld,
            watch=self._watch,
            code=code,
        )
        self._rule_matches = rule_matches
        self._store = store
        self._running: set[asyncio.Task[HookResult]] = set()
        self._background: set[asyncio.Task[HookResult]] = set()  # the tasks of background handlers

    async def fire(
        self, event: HookEvent, target: str = "", *, context: HookContext | None = None, **fields: Any
    ) -> HookResult:
        """Run the hooks of an event other than a tool call."""
        rules = [rule for rule in self._rules if rule_applies(rule, event, (target,))]
        return await self._run_all(event, _handlers(rules), context, fields)

    async def before_tool(self, tool: AnyTool, call: ToolCall, context: HookContext) -> Proceed | BlockCall | Halt:
        """Run the hooks before a call."""
        result = await self._fire_for_call(HookEvent.PRE_TOOL_USE, tool, call, context, {"tool_use_id": call.id})
        if result.stopped is not None:
            return Halt(reason=result.stopped)
        denied = (result.reason or "A hook denied it.") if result.decision == "deny" else None
        refused = result.blocked or denied
        if refused is not None:
            return BlockCall(reason=refused)
        return Proceed(
            input=self._updated_input(tool, call, result.updated_input),
            approved_by=result.reason or "a hook" if result.decision == "allow" else None,
            ask_reason=result.reason or "A hook requires approval." if result.decision == "ask" else None,
            context=result.context,
        )

    async def after_tool(self, completed: CompletedCall, context: HookContext) -> ToolResult | Halt:
        """Run the hooks after a call; they may add to its result, replace it or end the task."""
        call, result = completed.call, completed.result
        more: dict[str, Any] = {"tool_use_id": call.id, "duration_ms": completed.duration_ms}
        if _has_failed(result):
            event = HookEvent.POST_TOOL_USE_FAILURE
            more |= {"error": result.content, "is_interrupt": False}
        else:
            event = HookEvent.POST_TOOL_USE
            more["tool_response"] = {"content": result.content, "is_error": False}
        of_hooks = await self._fire_for_call(event, completed.tool, call, context, more)
        changed = _with_hook_output(result, of_hooks)
        return changed if of_hooks.stopped is None else Halt(reason=of_hooks.stopped, result=changed)

    async def permission(self, tool: AnyTool, call: ToolCall, verdict: Verdict, context: HookContext) -> HookResult:
        """Run the hooks that may answer in place of the user when the verdict is to ask."""
        more = {"permission_suggestions": permission_suggestions(verdict.suggestions)}
        result = await self._fire_for_call(HookEvent.PERMISSION_REQUEST, tool, call, context, more)
        updated = self._updated_input(tool, call, result.updated_input)
        return msgspec.structs.replace(result, updated_input=updated if result.decision == "allow" else None)

    async def close(self) -> None:
        """Stop the background hooks that still run."""
        running = tuple(self._running)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)
        self._watch.close()

    def _updated_input(self, tool: AnyTool, call: ToolCall, updated: dict[str, Any] | None) -> dict[str, Any] | None:
        """The updated input of a hook under our argument names; None if it is unchanged."""
        if updated is None or updated == arguments_for_hooks(tool, call.input, self._session.cwd):
            return None
        return arguments_from_hooks(tool, updated, self._session.cwd)

    async def _fire_for_call(
        self, event: HookEvent, tool: AnyTool, call: ToolCall, context: HookContext, more: Mapping[str, Any]
    ) -> HookResult:
        rules = [rule for rule in self._rules if rule_applies(rule, event, matched_names(tool))]
        handlers = [
            each
            for each in _handlers(rules)
            if each.handler.only_if is None or self._rule_matches(each.handler.only_if, tool, call)
        ]
        arguments = arguments_for_hooks(tool, call.input, self._session.cwd)
        fields = {"tool_name": name_for_hooks(tool), "tool_input": arguments, **more}
        return await self._run_all(event, handlers, context, fields)

    async def _run_all(
        self, event: HookEvent, handlers: list[HandlerToRun], context: HookContext | None, fields: Mapping[str, Any]
    ) -> HookResult:
        if not handlers:
            return EMPTY_HOOK_RESULT
        ask_model = None if context is None else context.ask_model
        body = self._payload_body(event, {**_context_fields(context), **fields})
        payload = HookPayload(event=event, body=body, ask_model=ask_model)
        awaited: list[asyncio.Task[HookResult]] = []
        for each in handlers:
            if not each.handler.in_background or event is HookEvent.SESSION_END:
                awaited.append(self._start(each, payload))
            elif len(self._background) < MAX_IN_BACKGROUND:
                task = self._start(each, payload)
                self._background.add(task)
                task.add_done_callback(self._background.discard)
        result = self._shortened(merge_results(await asyncio.gather(*awaited)))
        if context is not None:
            for message in result.messages:
                context.tell(message)
        return result

    def _payload_body(self, event: HookEvent, fields: Mapping[str, Any]) -> bytes:
        session = self._session
        payload = {
            "session_id": session.session_id,
            "transcript_path": session.transcript_path,
            "cwd": str(session.cwd),
            "hook_event_name": event,
            **fields,
        }
        if event is HookEvent.SUBAGENT_STOP:
            payload.setdefault("agent_transcript_path", session.transcript_path)
        return json.dumps(payload).encode()

    async def _run_one(self, to_run: HandlerToRun, payload: HookPayload) -> HookResult:
        handler = to_run.handler
        environment = msgspec.structs.replace(self._environment, variables=to_run.variables)
        try:
            return await run_handler(handler, payload, environment)
        except HookFailed as problem:
            name = single_line(handler.name, MAX_NAME)
            problem_text = f"The {payload.event} hook {name!r} returned no decision: {problem}."
            is_refused = isinstance(problem, HookRefused)
        if handler.fail_closed or payload.event is HookEvent.WORKTREE_CREATE:
            return failed_closed(payload.event, problem_text)
        if is_refused and payload.event is HookEvent.PRE_TOOL_USE:
            # A repository must not silence a hook that guards calls by changing a file that it runs.
            return HookResult(decision="ask", reason=problem_text)
        if is_refused and payload.event is HookEvent.USER_PROMPT_SUBMIT:
            # The same for one that guards prompts. Nobody is asked: the user can agree to the change and send it again.
            return HookResult(blocked=problem_text)
        return HookResult(messages=(problem_text,))

    def _start(self, to_run: HandlerToRun, payload: HookPayload) -> asyncio.Task[HookResult]:
        task = asyncio.create_task(self._run_one(to_run, payload))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def _shortened(self, result: HookResult) -> HookResult:
        def short(text: str) -> str:
            return with_preview(text, self._store)

        return msgspec.structs.replace(
            result,
            blocked=None if result.blocked is None else short(result.blocked),
            stopped=None if result.stopped is None else short(result.stopped),
            context=short(result.context),
            reason=short(result.reason),
            updated_output=None if result.updated_output is None else short(result.updated_output),
            messages=tuple(short(message) for message in result.messages),
        )


def add_programs(hooks: HookSet, cwd: Path, code: OutsideCode) -> None:
    """Let `code` know the programs of all command handlers."""
    for rule in hooks.rules:
        for handler in rule.handlers:
            if isinstance(handler, CommandHandler):
                code.add(hook_program(handler, cwd, rule.variables))


def _has_failed(result: ToolResult) -> bool:
    """Whether a call failed; a command also fails if it exits with a code other than 0."""
    return result.is_error or (isinstance(result.view, TerminalView) and result.view.exit_code not in (None, 0))


def _context_fields(context: HookContext | None) -> dict[str, str | bool]:
    """The fields of the JSON that come from the context."""
    if context is None:
        return {}
    fields = {
        "permission_mode": context.permission_mode,
        "agent_id": context.agent_id,
        "agent_type": context.agent_type,
        "prompt_id": context.prompt_id,
        "confined": True if context.permission_mode is PermissionMode.CONFINED else None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _handlers(rules: list[HookRule]) -> list[HandlerToRun]:
    """The handlers of these rules, without duplicates."""
    handlers: list[HandlerToRun] = []
    for rule in rules:
        to_run = (HandlerToRun(handler, rule.variables) for handler in rule.handlers)
        handlers.extend(each for each in to_run if each not in handlers)
    return handlers


def _with_hook_output(result: ToolResult, of_hooks: HookResult) -> ToolResult:
    """The result with the output of hooks added, or replaced by it."""
    replaced = REPLACED if of_hooks.updated_output is not None else ""
    words = "\n".join(part for part in (replaced, of_hooks.blocked, of_hooks.context) if part)
    if not words:
        return result
    shown = result.content if of_hooks.updated_output is None else of_hooks.updated_output
    return msgspec.structs.replace(result, content=f"{shown}\n\n<hook>\n{words}\n</hook>")


def with_preview(text: str, store: StoreText | None) -> str:
    """The text, or a preview with the name under which the whole is stored."""
    if len(text) <= MAX_CHARACTERS:
        return text
    name = None if store is None else _stored(text, store)
    shown = text[: MAX_CHARACTERS if name is None else PREVIEW_CHARACTERS]
    rest = how_to_read_rest(name, byte_offset(shown))
    return f"{shown}\n[… {len(text) - len(shown):,} more characters of hook output. {rest}]"


def _stored(text: str, store: StoreText) -> str | None:
    try:
        return store(text.encode("utf-8", "replace"))
    except LogWriteError:
        return None
