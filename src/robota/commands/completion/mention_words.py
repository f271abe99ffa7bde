"""Completes mentions: files and directories of the workspace, and special words such as `@terminal`."""

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Final

from robota.contracts.workspace import Files
from robota.knowledge.mentions.parsing import MAX_PATH, MENTION_START, mention_of_path
from robota.protocol.completion import CandidateKind, CompletionCandidate, PromptCompletion
from robota.workspace.search.file_list import FileList

# As in `parse_mentions`, but for a word that is still being typed.
UNFINISHED: Final = re.compile(MENTION_START + r'(?:"(?P<quoted>[^"\n]*)|(?P<bare>(?:\\[^\n]|[^\s\\"])*))\Z')
REST_OF_WORD: Final = re.compile(r'[^\s"]*"?')
# Stands for any file of a directory: a directory in which no file may be read is not offered.
ANY_FILE: Final = "any"
# While files are still being listed, because checking each candidate competes with the listing thread.
MAX_WHILE_LISTING: Final = 10


class MentionWords:
    """Completes what can be mentioned in a workspace."""

    def __init__(self, files: Files, listed: FileList, words: Callable[[str], Mapping[str, str]]) -> None:
        """`words` returns the mentions other than paths that start with a prefix, with their descriptions."""
        self._files = files
        self._listed = listed
        self._words = words

    async def complete(self, text: str, caret: int, limit: int) -> PromptCompletion | None:
        """The completions of the mention at the caret; None if there is no mention."""
        self._listed.refresh()  # early, so that the files are listed when a mention is typed
        typed = UNFINISHED.search(text, max(0, caret - MAX_PATH), caret)
        if typed is None:
            return None
        query = re.sub(r"\\(.)", r"\1", typed["bare"]) if typed["quoted"] is None else typed["quoted"]
        words = {} if typed["quoted"] is not None else await asyncio.to_thread(self._words, query)
        listed = await self._listed.files()
        query = query.removeprefix("./").removeprefix("/")
        path_limit = limit if listed.is_complete else min(limit, MAX_WHILE_LISTING)
        paths = await asyncio.to_thread(listed.index.best, query, path_limit, self._is_hidden)
        candidates = (
            *(_word_candidate(name, description) for name, description in words.items()),
            *(candidate for path in paths if (candidate := _path_candidate(path)) is not None),
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


def _word_candidate(name: str, description: str) -> CompletionCandidate:
    space = "" if name.endswith(":") else " "  # `session:` is continued
    return CompletionCandidate(
        kind=CandidateKind.MENTION, insert=f"@{name}{space}", label=f"@{name}", description=description
    )


def _path_candidate(path: str) -> CompletionCandidate | None:
    mention = mention_of_path(path)
    if mention is None:
        return None
    if path.endswith("/"):
        return CompletionCandidate(kind=CandidateKind.DIRECTORY, insert=mention, label=path)
    return CompletionCandidate(kind=CandidateKind.FILE, insert=f"{mention} ", label=path)
