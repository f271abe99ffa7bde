"""The ledger of a context window: what the model has in view, piece by piece, and what each piece costs in tokens."""

from enum import StrEnum

from robota.protocol.wire import Value


class LedgerKind(StrEnum):
    """Where something in the context comes from."""

    SYSTEM = "system"  # the system prompt
    TOOLS = "tools"  # the descriptions of the built-in tools
    MCP_SERVER = "mcpServer"  # the descriptions of the tools of one server
    INSTRUCTIONS = "instructions"  # an instruction file, a memory, a skill
    FILE = "file"  # a file that was read
    OUTPUT = "output"  # what another call gave
    CONDENSATION = "condensation"  # what stands for turns that were taken out
    PERSON = "person"
    MODEL = "model"  # its words, its reasoning and its calls
    REMINDER = "reminder"  # what hooks and Robota told the model


class Fate(StrEnum):
    """What becomes of something when the conversation is condensed."""

    KEPT = "kept"  # word for word
    PINNED = "pinned"  # word for word, because a person said so
    SUMMARISED = "summarised"
    LEFT_OUT = "leftOut"


class LedgerEntry(Value, frozen=True, kw_only=True):
    """One thing that the model has in view. `tokens` are estimated; all entries together have those in use.

    `share` is in percent of the window. `turn` is the number by which it can be pinned, `call_id` the call whose result
    it is. `reduction_id` names the condensation or the cut that put it there, which can be undone by it.
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
