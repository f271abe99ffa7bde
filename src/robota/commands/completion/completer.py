"""Completes the word at the caret of a prompt: a slash command, a word behind one, or a mention."""

import msgspec

from robota.commands.completion.command_words import CommandWords
from robota.commands.completion.mention_words import MentionWords
from robota.protocol.completion import CompletionCandidate, PromptCompletion

NOTHING = PromptCompletion()


class Completer:
    """Finds what fits. Nothing here is slow: files are listed in the background, and matched in another thread."""

    def __init__(self, commands: CommandWords, mentions: MentionWords) -> None:
        self._commands = commands
        self._mentions = mentions

    async def complete(self, text: str, caret: int, limit: int) -> PromptCompletion:
        """What may stand at the caret. A caret outside of the text means its end."""
        caret = caret if 0 <= caret <= len(text) else len(text)
        if limit <= 0:
            return NOTHING
        found = await self._mentions.complete(text, caret, limit)
        if found is None:
            found = await self._commands.complete(text, caret, limit)
        if found is None:
            return NOTHING
        if text[found.end : found.end + 1].isspace():
            return msgspec.structs.replace(found, candidates=tuple(map(_without_blank, found.candidates)))
        return found


def _without_blank(candidate: CompletionCandidate) -> CompletionCandidate:
    """One blank is enough where the text goes on with one."""
    return msgspec.structs.replace(candidate, insert=candidate.insert.rstrip(" "))
