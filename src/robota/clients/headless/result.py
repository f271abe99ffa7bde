"""The result object: the last line of `stream-json` and the only one of `json`."""

import os
from hashlib import sha256
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from robota.clients.headless.options import ShowCall, own_names
from robota.clients.headless.outcome import ERROR, RunOutcome
from robota.clients.headless.tally import ModelShare, PermissionDenial, Tally
from robota.protocol.conversation import BudgetAccount, Usage


class ModelUsage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The usage of one model. `context_window` is omitted if it is unknown."""

    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int
    cache_creation_input_tokens: int
    cost_usd: float | None = msgspec.field(name="costUSD")
    web_search_requests: int = 0
    context_window: int | UnsetType = UNSET


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """All fields are always present, except `errors` and `api_error_status`, which only errors have.

    A cost is null if the price is unknown. `budget` is there if something limits the run, `estimated_requests` if a
    server counted no tokens.
    """

    type: Literal["result"] = "result"
    subtype: str
    is_error: bool
    result: str
    session_id: str
    num_turns: int
    duration_ms: int
    duration_api_ms: int
    usage: Usage
    model_usage: dict[str, ModelUsage] = msgspec.field(name="modelUsage")
    total_cost_usd: float | None
    permission_denials: tuple[PermissionDenial, ...]
    terminal_reason: str
    stop_reason: str | None
    uuid: str
    errors: tuple[str, ...] | UnsetType = UNSET
    api_error_status: int | UnsetType = UNSET
    budget: tuple[BudgetAccount, ...] | UnsetType = UNSET
    estimated_requests: int | UnsetType = UNSET
    structured_output: msgspec.Raw | UnsetType = UNSET  # the answer as JSON, with --json-schema


def result_of(outcome: RunOutcome, tally: Tally, show_call: ShowCall = own_names) -> Result:
    """The result of a run that had a session."""
    return Result(
        subtype=outcome.subtype,
        is_error=outcome.is_error,
        result=outcome.result,
        session_id=tally.session_id,
        num_turns=tally.num_turns,
        duration_ms=tally.duration_ms,
        duration_api_ms=tally.duration_api_ms,
        usage=tally.usage,
        model_usage=usage_by_model(tally),
        total_cost_usd=tally.total_cost,
        permission_denials=tuple(_shown_denial(each, show_call) for each in tally.denials),
        terminal_reason=outcome.terminal_reason,
        stop_reason=tally.stop_reason,
        uuid=new_uuid(),
        errors=outcome.errors if outcome.is_error else UNSET,
        api_error_status=UNSET if outcome.api_error_status is None else outcome.api_error_status,
        budget=tally.budget or UNSET,
        estimated_requests=tally.estimated_requests or UNSET,
        structured_output=msgspec.Raw(outcome.result.encode()) if outcome.is_structured else UNSET,
    )


def usage_by_model(tally: Tally) -> dict[str, ModelUsage]:
    """What each model has used."""
    return {name: _model_usage(share, tally.context_window) for name, share in tally.models.items()}


def failure(message: str, *, session_id: str = "", terminal_reason: str = "turn_setup_failed") -> Result:
    """The result of a run without a session: wrong usage, wrong configuration."""
    return Result(
        subtype=ERROR,
        is_error=True,
        result="",
        session_id=session_id,
        num_turns=0,
        duration_ms=0,
        duration_api_ms=0,
        usage=Usage(),
        model_usage={},
        total_cost_usd=0.0,
        permission_denials=(),
        terminal_reason=terminal_reason,
        stop_reason=None,
        uuid=new_uuid(),
        errors=(message,),
    )


def _shown_denial(denial: PermissionDenial, show_call: ShowCall) -> PermissionDenial:
    shown = show_call(denial.tool_name, denial.tool_input)
    return msgspec.structs.replace(denial, tool_name=shown.tool, tool_input=shown.input)


def _model_usage(share: ModelShare, context_window: int | None) -> ModelUsage:
    usage = share.usage
    return ModelUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_input_tokens=usage.cache_read_input_tokens,
        cache_creation_input_tokens=usage.cache_creation_input_tokens,
        cost_usd=share.cost,
        context_window=UNSET if context_window is None else context_window,
    )


def new_uuid() -> str:
    """A random UUID (version 4). Importing `uuid` would take longer than generating all identifiers of a run."""
    return _uuid_of(bytearray(os.urandom(16)), version=4)


def reply_uuid(session_id: str, reply_id: str) -> str:
    """The UUID of a reply of the model, which is the same whenever the session is read again."""
    return _uuid_of(bytearray(sha256(f"{session_id}\0{reply_id}".encode()).digest()[:16]), version=8)


def _uuid_of(bits: bytearray, version: int) -> str:
    bits[6] = bits[6] & 0x0F | version << 4
    bits[8] = bits[8] & 0x3F | 0x80
    digits = bits.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def new_message_id() -> str:
    """An identifier in the form of the Messages API."""
    return f"msg_{os.urandom(12).hex()}"
