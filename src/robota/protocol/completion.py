"""Completions that a client offers while the user types a prompt."""

from enum import StrEnum

from robota.protocol.slash_commands import CommandSource
from robota.protocol.wire import OpenValue


class CandidateKind(StrEnum):
    """What a completion is."""

    COMMAND = "command"
    ARGUMENT = "argument"  # a word behind a command
    FILE = "file"
    DIRECTORY = "directory"
    MENTION = "mention"  # something other than a path that can be mentioned


class CompletionCandidate(OpenValue, frozen=True, kw_only=True):
    """One completion. `insert` goes into the text; `label` and `description` are for display.

    `insert` ends with a space if the word is complete and another may follow. `source` groups commands.
    """

    kind: CandidateKind
    insert: str
    label: str
    description: str = ""
    source: CommandSource | None = None


class PromptCompletion(OpenValue, frozen=True, kw_only=True):
    """The completions, the best first. Each would replace the characters of the text from `start` to before `end`.

    Characters are Unicode code points. Unless it `is_complete`, files are still being listed: ask again soon.
    """

    start: int = 0
    end: int = 0
    candidates: tuple[CompletionCandidate, ...] = ()
    is_complete: bool = True
