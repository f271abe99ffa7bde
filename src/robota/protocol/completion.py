"""What may be typed next: the words that a client offers while a person writes a prompt."""

from enum import StrEnum

from robota.protocol.slash_commands import CommandSource
from robota.protocol.wire import OpenValue


class CandidateKind(StrEnum):
    """What a word that is offered stands for."""

    COMMAND = "command"
    ARGUMENT = "argument"  # a word behind a command
    FILE = "file"
    DIRECTORY = "directory"
    MENTION = "mention"  # something other than a path that can be mentioned


class CompletionCandidate(OpenValue, frozen=True, kw_only=True):
    """One word that fits. `insert` goes into the text; `label` and `description` are for the person.

    `insert` ends with a blank where the word is complete and another may follow. `source` groups commands.
    """

    kind: CandidateKind
    insert: str
    label: str
    description: str = ""
    source: CommandSource | None = None


class PromptCompletion(OpenValue, frozen=True, kw_only=True):
    """The words that fit, the best first. Each would replace the characters of the text from `start` to before `end`.

    Characters are Unicode code points. Unless it `is_complete`, files are still being listed: ask again soon.
    """

    start: int = 0
    end: int = 0
    candidates: tuple[CompletionCandidate, ...] = ()
    is_complete: bool = True
