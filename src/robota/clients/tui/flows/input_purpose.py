"""The purpose of the input."""

from enum import Enum, auto


class InputPurpose(Enum):
    """What the input is used for now: a prompt, an edit of the subject of an ask, or an answer in words."""

    PROMPT = auto()
    EDIT = auto()
    WORDS = auto()
