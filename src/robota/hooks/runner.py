"""Runs the hooks of a moment and turns what they say into what the engine understands."""

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.contracts.hook import NOTHING_SAID, Block, Moment, Outcome, Proceed
from robota.contracts.tool import AnyTool, ToolCall, ToolResult
from robota.hooks.answers import answer_of_command, answer_of_json, together
from robota.hooks.definitions import CommandHandler, Handler, HookSet, HttpHandler, matches, timeout_of
from robota.hooks.tool_names import for_hooks, from_hooks
from robota.workspace.filter_process import run_filter

NO_DECISION: Final = "A hook that must decide gave no decision."


class SessionFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What every hook is told about the session."""

    session_id: str
    transcript_path: str
    cwd: Path
    permission_mode: str


class Hooks:
    """The hooks of one session. All handlers of a moment run side by side, identical ones once."""

    def __init__(self, hooks: HookSet, facts: SessionFacts, env: Mapping[str, str] | None = None) -> None:
        self._rules = hooks.rules
        self._facts = facts
        self._env = dict(os.environ if env is None else env)

    async def fire(self, moment: Moment, target: str = "", **fields: Any) -> Outcome:
        return await self._fire(moment, (target,), fields)

    async def before_tool(self, tool: AnyTool, call: ToolCall) -> Proceed | Block:
        said = await self._fire(Moment.PRE_TOOL_USE, (tool.label, tool.name), self._about(tool, call))
        denied = (said.reason or "A hook denied it.") if said.decision == "deny" else None
        refusal = said.stopped or said.blocked or denied
        if refusal is not None:
            return Block(reason=refusal)
        updated = None if said.updated_input is None else from_hooks(tool.label, said.updated_input)
        return Proceed(
            input=updated,
            vouched=said.reason or "a hook" if said.decision == "allow" else None,
            must_ask=said.reason or "A hook wants you to decide." if said.decision == "ask" else None,
            context=said.context,
        )

    async def after_tool(self, tool: AnyTool, call: ToolCall, result: ToolResult) -> ToolResult:
        about = {**self._about(tool, call), "tool_response": {"content": result.content, "is_error": result.is_error}}
        said = await self._fire(Moment.POST_TOOL_USE, (tool.label, tool.name), about)
        words = "\n".join(part for part in (said.stopped, said.blocked, said.context) if part)
        if not words:
            return result
        return msgspec.structs.replace(result, content=f"{result.content}\n\n<hook>\n{words}\n</hook>")

    def _about(self, tool: AnyTool, call: ToolCall) -> dict[str, Any]:
        told = for_hooks(tool.label, call.input, self._facts.cwd)
        return {"tool_name": tool.label, "tool_input": told, "tool_use_id": call.id}

    async def _fire(self, moment: Moment, names: tuple[str, ...], fields: Mapping[str, Any]) -> Outcome:
        handlers: list[Handler] = []
        for rule in self._rules:
            if rule.moment is moment and matches(rule.matcher, names):
                handlers.extend(handler for handler in rule.handlers if handler not in handlers)
        if not handlers:
            return NOTHING_SAID
        event = self._event(moment, fields)
        return together(await asyncio.gather(*(self._ask(handler, moment, event) for handler in handlers)))

    def _event(self, moment: Moment, fields: Mapping[str, Any]) -> bytes:
        facts = self._facts
        event = {
            "session_id": facts.session_id,
            "transcript_path": facts.transcript_path,
            "cwd": str(facts.cwd),
            "permission_mode": facts.permission_mode,
            "hook_event_name": moment,
            **fields,
        }
        return json.dumps(event).encode()

    async def _ask(self, handler: Handler, moment: Moment, event: bytes) -> Outcome:
        timeout_s = timeout_of(handler, moment)
        if isinstance(handler, CommandHandler):
            answer = await self._ask_command(handler, moment, event, timeout_s)
        else:
            answer = await self._ask_server(handler, moment, event, timeout_s)
        if answer is not None:
            return answer
        return Outcome(blocked=NO_DECISION) if handler.fail_closed else Outcome()

    async def _ask_command(
        self, handler: CommandHandler, moment: Moment, event: bytes, timeout_s: float
    ) -> Outcome | None:
        project = str(self._facts.cwd)
        env = {**self._env, "CLAUDE_PROJECT_DIR": project, "ROBOTA_PROJECT_DIR": project}
        try:
            ended = await run_filter(handler.command, event, self._facts.cwd, env, timeout_s)
        except OSError:
            return None
        return answer_of_command(moment, ended)

    async def _ask_server(
        self, handler: HttpHandler, moment: Moment, event: bytes, timeout_s: float
    ) -> Outcome | None:
        from robota.workspace.post import post_json

        headers = {name: self._filled(value, handler.allowed_env_vars) for name, value in handler.headers.items()}
        said = await post_json(handler.url, headers, event, timeout_s)
        return None if said is None else answer_of_json(moment, said)

    def _filled(self, value: str, allowed: tuple[str, ...]) -> str:
        """A header with the variables the person named; no other part of the environment leaves the machine."""
        for name in allowed:
            value = value.replace(f"${{{name}}}", self._env.get(name, "")).replace(f"${name}", self._env.get(name, ""))
        return value
