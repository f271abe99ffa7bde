"""The ledger of a context window: everything the model gets, entry by entry, with its tokens."""

from enum import StrEnum

from robota.protocol.wire import Value


class LedgerKind(StrEnum):
    """The kind of an entry of the context."""

    SYSTEM = "system"  # the system prompt
    TOOLS = "tools"  # the descriptions of the built-in tools
    MCP_SERVER = "mcpServer"  # the descriptions of the tools of one server
    INSTRUCTIONS = "instructions"  # an instruction file, a memory, a skill
    FILE = "file"  # a file that was read
    OUTPUT = "output"  # the result of another call
    CONDENSATION = "condensation"  # the replacement of removed turns
    PERSON = "person"
    MODEL = "model"  # text, reasoning and calls
    REMINDER = "reminder"  # added by hooks and by Robota


class Fate(StrEnum):
    """What happens to an entry when the conversation is condensed."""

    KEPT = "kept"  # word for word
    PINNED = "pinned"  # word for word, because it is pinned
    SUMMARISED = "summarised"
    LEFT_OUT = "leftOut"


class LedgerEntry(Value, frozen=True, kw_only=True):
    """One entry of the context. `tokens` are estimated; together the entries have all tokens in use.

    `share` is in percent of the window. `turn` is the number by which it can be pinned, `call_id` the call whose result
    it is. `reduction_id` names the condensation or cut that made the entry, for undoing it.
    """

    kind: LedgerKind
    title: str
    tokens: int
    share: float
    turn: int | None = None
    call_id: str | None = None
    reduction_id: str | None = None
    is_pinned: bool = False
    fate: Fate | None = None
