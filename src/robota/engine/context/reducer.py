"""Shortens the history of a task: replaces most of it by a summary, drops its oldest exchanges, or cuts outputs."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from robota.contracts.rest_of_result import how_to_read_rest
from robota.contracts.tool import ToolRole, names_with_role
from robota.engine.context.old_outputs import NOTE_LENGTH, OldOutput, old_outputs, replacement_text
from robota.engine.context.retained import TouchedFiles, summary_turn, user_messages
from robota.engine.context.span import (
    Span,
    all_but_head,
    all_but_last_exchange,
    can_condense,
    oldest_exchanges,
    pinned_pairs,
    shortened_results,
)
from robota.engine.context.summary import SUMMARY_HEADING
from robota.engine.model.system_prompt import state_beside_prompt
from robota.engine.record.history import characters_of
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.log.kinds.conversation import CondenseRecord, CutRecord, CutResult, TruncateRecord
from robota.log.replay.context import ContextFold
from robota.protocol.conversation import ToolResultBlock, UserTurn
from robota.protocol.message import TodoItem

if TYPE_CHECKING:
    from robota.engine.context.window import Gauge

# The shares of the room for user text (at least LEAST_USER_TEXT characters) and the last exchange, beside the summary.
USER_TEXT_SHARE: Final = 0.1
LEAST_USER_TEXT: Final = 2_000
LAST_EXCHANGE_SHARE: Final = 0.25


class CannotCondense(Exception):
    """Why the conversation was not condensed, for the user."""


class CannotRestore(Exception):
    """Why a reduction cannot be undone, for the user."""


class Sizes(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The tokens of the conversation before and after a reduction."""

    prev_context_tokens: int
    new_context_tokens: int


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    """The turns that were dropped."""

    truncation_id: str
    messages_removed: int
    sizes: Sizes


class CutOutputs(msgspec.Struct, frozen=True, kw_only=True):
    """The outputs that were cut."""

    cut_id: str
    count: int
    sizes: Sizes


def user_text_room(room: int) -> int:
    """How many characters of `room` older user text may take beside a summary."""
    return max(LEAST_USER_TEXT, round(USER_TEXT_SHARE * room))


class Reducer:
    """Reduces the history of one task. What it hides from the model stays in the log."""

    def __init__(self, runtime: TaskRuntime, gauge: "Gauge", todos: Callable[[], Sequence[TodoItem]]) -> None:
        self._runtime = runtime
        self._history = runtime.history
        self._gauge = gauge
        self._todos = todos
        self._files = TouchedFiles(runtime.options.cwd, runtime.services.tools.all)

    @property
    def _pinned(self) -> frozenset[int]:
        """The numbers of the turns that must stay because of pins."""
        return pinned_pairs(self._history.pieces, self._history.pins)

    @property
    def can_condense(self) -> bool:
        return can_condense(self._history.pieces)

    def characters_for(self, tokens: float) -> int:
        """How many characters of the conversation fit into `tokens`."""
        return self._gauge.characters_for(tokens, self._history.characters)

    def condense(self, condense_id: str, trigger: str, summary: str, room: int) -> Sizes:
        """Replace all but the last exchange by the summary. `room` is the context window in characters."""
        before = self._history.characters
        self._history.reduce(self._condensation(condense_id, trigger, summary, room))
        self._shorten_last_results(condense_id, round(LAST_EXCHANGE_SHARE * room))
        return self._sizes(before)

    def cut_outputs(self, least: float, room: float) -> CutOutputs | None:
        """Cut old outputs, if that frees at least `least` tokens; less would only spoil the prompt cache.

        `room` is how many tokens the conversation may have.
        """
        history, before = self._history, self._history.characters
        readers = names_with_role(self._runtime.services.tools.all, ToolRole.FILE_READER)
        outputs = old_outputs(history.pieces, self._pinned, self.characters_for(room), readers)
        freed = sum(len(output.result.content) - NOTE_LENGTH for output in outputs)
        if not outputs or self._gauge.tokens(before) - self._gauge.tokens_after(before, before - freed) < least:
            return None
        identity = f"cut-{self._runtime.journal.next_ts()}"
        results = tuple(self._cut_output(output) for output in outputs)
        history.reduce(CutRecord(task_id=self._runtime.task_id, cut_id=identity, results=results))
        return CutOutputs(cut_id=identity, count=len(results), sizes=self._sizes(before))

    def restoration(self, identity: str, logged: ContextFold, room: float) -> Callable[[], Sizes]:
        """A function that undoes a reduction if the hidden turns fit into `room` tokens."""
        history, before = self._history, self._history.characters
        restored = history.without_reduction(identity, logged)
        if restored is None:
            raise CannotRestore("The log does not contain everything that was removed. Nothing was changed.")
        tokens = self._gauge.tokens_after(before, sum(map(characters_of, restored.turns)))
        require_room(tokens, room)

        def undo() -> Sizes:
            history.restore(identity, restored)
            return self._sizes(before)

        return undo

    def _cut_output(self, output: OldOutput) -> CutResult:
        """Cut one output. Unless it is a file, which can be read again, it is stored as an artifact for the model."""
        reader = min(names_with_role(self._runtime.services.tools.all, ToolRole.OUTPUT_READER), default=None)
        kept_as = None
        if reader is not None and not output.is_of_file:
            kept_as = self._store_artifact(output.result.content)
        put = replacement_text(output, reader, kept_as)
        return CutResult(turn=output.turn, call_id=output.result.tool_use_id, put=put)

    def drop(self, limit: float, target: float) -> Dropped | None:
        """Sliding window: drop the oldest exchanges, down to `target` tokens. None if nothing could be dropped.

        If that is still over `limit`, the results of the last exchange are cut, and then dropped too.
        """
        history, before = self._history, self._history.characters
        identity = f"truncation-{self._runtime.journal.next_ts()}"
        room = self.characters_for(limit)
        excess = before - self.characters_for(target)
        oldest = oldest_exchanges(history.pieces, history.recorded, excess, self._pinned)
        removed = self._drop_span(identity, oldest, room)
        if history.characters > room:
            self._shorten_last_results(identity, room // 2)
        if history.characters > room:
            removed += self._drop_span(identity, all_but_head(history.pieces, history.recorded, self._pinned), room)
        if history.characters >= before:
            return None
        return Dropped(truncation_id=identity, messages_removed=removed, sizes=self._sizes(before))

    def _condensation(self, condense_id: str, trigger: str, summary: str, room: int) -> CondenseRecord:
        if not summary:
            raise CannotCondense("the model returned an empty summary.")
        pieces, recorded = self._history.pieces, self._history.recorded
        span = all_but_last_exchange(pieces, recorded, round(LAST_EXCHANGE_SHARE * room), self._pinned)
        if span is None:
            raise CannotCondense("everything is pinned.")
        put = self._replacement(span, f"{SUMMARY_HEADING}\n\n{summary}", room)
        if characters_of(put) >= span.characters:
            raise CannotCondense("the summary is longer than what it would replace.")
        return CondenseRecord(
            task_id=self._runtime.task_id,
            condense_id=condense_id,
            trigger=trigger,
            first=span.first,
            end=span.end,
            put=put,
            keep=span.keep,
            read_files=self._files.read,
            changed_files=self._files.changed,
        )

    def _drop_span(self, identity: str, span: Span | None, room: int) -> int:
        """Drop a span; returns how many messages, 0 if the replacement would be no shorter."""
        if span is None:
            return 0
        introduction = f"{len(span.turns)} older messages of this conversation were left out to fit the context window."
        put = self._replacement(span, introduction, room)
        if characters_of(put) >= span.characters:
            return 0
        self._history.reduce(
            TruncateRecord(
                task_id=self._runtime.task_id,
                truncation_id=identity,
                first=span.first,
                end=span.end,
                put=put,
                keep=span.keep,
            )
        )
        return len(span.turns)

    def _shorten_last_results(self, identity: str, room: int) -> None:
        results = shortened_results(self._history.pieces, room, self._pinned)
        if results:
            results = self._with_rest_kept(results)
            self._history.reduce(CutRecord(task_id=self._runtime.task_id, cut_id=identity, results=results))

    def _with_rest_kept(self, results: Sequence[CutResult]) -> tuple[CutResult, ...]:
        """The cut results with the call that returns the rest of each, if the session has a tool for that."""
        if not names_with_role(self._runtime.services.tools.all, ToolRole.OUTPUT_READER):
            return tuple(results)
        blocks = (block for turn in self._history.turns if isinstance(turn, UserTurn) for block in turn.content)
        whole = {block.tool_use_id: block.content for block in blocks if isinstance(block, ToolResultBlock)}
        return tuple(
            msgspec.structs.replace(
                cut, put=f"{cut.put}\n[{how_to_read_rest(self._store_artifact(whole[cut.call_id]))}]"
            )
            for cut in results
        )

    def _store_artifact(self, content: str) -> str | None:
        return self._runtime.journal.keep(content.encode("utf-8", "replace"))

    def _replacement(self, span: Span, introduction: str, room: int) -> UserTurn:
        """The turn that replaces a span: user text, `introduction`, todo list and files."""
        self._files.note(self._history.turns)
        hooks = self._runtime.services.hooks.context
        again = "" if hooks is None else hooks.after_shortening(self._runtime.task_id)
        introduction = f"{introduction}\n\n{again}" if again else introduction
        state = state_beside_prompt(self._runtime)
        messages = user_messages(span.turns)
        return summary_turn(messages, user_text_room(room), introduction, self._todos(), self._files, state)

    def _sizes(self, before: int) -> Sizes:
        tokens = self._gauge.tokens(before)
        now = self._gauge.reduced(before, self._history.characters)
        return Sizes(prev_context_tokens=tokens, new_context_tokens=now)


def chosen_reduction(identity: str | None, undoable: Sequence[str]) -> str:
    """The reduction with that id, by default the newest, among the `known` ones. Raises `CannotRestore`."""
    if not undoable:
        raise CannotRestore("Nothing was removed from this conversation, so there is nothing to restore.")
    if identity is not None and identity not in undoable:
        raise CannotRestore(f"There is no {identity!r} to undo. What can be undone: {', '.join(undoable)}.")
    return identity or undoable[-1]


def require_room(tokens: int, room: float) -> None:
    """Raise `CannotRestore` if `tokens` do not fit into `room`."""
    if tokens > room:
        raise CannotRestore(
            f"With it the conversation would have about {tokens:,} tokens, but there is room for only "
            f"{round(room):,}. Nothing was changed."
        )
