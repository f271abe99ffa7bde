"""From tokens to simple commands."""

from collections.abc import Callable, Iterable

import msgspec

from robota.workspace.shell.names import is_assignment, is_keyword, is_stateful
from robota.workspace.shell.script import Redirect, SimpleCommand
from robota.workspace.shell.tokens import (
    DuplicateToken,
    NotPlain,
    RedirectToken,
    SeparatorToken,
    Token,
    WordToken,
    read_tokens,
)


class Skeleton(msgspec.Struct, frozen=True, kw_only=True):
    """The words of a simple command as they are written, quotes and all, and its redirections to files."""

    words: tuple[str, ...]
    redirects: tuple[tuple[str, str], ...] = ()

    def spelled(self, change: Callable[[str], str]) -> "Skeleton":
        """The same with each word written otherwise."""
        redirects = tuple((operator, change(target)) for operator, target in self.redirects)
        return Skeleton(words=tuple(map(change, self.words)), redirects=redirects)


class Assembled(msgspec.Struct, frozen=True, kw_only=True):
    command: SimpleCommand
    skeleton: Skeleton


def assemble(command: str) -> tuple[Assembled, ...]:
    """The simple commands in their order; `NotPlain` if there is anything else."""
    done: list[Assembled] = []
    draft: list[Token] = []
    for token in read_tokens(command):
        if not isinstance(token, SeparatorToken):
            draft.append(token)
        elif draft:
            done.append(_simple(draft, command))
            draft = []
        elif token.sign != "\n":
            raise NotPlain(f"a {token.sign} without a command before it")
    if draft:
        done.append(_simple(draft, command))
    return tuple(done)


def _simple(tokens: list[Token], command: str) -> Assembled:
    words, redirects = _sorted_out(tokens)
    if not words:
        raise NotPlain("a redirection without a command")
    for word in _names(words):
        _require_a_name(word)
    for word in words:
        _require_a_tame_pattern(word)
    return Assembled(
        command=SimpleCommand(
            argv=tuple(word.text for word in words),
            text=command[tokens[0].start : tokens[-1].end],
            redirects=tuple(Redirect(operator=operator, target=target.text) for operator, target in redirects),
            globs=frozenset(place for place, word in enumerate(words) if word.globs),
        ),
        skeleton=Skeleton(
            words=tuple(word.raw for word in words),
            redirects=tuple((operator, target.raw) for operator, target in redirects),
        ),
    )


def _names(words: list[WordToken]) -> Iterable[WordToken]:
    """The words that name a program: the first, and after the keyword `time` what it measures."""
    for place, word in enumerate(words):
        yield word
        if word.text != "time" and not (place > 0 and word.text in {"-p", "--"}):
            return


def _sorted_out(tokens: Iterable[Token]) -> tuple[list[WordToken], list[tuple[str, WordToken]]]:
    words: list[WordToken] = []
    redirects: list[tuple[str, WordToken]] = []
    operator: str | None = None
    for token in tokens:
        if isinstance(token, WordToken) and operator is None:
            words.append(token)
        elif isinstance(token, WordToken) and operator is not None and not token.globs:
            redirects.append((operator, token))
            operator = None
        elif isinstance(token, RedirectToken) and operator is None:
            operator = token.operator
        elif not isinstance(token, DuplicateToken) or operator is not None:
            raise NotPlain("a redirection whose target is not a plain word")
    if operator is not None:
        raise NotPlain("a redirection without a target")
    return words, redirects


def _require_a_name(word: WordToken) -> None:
    name = word.text
    if word.globs or not name or not name.isascii() or name.startswith("~") or " " in name:
        raise NotPlain("a program whose name is not plain")
    if is_assignment(name):
        raise NotPlain("an assignment, which changes what the rest means")
    if is_keyword(name):
        raise NotPlain(f"the word {name}, which begins a compound command")
    if is_stateful(name):
        raise NotPlain(f"{name}, which changes what the shell does next")


def _require_a_tame_pattern(word: WordToken) -> None:
    """`.*` may match `..`, and `..` behind a pattern leads to no certain place."""
    if word.globs and any(part.startswith(".") and part != "." for part in word.text.split("/")):
        raise NotPlain("a pattern that could match names beginning with a dot")
