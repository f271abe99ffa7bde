"""Carries out the control requests of the program."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from robota.clients.control.client import SPOKEN_VERSION, ControlClient
from robota.clients.control.connection import RequestRefused
from robota.clients.control.effort import effort_for
from robota.clients.headless.options import ShownAgent
from robota.clients.headless.result import new_uuid, usage_by_model
from robota.protocol.commands import (
    Command,
    CompletePrompt,
    ContextRequest,
    ListRewindPoints,
    Refused,
    RewindTo,
    TerminalOperation,
)
from robota.protocol.completion import CandidateKind
from robota.protocol.events import ContextUpdate, EngineEvent, RewindPoints, RewindPreview, Rewound
from robota.protocol.port import SessionPort
from robota.protocol.rewind import PromptPoint, RewindScope
from robota.protocol.slash_commands import SlashCommandInfo
from robota.version import VERSION

MAX_SUGGESTIONS: Final = 50
FILES: Final = frozenset({CandidateKind.FILE, CandidateKind.DIRECTORY})
EFFORT_NAMES: Final = {"xhigh": "high", "max": "high"}

Request = dict[str, Any]
Response = dict[str, Any]
Answered = TypeVar("Answered", bound=EngineEvent)


def welcome(
    commands: Sequence[SlashCommandInfo], agents: Sequence[ShownAgent], model: str, output_style: str | None
) -> dict[str, Any]:
    """The answer to `initialize`: what the session offers."""
    style = output_style or "default"
    return {
        "commands": [
            {"name": each.name, "description": each.description, "argumentHint": each.argument_hint}
            for each in commands
        ],
        "agents": [msgspec.to_builtins(each) for each in agents],
        "output_style": style,
        "available_output_styles": [style],
        "models": [{"value": model, "displayName": model, "description": ""}],
        "account": {},
        "robota_version": VERSION,
        "hook_on_failure_supported": True,
    }


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """How a program began: the answer to its `initialize`, and the model that it began with."""

    welcome: dict[str, Any]
    model: str


class ControlRequests:
    """Carries out the requests of the program."""

    def __init__(self, client: ControlClient, session: SessionPort, sdk_servers: Sequence[str], begun: Begun) -> None:
        """`begun` is how the program began: its first answer, and the model that it began with."""
        self._client = client
        self._session = session
        self._sdk_servers = sdk_servers
        self._begun = begun
        self._methods: Mapping[str, Callable[[Request], Awaitable[Response]]] = {
            "initialize": self._again,
            "interrupt": self._interrupt,
            "cancel_async_message": self._forget_prompt,
            "set_permission_mode": self._set_mode,
            "set_model": self._set_model,
            "set_max_thinking_tokens": self._set_thinking,
            "apply_flag_settings": self._apply_settings,
            "rename_session": self._rename,
            "set_color": self._nothing,
            "set_has_subscribers": self._nothing,
            "mcp_status": self._mcp_status,
            "mcp_reconnect": self._reconnect,
            "get_context_usage": self._context_usage,
            "get_session_cost": self._cost,
            "get_usage": self._usage,
            "get_settings": self._settings,
            "get_binary_version": self._version,
            "list_models": self._models,
            "file_suggestions": self._suggest_files,
            "stop_task": self._stop_task,
            "background_tasks": self._to_background,
            "get_task_output": self._task_output,
            "rewind_files": self._rewind_files,
        }

    async def handle(self, request: Request) -> Response:
        """Carry out a request and return the payload of its response.

        Raises `RequestRefused`, also for an unknown request.
        """
        subtype = request["subtype"]
        method = self._methods.get(subtype)
        if method is None:
            raise RequestRefused(f"Unsupported control request subtype: {subtype}")
        return await method(request)

    async def _nothing(self, request: Request) -> Response:
        """What has no meaning here and promises nothing."""
        return {}

    async def _again(self, request: Request) -> Response:
        """A program that introduces itself again gets the first answer; what it says then changes nothing."""
        return self._begun.welcome

    async def _interrupt(self, request: Request) -> Response:
        return self._client.interrupt(forgets_waiting=request.get("cancel_queued") is True)

    async def _forget_prompt(self, request: Request) -> Response:
        return {"cancelled": self._client.forget(str(request.get("message_uuid")))}

    async def _set_mode(self, request: Request) -> Response:
        await self._client.set_mode(str(request.get("mode")))
        return {}

    async def _set_model(self, request: Request) -> Response:
        await self._client.change(f"/model {_model_in(request.get('model') or self._begun.model)}")
        return {}

    async def _set_thinking(self, request: Request) -> Response:
        tokens = request.get("max_thinking_tokens")
        if tokens is None:
            return {}  # no limit, which is how a session begins
        if not isinstance(tokens, int):
            raise RequestRefused("max_thinking_tokens is a number of tokens. Nothing was changed.")
        await self._client.change(f"/effort {effort_for(tokens)}")
        return {}

    async def _apply_settings(self, request: Request) -> Response:
        """Of the settings that can change in a session, the model, the effort and the permission mode."""
        given = request.get("settings")
        settings = given if isinstance(given, dict) else {}
        others = sorted(settings.keys() - {"model", "effortLevel", "permissions"})
        permissions = settings.get("permissions", {})
        if others or not isinstance(permissions, dict) or permissions.keys() - {"defaultMode"}:
            named = ", ".join(others) or "permission rules"
            raise RequestRefused(f"These settings cannot be changed in a session: {named}. Nothing was changed.")
        if (mode := permissions.get("defaultMode")) is not None:
            await self._client.set_mode(str(mode))
        if "model" in settings:
            await self._client.change(f"/model {_model_in(settings['model'] or self._begun.model)}")
        if (effort := settings.get("effortLevel")) is not None:
            await self._client.change(f"/effort {EFFORT_NAMES.get(str(effort), str(effort))}")
        return {}

    async def _rename(self, request: Request) -> Response:
        await self._client.change(f"/rename {request.get('title', '')}".strip())
        return {}

    async def _stop_task(self, request: Request) -> Response:
        await self._client.do_now(f"/background stop {_word(request, 'task_id')}")
        return {}

    async def _task_output(self, request: Request) -> Response:
        output = await self._client.do_now(f"/background read {_word(request, 'task_id')}")
        return {"output": output, "total_bytes": len(output.encode()), "truncated": False}

    async def _to_background(self, request: Request) -> Response:
        receipt = await self._session.submit(TerminalOperation(terminal_operation="background"))
        if isinstance(receipt, Refused):
            raise RequestRefused(receipt.message)
        return {}

    async def _reconnect(self, request: Request) -> Response:
        """Servers start with the first prompt, and one that ends is started again by its next call."""
        name = request.get("serverName")
        known = {each["name"] for each in (await self._mcp_status(request))["mcpServers"]}
        if name not in known:
            raise RequestRefused(f"There is no MCP server {name!r} in this session.")
        return {}

    async def _version(self, request: Request) -> Response:
        return {"version": SPOKEN_VERSION, "robota_version": VERSION}

    async def _models(self, request: Request) -> Response:
        return {"models": self._begun.welcome["models"]}

    async def _cost(self, request: Request) -> Response:
        return {"text": await self._client.do_now("/cost"), "total_cost_usd": self._client.spent.total_cost}

    async def _usage(self, request: Request) -> Response:
        spent = self._client.spent
        session = {
            "total_cost_usd": spent.total_cost,
            "total_api_duration_ms": spent.duration_api_ms,
            "total_duration_ms": spent.duration_ms,
            "total_lines_added": 0,
            "total_lines_removed": 0,
            "model_usage": msgspec.to_builtins(usage_by_model(spent)),
        }
        return {"session": session, "subscription_type": None, "rate_limits_available": False, "rate_limits": None}

    async def _settings(self, request: Request) -> Response:
        state = (await self._client.state()).state
        applied = {"model": state.model, "permissionMode": state.permission_mode}
        return {"effective": applied, "sources": [], "applied": {"model": state.model, "effort": None}}

    async def _suggest_files(self, request: Request) -> Response:
        text = f"@{request.get('query', '')}"
        receipt = await self._session.submit(CompletePrompt(text=text, caret=len(text), limit=MAX_SUGGESTIONS))
        if isinstance(receipt, Refused) or receipt.completion is None:
            return {"suggestions": []}
        files = (each for each in receipt.completion.candidates if each.kind in FILES)
        return {"suggestions": [{"path": each.label, "score": 0} for each in files]}

    async def _mcp_status(self, request: Request) -> Response:
        state = (await self._client.state()).state
        own = [{"name": name, "status": "connected"} for name in self._sdk_servers]
        return {"mcpServers": [*own, *({"name": each.name, "status": each.status} for each in state.mcp_servers)]}

    async def _context_usage(self, request: Request) -> Response:
        model = (await self._client.state()).state.model
        update = await self._answer_to(ContextRequest(), ContextUpdate, lambda event: bool(event.entries))
        return {
            "categories": [
                {"name": entry.title, "tokens": entry.tokens, "color": "", "kind": "used"} for entry in update.entries
            ],
            "totalTokens": update.used_tokens,
            "maxTokens": update.max_tokens,
            "rawMaxTokens": update.max_tokens,
            "percentage": update.used_percentage,
            "model": model,
            "memoryFiles": [],
            "mcpTools": [],
        }

    async def _rewind_files(self, request: Request) -> Response:
        point = await self._point(str(request.get("user_message_id")))
        if point is None:
            return {"canRewind": False, "error": "This connection has sent no prompt with this id."}
        is_preview = request.get("dry_run") is True
        command = RewindTo(number=point.number, scope=RewindScope.FILES, is_preview=is_preview, request_id=new_uuid())
        try:
            done = await self._rewound(command)
        except RequestRefused as refusal:
            return {"canRewind": False, "error": str(refusal)}
        lines = done.result.diff.splitlines()
        return {
            "canRewind": True,
            "filesChanged": [each.path for each in done.result.files],
            "insertions": sum(line.startswith("+") and not line.startswith("+++") for line in lines),
            "deletions": sum(line.startswith("-") and not line.startswith("---") for line in lines),
        }

    async def _rewound(self, wanted: RewindTo) -> RewindPreview | Rewound:
        if wanted.is_preview:
            return await self._answer_to(wanted, RewindPreview, lambda event: event.request_id == wanted.request_id)
        return await self._answer_to(wanted, Rewound, lambda event: event.request_id == wanted.request_id)

    async def _point(self, uuid: str) -> PromptPoint | None:
        """The prompt with this id. The prompts of this connection are the newest ones of the session."""
        if uuid not in self._client.prompts:
            return None
        newest = len(self._client.prompts) - self._client.prompts.index(uuid)
        listed = await self._answer_to(ListRewindPoints(), RewindPoints, lambda event: True)
        live = [point for point in listed.points if point.is_live]
        return live[-newest] if newest <= len(live) else None

    async def _answer_to(self, command: Command, kind: type[Answered], fits: Callable[[Answered], bool]) -> Answered:
        """Submit a command and wait for the event that answers it."""
        events = self._session.events()
        try:
            await anext(events)
            receipt = await self._session.submit(command)
            if isinstance(receipt, Refused):
                raise RequestRefused(receipt.message)
            async for event in events:
                if isinstance(event, kind) and fits(event):
                    return event
        finally:
            if isinstance(events, AsyncGenerator):
                await events.aclose()
        raise RequestRefused("The session has ended.")


def _word(request: Request, name: str) -> str:
    """A field that is one word, so that it is one argument of a slash command. Raises `RequestRefused`."""
    value = request.get(name)
    if not isinstance(value, str) or not value or any(map(str.isspace, value)):
        raise RequestRefused(f"{name} is missing, or is not one word. Nothing was done.")
    return value


def _model_in(model: Any) -> str:
    if not isinstance(model, str) or not model.strip() or any(map(str.isspace, model)):
        raise RequestRefused("The name of a model is one word. Nothing was changed.")
    return model
