"""What a next step looks like in a text for a model: a sentence that begins with what to do."""

import re
from typing import Final

VERBS: Final = (
    "Answer Ask Call Change Check Choose Continue Copy Correct Create Do Edit End Find Fix Free Give Go If "
    "Install Leave List Look Make Name Narrow Pass Put Read Repair Repeat Resume Retry Run Say Search See Send "
    "Set Skip Start Stop Tell Try Use Wait Write"
)
NEXT_STEP: Final = re.compile(
    rf"(?:^\s*|[.?!:;)\]]\s+|\n\s*|[.] )(?:{VERBS.replace(' ', '|')})\b|Did you mean|Calls that need no"
)


def has_next_step(text: str) -> bool:
    """Whether the text says what to do."""
    return NEXT_STEP.search(text) is not None
