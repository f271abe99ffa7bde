"""What the input is for."""

from enum import Enum, auto


class InputPurpose(Enum):
    """What the input is for at the moment: a prompt, a change of what is asked about, or an answer in words."""

    PROMPT = auto()
    EDIT = auto()
    WORDS = auto()
