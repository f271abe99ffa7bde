"""The hooks of a session: which of them a moment is for, and what the engine does with what they say."""

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.contracts.hook import NOTHING_SAID, Block, Halt, HookContext, HookEvent, HookResult, Proceed, Ran
from robota.contracts.tool import AnyTool, ToolCall, ToolResult
from robota.contracts.verdict import Verdict
from robota.hooks.answers import NoAnswer, refusal, together
from robota.hooks.definitions import Handler, HookRule, HookSet, is_meant
from robota.hooks.handlers import HookInput, Surroundings, ask_handler
from robota.hooks.long_text import Keep, previewed
from robota.hooks.permission_updates import permission_suggestions
from robota.hooks.tool_names import for_hooks, from_hooks, matched_names, name_for_hooks
from robota.workspace.process.guardian import Watch

MOST_IN_BACKGROUND: Final = 20
REPLACED: Final = "A hook replaced what the tool returned; this is not the tool's own output."

# Whether a permission rule speaks of a call.
SpeaksOf = Callable[[str, AnyTool, ToolCall], bool]


class SessionFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What every hook is told about the session."""

    session_id: str
    transcript_path: str
    cwd: Path


class Hooks:
    """The hooks of one session. All handlers of a moment run side by side, identical ones once."""

    def __init__(
        self,
        hooks: HookSet,
        facts: SessionFacts,
        env: Mapping[str, str] | None = None,
        speaks_of: SpeaksOf = lambda rule, tool, call: True,
        keep: Keep | None = None,
    ) -> None:
        """`speaks_of` decides about handlers with an `if`; `keep` stores what is too long for the model."""
        self._rules = hooks.rules
        self._facts = facts
        self._watch = Watch()
        self._around = Surroundings(cwd=facts.cwd, env=dict(os.environ if env is None else env), watch=self._watch)
        self._speaks_of = speaks_of
        self._keep = keep
        self._running: set[asyncio.Task[HookResult]] = set()
        self._background: set[asyncio.Task[HookResult]] = set()  # those of them that nobody waits for

    async def fire(
        self, moment: HookEvent, target: str = "", *, occasion: HookContext | None = None, **fields: Any
    ) -> HookResult:
        rules = [rule for rule in self._rules if is_meant(rule, moment, (target,))]
        return await self._ask(moment, _handlers(rules), occasion, fields)

    async def before_tool(self, tool: AnyTool, call: ToolCall, occasion: HookContext) -> Proceed | Block | Halt:
        said = await self._about_call(HookEvent.PRE_TOOL_USE, tool, call, occasion, {"tool_use_id": call.id})
        if said.stopped is not None:
            return Halt(reason=said.stopped)
        denied = (said.reason or "A hook denied it.") if said.decision == "deny" else None
        refused = said.blocked or denied
        if refused is not None:
            return Block(reason=refused)
        return Proceed(
            input=self._changed(tool, call, said.updated_input),
            vouched=said.reason or "a hook" if said.decision == "allow" else None,
            must_ask=said.reason or "A hook wants you to decide." if said.decision == "ask" else None,
            context=said.context,
        )

    async def after_tool(self, ran: Ran, occasion: HookContext) -> ToolResult | Halt:
        response = {"content": ran.result.content, "is_error": ran.result.is_error}
        more = {"tool_use_id": ran.call.id, "tool_response": response, "duration_ms": ran.duration_ms}
        said = await self._about_call(HookEvent.POST_TOOL_USE, ran.tool, ran.call, occasion, more)
        result = _with_words(ran.result, said)
        return result if said.stopped is None else Halt(reason=said.stopped, result=result)

    async def permission(self, tool: AnyTool, call: ToolCall, verdict: Verdict, occasion: HookContext) -> HookResult:
        more = {"permission_suggestions": permission_suggestions(verdict.suggestions)}
        said = await self._about_call(HookEvent.PERMISSION_REQUEST, tool, call, occasion, more)
        updated = self._changed(tool, call, said.updated_input)
        return msgspec.structs.replace(said, updated_input=updated if said.decision == "allow" else None)

    async def close(self) -> None:
        """End the hooks that still run because nobody waits for them."""
        running = tuple(self._running)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)
        self._watch.end()

    def _changed(self, tool: AnyTool, call: ToolCall, updated: dict[str, Any] | None) -> dict[str, Any] | None:
        """The input a hook wants instead, in our names; None if it is the one it was told."""
        if updated is None or updated == for_hooks(tool.label, call.input, self._facts.cwd):
            return None
        return from_hooks(tool.label, updated, self._facts.cwd)

    async def _about_call(
        self, moment: HookEvent, tool: AnyTool, call: ToolCall, occasion: HookContext, more: Mapping[str, Any]
    ) -> HookResult:
        rules = [rule for rule in self._rules if is_meant(rule, moment, matched_names(tool))]
        handlers = [
            handler
            for handler in _handlers(rules)
            if handler.only_if is None or self._speaks_of(handler.only_if, tool, call)
        ]
        told = for_hooks(tool.label, call.input, self._facts.cwd)
        fields = {"tool_name": name_for_hooks(tool), "tool_input": told, **more}
        return await self._ask(moment, handlers, occasion, fields)

    async def _ask(
        self, moment: HookEvent, handlers: list[Handler], occasion: HookContext | None, fields: Mapping[str, Any]
    ) -> HookResult:
        if not handlers:
            return NOTHING_SAID
        event = HookInput(moment=moment, body=self._event(moment, {**_fields_of(occasion), **fields}))
        awaited: list[asyncio.Task[HookResult]] = []
        for handler in handlers:
            if not handler.in_background or moment is HookEvent.SESSION_END:
                awaited.append(self._start(handler, event))
            elif len(self._background) < MOST_IN_BACKGROUND:
                task = self._start(handler, event)
                self._background.add(task)
                task.add_done_callback(self._background.discard)
        said = self._shortened(together(await asyncio.gather(*awaited)))
        if occasion is not None:
            for message in said.messages:
                occasion.tell(message)
        return said

    def _event(self, moment: HookEvent, fields: Mapping[str, Any]) -> bytes:
        facts = self._facts
        event = {
            "session_id": facts.session_id,
            "transcript_path": facts.transcript_path,
            "cwd": str(facts.cwd),
            "hook_event_name": moment,
            **fields,
        }
        if moment is HookEvent.SUBAGENT_STOP:
            event.setdefault("agent_transcript_path", facts.transcript_path)
        return json.dumps(event).encode()

    async def _answer(self, handler: Handler, event: HookInput) -> HookResult:
        try:
            return await ask_handler(handler, event, self._around)
        except NoAnswer as problem:
            told = f"The {event.moment} hook {handler.name!r} gave no decision: {problem}."
        if handler.fail_closed or event.moment is HookEvent.WORKTREE_CREATE:
            return refusal(event.moment, told)
        return HookResult(messages=(told,))

    def _start(self, handler: Handler, event: HookInput) -> asyncio.Task[HookResult]:
        task = asyncio.create_task(self._answer(handler, event))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def _shortened(self, said: HookResult) -> HookResult:
        def short(text: str) -> str:
            return previewed(text, self._keep)

        return msgspec.structs.replace(
            said,
            blocked=None if said.blocked is None else short(said.blocked),
            stopped=None if said.stopped is None else short(said.stopped),
            context=short(said.context),
            reason=short(said.reason),
            updated_output=None if said.updated_output is None else short(said.updated_output),
            messages=tuple(short(message) for message in said.messages),
        )


def _fields_of(occasion: HookContext | None) -> dict[str, str]:
    """What hooks are told of the occasion."""
    if occasion is None:
        return {}
    told = {
        "permission_mode": occasion.permission_mode,
        "agent_id": occasion.agent_id,
        "agent_type": occasion.agent_type,
        "prompt_id": occasion.prompt_id,
    }
    return {name: value for name, value in told.items() if value is not None}


def _handlers(rules: list[HookRule]) -> list[Handler]:
    """The handlers of all these rules, identical ones once."""
    handlers: list[Handler] = []
    for rule in rules:
        handlers.extend(handler for handler in rule.handlers if handler not in handlers)
    return handlers


def _with_words(result: ToolResult, said: HookResult) -> ToolResult:
    """The result with what hooks have to add, or in place of it what they want the model to see."""
    replaced = REPLACED if said.updated_output is not None else ""
    words = "\n".join(part for part in (replaced, said.blocked, said.context) if part)
    if not words:
        return result
    shown = result.content if said.updated_output is None else said.updated_output
    return msgspec.structs.replace(result, content=f"{shown}\n\n<hook>\n{words}\n</hook>")
