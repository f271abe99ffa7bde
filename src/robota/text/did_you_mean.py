"""Suggestions for a mistyped word."""

from collections.abc import Collection, Iterable


def did_you_mean(typed: str, choices: Iterable[str]) -> str:
    """A question to append to the error message, or an empty text."""
    suggestion = nearest(typed, choices)
    return f" Did you mean {suggestion}?" if suggestion is not None else ""


def what_there_is(written: str, names: Collection[str], known: Collection[str] = ()) -> str:
    """What a model can use instead of an unknown name: the one that it probably meant, and all of them.

    It may have meant one of `known` that is not worth listing.
    """
    meant = nearest(written, known or names)
    return f"{f'Did you mean {meant!r}? ' if meant is not None else ''}Choose one of: {', '.join(names)}."


def nearest(typed: str, choices: Iterable[str]) -> str | None:
    """The word that was probably meant."""
    # Imported only for a mistake: it takes some milliseconds.
    from difflib import get_close_matches

    by_lower_case = {word.lower(): word for word in choices}
    similar = get_close_matches(typed.lower(), list(by_lower_case), n=1, cutoff=0.7)
    starting_so = [word for word in by_lower_case.values() if len(typed) > 1 and word.lower().startswith(typed.lower())]
    return by_lower_case[similar[0]] if similar else starting_so[0] if len(starting_so) == 1 else None
