"""Replay while a log is read: the records themselves, most of what a long log takes in memory, are not kept."""

from collections.abc import Callable

from robota.log.record import Record, outlives_rewind
from robota.log.replay.branches import Jump, branch_spans, jump_of
from robota.log.replay.session import ReplayedSession, SessionFold


class StreamedReplay:
    """Makes of records that are handed over one by one what `replay` makes of all of them.

    Which records count is known only at the end if somebody went back. Then the log is read a second time.
    """

    def __init__(self) -> None:
        self._fold = SessionFold()
        self._jumps: list[Jump] = []
        self._last_seq = 0

    def take(self, record: Record) -> None:
        """Take in the next record of the log."""
        self._last_seq = record.seq
        jump = jump_of(record)
        if jump is not None:
            self._jumps.append(jump)
        if not self._jumps:
            self._fold.take(record)

    def session(self, read_again: Callable[[Callable[[Record], None]], object]) -> ReplayedSession:
        """The session after the records. `read_again` hands over the same records once more, if that is needed."""
        if not self._jumps:
            return self._fold.session()
        spans = branch_spans(self._jumps, self._last_seq)
        # Let go of the other branch before this one is read.
        fold = self._fold = SessionFold()

        def take_of_branch(record: Record) -> None:
            if outlives_rewind(record.kind) or any(record.seq in span for span in spans):
                fold.take(record)

        read_again(take_of_branch)
        return fold.session()
