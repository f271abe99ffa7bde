"""Find the name that a misspelt one is close to."""

from collections.abc import Iterable
from typing import Final

from robota.contracts.written_call import letters

# In a shorter name a different letter makes a different word.
MIN_LETTERS: Final = 4
# From this length on, two letters may differ.
LONG_NAME: Final = 6


def meant_name(written: str, names: Iterable[str]) -> str | None:
    """The first of `names` that `written` is probably a misspelling of; None if there is none."""
    return next((name for name in names if _is_close(letters(written), letters(name))), None)


def _is_close(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    if one == other:
        return True
    if len(shorter) < MIN_LETTERS:
        return False
    # The second is `timeout_ms` for `timeout`, the third two swapped letters.
    allowed = 2 if len(longer) >= LONG_NAME else 1
    return longer.startswith(shorter) or sorted(one) == sorted(other) or _distance(one, other) <= allowed


def _distance(one: str, other: str) -> int:
    """How many letters must be added, removed or replaced."""
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        diagonal, row[0] = row[0], number
        for column, other_letter in enumerate(other, 1):
            cost = diagonal + (letter != other_letter)
            diagonal, row[column] = row[column], min(cost, row[column] + 1, row[column - 1] + 1)
    return row[-1]
