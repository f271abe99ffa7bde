"""Carries out the control requests of the program."""

import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, Final, TypeVar

from robota.clients.control.client import ControlClient
from robota.clients.control.connection import RequestRefused
from robota.clients.headless.result import new_uuid
from robota.protocol.commands import (
    Command,
    ContextRequest,
    ListRewindPoints,
    Refused,
    RewindTo,
)
from robota.protocol.events import ContextUpdate, EngineEvent, RewindPoints, RewindPreview, Rewound
from robota.protocol.port import SessionPort
from robota.protocol.rewind import PromptPoint, RewindScope
from robota.protocol.slash_commands import SlashCommandInfo
from robota.version import VERSION

# The most tokens for which each effort stands.
EFFORTS: Final = ((4_096, "low"), (16_384, "medium"), (sys.maxsize, "high"))

Answered = TypeVar("Answered", bound=EngineEvent)


def welcome(commands: Sequence[SlashCommandInfo], model: str, output_style: str | None) -> dict[str, Any]:
    """The answer to `initialize`: what the session offers."""
    style = output_style or "default"
    return {
        "commands": [
            {"name": each.name, "description": each.description, "argumentHint": each.argument_hint}
            for each in commands
        ],
        "agents": [],
        "output_style": style,
        "available_output_styles": [style],
        "models": [{"value": model, "displayName": model, "description": ""}],
        "account": {},
        "robota_version": VERSION,
        "hook_on_failure_supported": True,
    }


class ControlRequests:
    """Carries out the requests of the program."""

    def __init__(self, client: ControlClient, session: SessionPort, sdk_servers: Sequence[str]) -> None:
        self._client = client
        self._session = session
        self._sdk_servers = sdk_servers

    async def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out a request and return the payload of its response.

        Raises `RequestRefused`, also for an unknown request.
        """
        match request["subtype"]:
            case "interrupt":
                self._client.interrupt()
                return {"still_queued": []}
            case "set_permission_mode":
                await self._client.set_mode(str(request.get("mode")))
                return {}
            case "set_model":
                await self._client.change(f"/model {_model_in(request)}")
                return {}
            case "set_max_thinking_tokens":
                await self._client.change(f"/effort {_effort_of(request)}")
                return {}
            case "rename_session":
                await self._client.change(f"/rename {request.get('title', '')}".strip())
                return {}
            case "mcp_status":
                return await self._mcp_status()
            case "get_context_usage":
                return await self._context_usage()
            case "rewind_files":
                return await self._rewind_files(request)
            case subtype:
                raise RequestRefused(f"Unsupported control request subtype: {subtype}")

    async def _mcp_status(self) -> dict[str, Any]:
        state = (await self._client.state()).state
        own = [{"name": name, "status": "connected"} for name in self._sdk_servers]
        return {"mcpServers": [*own, *({"name": each.name, "status": each.status} for each in state.mcp_servers)]}

    async def _context_usage(self) -> dict[str, Any]:
        model = (await self._client.state()).state.model
        update = await self._answer_to(ContextRequest(), ContextUpdate, lambda event: bool(event.entries))
        return {
            "categories": [{"name": entry.title, "tokens": entry.tokens, "color": ""} for entry in update.entries],
            "totalTokens": update.used_tokens,
            "maxTokens": update.max_tokens,
            "rawMaxTokens": update.max_tokens,
            "percentage": update.used_percentage,
            "model": model,
            "memoryFiles": [],
            "mcpTools": [],
        }

    async def _rewind_files(self, request: dict[str, Any]) -> dict[str, Any]:
        point = await self._point(str(request.get("user_message_id")))
        if point is None:
            return {"canRewind": False, "error": "This connection has sent no prompt with this id."}
        is_preview = request.get("dry_run") is True
        command = RewindTo(number=point.number, scope=RewindScope.FILES, is_preview=is_preview, request_id=new_uuid())
        try:
            done = await self._rewound(command)
        except RequestRefused as refusal:
            return {"canRewind": False, "error": str(refusal)}
        return {"canRewind": True, "filesChanged": [each.path for each in done.result.files]}

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


def _effort_of(request: dict[str, Any]) -> str:
    """How much the model is to think, from the number of tokens that it may think for."""
    tokens = request.get("max_thinking_tokens")
    if not isinstance(tokens, int):
        raise RequestRefused("Robota sets how much the model thinks from a number of tokens. Nothing was changed.")
    return next(effort for limit, effort in EFFORTS if tokens <= limit)


def _model_in(request: dict[str, Any]) -> str:
    model = request.get("model")
    if not isinstance(model, str) or not model.strip() or any(map(str.isspace, model)):
        raise RequestRefused("Name the model; Robota does not know what Claude Code would use by default.")
    return model
