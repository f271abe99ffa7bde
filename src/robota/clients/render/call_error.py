"""Why a call failed, in words for a person."""

import json
import re
from typing import Final

MESSAGE: Final = re.compile(r'"message": ?"((?:[^"\\]|\\.)*)', re.DOTALL)


def error_in_words(result: str) -> str:
    """The message of a failed call's result, which is JSON for the model and may have been cut off."""
    message = MESSAGE.search(result) if result.startswith("{") else None
    if message is None:
        return result
    inside = message[1]
    try:
        return str(json.loads(f'"{inside}"'))
    except ValueError:
        return inside
