"""What is shown of a conversation when it is resumed."""

from robota.clients.render.past_rows import CHARACTERS_SHOWN, PastConversation
from robota.protocol.message import Message


def said(ts: int, text: str) -> Message:
    return Message(ts=ts, type="say", say="text", text=text)


def test_the_newest_message_is_shown_however_long_it_is() -> None:
    prompt, answer = said(1, "Write a book."), said(2, "x" * (CHARACTERS_SHOWN + 1))
    assert PastConversation(rows=[prompt, answer]).newest_items() == [answer]


def test_as_much_is_shown_as_fits() -> None:
    rows = [said(ts, "x" * (CHARACTERS_SHOWN // 3)) for ts in range(1, 6)]
    assert PastConversation(rows=rows).newest_items() == rows[-3:]
