"""Where mentions that name no file, commit or address get their text from."""

from collections.abc import Awaitable, Callable, Sequence

import msgspec


class MentionSources(msgspec.Struct, frozen=True, kw_only=True):
    """What a session knows besides its files. Each raises `PromptNotSent` if there is nothing to show, and says why.

    `checks` are the commands that tell what is wrong with the project; `syntax_errors` tells what does not parse among
    the changed files; `terminal` is what commands printed; `session` takes the id or name of another session.
    """

    checks: Callable[[], Awaitable[Sequence[str]]]
    syntax_errors: Callable[[], Awaitable[str]]
    terminal: Callable[[], Awaitable[str]]
    session: Callable[[str], Awaitable[str]]
