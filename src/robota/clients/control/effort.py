"""How much a model is to think, where programs give a number of tokens."""

import sys
from typing import Final

# The most tokens for which each effort stands.
EFFORTS: Final = ((4_096, "low"), (16_384, "medium"), (sys.maxsize, "high"))


def effort_for(tokens: int) -> str:
    """The effort for a number of tokens that the model may think for."""
    return next(effort for limit, effort in EFFORTS if tokens <= limit)
