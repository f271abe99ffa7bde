"""Completes the word at the caret of a prompt: a slash command, an argument of one, or a mention."""

import msgspec

from robota.commands.completion.command_words import CommandWords
from robota.commands.completion.mention_words import MentionWords
from robota.protocol.completion import CompletionCandidate, PromptCompletion

NOTHING = PromptCompletion()


class Completer:
    """Combines the completion of mentions and commands. Slow work runs in threads."""

    def __init__(self, commands: CommandWords, mentions: MentionWords) -> None:
        self._commands = commands
        self._mentions = mentions

    async def complete(self, text: str, caret: int, limit: int) -> PromptCompletion:
        """The completions at the caret; a caret outside the text counts as its end."""
        caret = caret if 0 <= caret <= len(text) else len(text)
        if limit <= 0:
            return NOTHING
        mentions = await self._mentions.complete(text, caret, limit)
        if mentions is None:
            mentions = await self._commands.complete(text, caret, limit)
        if mentions is None:
            return NOTHING
        if text[mentions.end : mentions.end + 1].isspace():
            return msgspec.structs.replace(mentions, candidates=tuple(map(_without_space, mentions.candidates)))
        return mentions


def _without_space(candidate: CompletionCandidate) -> CompletionCandidate:
    """The candidate without its trailing space, because a space follows already."""
    return msgspec.structs.replace(candidate, insert=candidate.insert.rstrip(" "))
