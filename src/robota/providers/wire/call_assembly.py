"""Ties the streamed pieces of tool calls together, whatever a server leaves out."""

import msgspec

from robota.providers.chunks import CallStartChunk
from robota.providers.wire.chunk_batch import ChunkBatch


class CallPiece(msgspec.Struct, frozen=True, kw_only=True):
    """What one delta says of a call; an empty string means that it says nothing."""

    index: int | None
    id: str
    name: str
    arguments: str


class _OpenCall(msgspec.Struct):
    place: int
    id: str = ""
    name: str = ""
    started: bool = False
    held_arguments: str = ""


class CallAssembly:
    """Gives every call a place of its own (0, 1, 2 …) and announces it as soon as its name is known.

    A call whose name comes late is held back until then; one that never gets a name is announced without
    it at the end, so that the model is told of its mistake rather than ignored.
    """

    def __init__(self) -> None:
        self._calls: list[_OpenCall] = []
        self._by_index: dict[int, _OpenCall] = {}
        self._by_id: dict[str, _OpenCall] = {}

    @property
    def any(self) -> bool:
        return bool(self._calls)

    def add(self, piece: CallPiece, batch: ChunkBatch) -> None:
        call = self._call_of(piece)
        if piece.id and not call.id:
            call.id = piece.id
            self._by_id[piece.id] = call
        if piece.name and not call.started:
            call.name = piece.name
        if call.started:
            if piece.arguments:
                batch.arguments(call.place, piece.arguments)
            return
        call.held_arguments += piece.arguments
        if call.name and (call.id or call.held_arguments):
            _announce(call, batch)

    def finish(self, batch: ChunkBatch) -> None:
        for call in self._calls:
            if not call.started:
                _announce(call, batch)

    def _call_of(self, piece: CallPiece) -> _OpenCall:
        known = self._by_index.get(piece.index) if piece.index is not None else self._without_index(piece)
        if known is not None and not _is_another(piece, known):
            return known
        call = _OpenCall(place=len(self._calls))
        self._calls.append(call)
        if piece.index is not None:
            self._by_index[piece.index] = call
        return call

    def _without_index(self, piece: CallPiece) -> _OpenCall | None:
        if piece.id:
            return self._by_id.get(piece.id)
        last = self._calls[-1] if self._calls else None
        # A second name without id or index can only be a second call.
        return None if last is not None and piece.name and last.name else last


def _is_another(piece: CallPiece, known: _OpenCall) -> bool:
    """Some servers give every call of a reply the index 0; the id tells them apart."""
    return bool(piece.id and known.id and piece.id != known.id and piece.name)


def _announce(call: _OpenCall, batch: ChunkBatch) -> None:
    call.started = True
    batch.add(CallStartChunk(call.place, call.id, call.name))
    if call.held_arguments:
        batch.arguments(call.place, call.held_arguments)
        call.held_arguments = ""
