"""Numbers of things, in words for a person."""


def counted(number: int, thing: str, things: str = "") -> str:
    """`1 file`, `2,000 files`; `things` is the plural of a word that does not only take an s."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"
