"""Completes mentions: files and directories of the workspace, and the words for other things."""

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Final

from robota.contracts.workspace import Files
from robota.knowledge.mentions.parsing import MAX_PATH, mention_of_path
from robota.protocol.completion import CandidateKind, CompletionCandidate, PromptCompletion
from robota.workspace.search.file_list import FileList

# As in `parse_mentions`, but the word may end anywhere: it is just being typed.
UNFINISHED: Final = re.compile(r'(?<![^\s(\[{])@(?:"(?P<quoted>[^"\n]*)|(?P<bare>(?:\\[^\n]|[^\s\\"])*))\Z')
REST_OF_WORD: Final = re.compile(r'[^\s"]*"?')
# Any file of a directory: where none of its files may be read, the directory is not offered either.
ANY_FILE: Final = "any"
# While files are being listed: each one is looked up on the disk, and waits there for the thread that lists.
MOST_AT_FIRST: Final = 10


class MentionWords:
    """What can be mentioned in a workspace."""

    def __init__(self, files: Files, listed: FileList, words: Callable[[str], Mapping[str, str]]) -> None:
        """`words` gives the things that are no paths and begin with what was typed, each with its description."""
        self._files = files
        self._listed = listed
        self._words = words

    async def complete(self, text: str, caret: int, limit: int) -> PromptCompletion | None:
        """None if no mention stands at the caret."""
        self._listed.refresh()  # so that the files are known when one is wanted
        typed = UNFINISHED.search(text, max(0, caret - MAX_PATH), caret)
        if typed is None:
            return None
        query = re.sub(r"\\(.)", r"\1", typed["bare"]) if typed["quoted"] is None else typed["quoted"]
        words = {} if typed["quoted"] is not None else await asyncio.to_thread(self._words, query)
        listed = await self._listed.files()
        query = query.removeprefix("./").removeprefix("/")
        most = limit if listed.is_complete else min(limit, MOST_AT_FIRST)
        paths = await asyncio.to_thread(listed.index.best, query, most, self._is_hidden)
        candidates = (
            *(_word(name, description) for name, description in words.items()),
            *(found for path in paths if (found := _path(path)) is not None),
        )
        rest = REST_OF_WORD.match(text, caret)
        return PromptCompletion(
            start=typed.start(),
            end=caret if rest is None else rest.end(),
            candidates=candidates[:limit],
            is_complete=listed.is_complete,
        )

    def _is_hidden(self, path: str) -> bool:
        if not path.endswith("/"):
            return self._files.is_ignored(path)
        return self._files.is_ignored(path[:-1], is_directory=True) or self._files.is_ignored(path + ANY_FILE)


def _word(name: str, description: str) -> CompletionCandidate:
    blank = "" if name.endswith(":") else " "  # a word that wants to be gone on with
    return CompletionCandidate(
        kind=CandidateKind.MENTION, insert=f"@{name}{blank}", label=f"@{name}", description=description
    )


def _path(path: str) -> CompletionCandidate | None:
    mention = mention_of_path(path)
    if mention is None:
        return None
    if path.endswith("/"):
        return CompletionCandidate(kind=CandidateKind.DIRECTORY, insert=mention, label=path)
    return CompletionCandidate(kind=CandidateKind.FILE, insert=f"{mention} ", label=path)
