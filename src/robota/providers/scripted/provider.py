"""The provider type `scripted`: a model whose replies come from a script, streamed like real ones."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.config.profiles.profile import Profile
from robota.protocol.conversation import TextBlock, ToolResultBlock, Turn, Usage, UserTurn
from robota.providers.chunks import (
    CallArgumentsChunk,
    CallStartChunk,
    Chunk,
    EditFormat,
    FinishChunk,
    ModelRequest,
    TextChunk,
    ThinkingChunk,
    UsageChunk,
)
from robota.providers.definition import CostSource, ModelInfo, ProviderDefinition
from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.scripted.script import (
    CUT,
    EMPTY,
    EOF,
    Expect,
    ScriptedFault,
    ScriptedTurn,
    load_script,
    script_fault,
    script_of,
)

BATCH_SIZE: Final = 4
SHOWN: Final = 300


class ScriptedModel:
    """Plays one turn of its script for each request, in order. A turn that fails is used up too.

    A request that does not fit the script fails, or gets the turn `otherwise` if there is one; the script waits then.
    """

    def __init__(self, profile: Profile) -> None:
        self._options = profile.options
        self._turns: Sequence[ScriptedTurn] | None = None
        self._played: dict[str | None, int] = {}  # by the task that the turns are for
        self._requests = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[Sequence[Chunk]]:
        self._requests += 1
        turn = self._turn_for(request)
        await asyncio.sleep(turn.delay_ms / 1000)
        chunks = list(_chunks(turn, self._requests))
        fault = turn.fault
        if fault is not None and fault.kind == EMPTY:
            chunks, fault = [FinishChunk("end_turn")], None
        elif fault is not None:
            # The closing chunk never comes before a fault.
            chunks = chunks[: min(fault.after, len(chunks) - 1)]
        for start in range(0, len(chunks), BATCH_SIZE):
            yield chunks[start : start + BATCH_SIZE]
            await asyncio.sleep(turn.chunk_delay_ms / 1000)
        if fault is not None:
            raise _fault(fault)

    async def close(self) -> None:
        """Nothing is open."""

    def _turn_for(self, request: ModelRequest) -> ScriptedTurn:
        before = dict(self._played)
        try:
            turn = self._next(request)
            if turn.expect is not None:
                _check(turn.expect, request, self._played[turn.task])
        except ProviderFault:
            if "otherwise" not in self._options:
                raise
            self._played = before
            return script_of([self._options["otherwise"]], "options.otherwise")[0]
        return turn

    def _next(self, request: ModelRequest) -> ScriptedTurn:
        if self._turns is None:
            self._turns = _load(self._options.get("script"), self._options.get("turns"))
        first = _user_text(request.turns)
        named = {turn.task for turn in self._turns if turn.task is not None}
        task = next((text for text in sorted(named) if text in first), None)
        own, played = [turn for turn in self._turns if turn.task == task], self._played.get(task, 0)
        if played >= len(own):
            about = "" if task is None else f" for the task {task!r}"
            raise script_fault(
                f"the script has ended: it holds {len(own)} turns{about} and request {played + 1} came. "
                "Add a turn to the script, or make the task end earlier."
            )
        self._played[task] = played + 1
        return own[played]


def _load(script: object, turns: object) -> Sequence[ScriptedTurn]:
    if turns is not None:
        return script_of(turns, "options.turns")
    if isinstance(script, str) and script:
        return load_script(Path(script))
    raise script_fault("the provider profile names no script. Put the path of a file into options.script.")


def _chunks(turn: ScriptedTurn, number: int) -> Iterator[Chunk]:
    size = turn.chunk_size
    for piece in _pieces(turn.reasoning or "", size):
        yield ThinkingChunk(piece)
    for piece in _pieces(turn.text or "", size):
        yield TextChunk(piece)
    for index, call in enumerate(turn.calls):
        yield CallStartChunk(index, call.id or f"call_{number}_{index + 1}", call.name)
        arguments = call.arguments
        text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
        for piece in _pieces(text, size):
            yield CallArgumentsChunk(index, piece)
    if turn.usage is not None:
        used = turn.usage
        usage = Usage(
            input_tokens=used.input,
            output_tokens=used.output,
            cache_creation_input_tokens=used.cache_write,
            cache_read_input_tokens=used.cache_read,
        )
        yield UsageChunk(usage, used.cost)
    yield FinishChunk(turn.finish or ("tool_use" if turn.calls else "end_turn"))


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def _fault(fault: ScriptedFault) -> ProviderFault:
    if fault.kind in (CUT, EOF):
        happened = "The connection broke" if fault.kind == CUT else "The reply ended without its closing"
        return ProviderFault(FaultKind.STREAM_CUT, fault.message or f"{happened}, as the script says. Retry.")
    message = fault.message or f"The scripted model fails with {fault.kind}, as its script says."
    return ProviderFault(FaultKind(fault.kind), message, status=fault.status, retry_after_s=fault.retry_after)


def _check(expect: Expect, request: ModelRequest, number: int) -> None:
    results = _last_results(request.turns)
    user_text = _user_text(reversed(request.turns))
    output = "\n".join(result.content for result in results)
    offered = [tool.name for tool in request.tools]
    if expect.user is not None and not _matches(expect.user, user_text):
        raise _mismatch(number, "user", expect.user, user_text)
    if expect.result is not None and expect.result not in output:
        raise _mismatch(number, "result", expect.result, output)
    if expect.error is not None and any(result.is_error for result in results) is not expect.error:
        raise _mismatch(number, "error", str(expect.error).lower(), output)
    if expect.tools is not None and not set(expect.tools) <= set(offered):
        raise _mismatch(number, "tools", ", ".join(expect.tools), ", ".join(offered))
    if expect.turns is not None and len(request.turns) != expect.turns:
        raise _mismatch(number, "turns", str(expect.turns), str(len(request.turns)))


def _mismatch(number: int, key: str, expected: str, came: str) -> ProviderFault:
    shown = came if len(came) <= SHOWN else came[:SHOWN] + "…"
    return script_fault(f"turn {number} expects {key} {expected!r}, but the request has {shown!r}.")


def _matches(pattern: str, text: str) -> bool:
    if len(pattern) > 1 and pattern.startswith("/") and pattern.endswith("/"):
        try:
            return re.search(pattern[1:-1], text, re.DOTALL) is not None
        except re.error as error:
            raise script_fault(f"expect.user {pattern!r} is not a regular expression: {error}.") from error
    return pattern in text


def _user_text(turns: Iterable[Turn]) -> str:
    """The first of these user turns that has a text."""
    for turn in turns:
        if isinstance(turn, UserTurn):
            text = "\n".join(block.text for block in turn.content if isinstance(block, TextBlock))
            if text:
                return text
    return ""


def _last_results(turns: Sequence[Turn]) -> list[ToolResultBlock]:
    last = turns[-1] if turns else None
    if not isinstance(last, UserTurn):
        return []
    return [block for block in last.content if isinstance(block, ToolResultBlock)]


def _model_info(profile: Profile) -> ModelInfo:
    try:
        return msgspec.convert(profile.options.get("modelInfo", {}), _ModelInfoOptions).info()
    except msgspec.ValidationError as error:
        raise script_fault(f"options.modelInfo of the provider profile: {error}.") from error


class _ModelInfoOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    # Huge by default, because a summary would use up a turn of the script; scripts must opt in to condensing.
    context_window: int = 1_000_000_000
    max_output_tokens: int | None = None
    native_tools: bool = True
    sees_images: bool = False
    edit_format: EditFormat = EditFormat.REPLACE

    def info(self) -> ModelInfo:
        return ModelInfo(
            context_window=self.context_window,
            max_output_tokens=self.max_output_tokens,
            native_tools=self.native_tools,
            sees_images=self.sees_images,
            edit_format=self.edit_format,
        )


DEFINITION = ProviderDefinition(
    type="scripted",
    display_name="Scripted model",
    description="Plays a script of turns from a file. For tests, demos and documentation; needs no key and no network.",
    create_provider=ScriptedModel,
    defaults={"model": "scripted"},
    model_info=_model_info,
    cost_source=CostSource.FREE,
)
