"""Bytes to events, however they are split."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from robota.providers.wire.reply import SseFrames

PIECES = st.sampled_from(
    [
        b"data: ",
        b"data:",
        b"data",
        b": ping",
        b"event: x",
        b"id: 1",
        b"\n",
        b"\n\n",
        b"\r",
        b"\r\n",
        b"\r\n\r\n",
        b"\xef\xbb\xbf",
        b"{}",
        "größe".encode(),
        b" ",
    ]
)
STREAMS = st.lists(PIECES, max_size=40).map(b"".join)


def events_of(reads: Iterable[bytes]) -> list[bytes]:
    frames = SseFrames()
    found = [payload for read in reads for payload in frames.feed(read)]
    return found + frames.finish()


def reference(stream: bytes) -> list[bytes]:
    """The rules of the standard, a line at a time; an unfinished last event counts."""
    text = stream.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    found: list[bytes] = []
    data: list[bytes] = []
    for line in [*text.split(b"\n"), b""]:
        if not line and data:
            found.append(b"\n".join(data))
            data = []
        name, _, value = line.partition(b":")
        if name == b"data":
            data.append(value[1:] if value[:1] == b" " else value)
    return found


@given(STREAMS, st.data())
def test_any_split_gives_the_same_events(stream: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    reads = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert events_of(reads) == reference(stream)


@given(STREAMS)
def test_byte_by_byte_gives_the_same_events(stream: bytes) -> None:
    assert events_of(stream[place : place + 1] for place in range(len(stream))) == reference(stream)


def test_a_byte_order_mark_may_be_split_too() -> None:
    stream = b"\xef\xbb\xbfdata: x\n\n"
    for cut in range(len(stream)):
        assert events_of([stream[:cut], stream[cut:]]) == [b"x"]


def test_lines_of_data_are_joined_and_all_else_is_skipped() -> None:
    stream = b": ping\n\nevent: x\nid: 7\ndata: one\ndata:two\nretry: 5\n\n:\n\ndata: [DONE]\n\n"
    assert events_of([stream]) == [b"one\ntwo", b"[DONE]"]


def test_an_event_is_given_as_soon_as_it_is_complete() -> None:
    frames = SseFrames()
    assert frames.feed(b"data: a\n") == []
    assert frames.feed(b"\ndata: b") == [b"a"]
    assert frames.feed(b"\r\r") == [b"b"]
