"""The sources of mentions that take more than one tool call."""

from collections.abc import Awaitable, Callable, Sequence

import msgspec


class MentionSources(msgspec.Struct, frozen=True, kw_only=True):
    """Functions that return the text of mentions. Each raises `PromptNotSent` with a reason if there is none.

    `checks` returns the commands that check the project, `syntax_errors` the errors in changed files, `terminal` the
    output of commands, and `session` the summary of another session, by its id or name.
    """

    checks: Callable[[], Awaitable[Sequence[str]]]
    syntax_errors: Callable[[], Awaitable[str]]
    terminal: Callable[[], Awaitable[str]]
    session: Callable[[str], Awaitable[str]]
