"""What a mistyped word probably meant."""

from collections.abc import Iterable


def did_you_mean(said: str, known: Iterable[str]) -> str:
    """A question to add to the message, or nothing."""
    near = nearest(said, known)
    return f" Did you mean {near}?" if near is not None else ""


def nearest(said: str, known: Iterable[str]) -> str | None:
    """The word that was probably meant."""
    # Only for a mistake; it would cost every start some milliseconds.
    from difflib import get_close_matches

    by_lower_case = {word.lower(): word for word in known}
    near = get_close_matches(said.lower(), list(by_lower_case), n=1, cutoff=0.7)
    begun = [word for word in by_lower_case.values() if len(said) > 1 and word.lower().startswith(said.lower())]
    return by_lower_case[near[0]] if near else begun[0] if len(begun) == 1 else None
