"""What the page gets: one type for each change, as JSON. `t` names it; `blocks`, and lines of diffs, are safe HTML."""

from typing import Any

from robota.protocol.asks.buttons import AskControls
from robota.protocol.wire import Value


class PageRow(Value, frozen=True, kw_only=True):
    """A row of the conversation. Prose has `blocks`, everything else its `text`.

    A text that is too long to be sent is cut; `length` is how long it is then. `asked` is the typed ask, with its view
    as in `page_views`. `task_id` is set if the row is an ask of a task beside the conversation.
    """

    ts: int
    type: str
    kind: str
    ask: str | None = None
    say: str | None = None
    text: str | None = None
    blocks: tuple[str, ...] = ()
    length: int = 0
    partial: bool | None = None
    is_answered: bool | None = None
    interrupted: bool | None = None
    call_id: str | None = None
    images: tuple[str, ...] = ()
    controls: AskControls | None = None
    asked: dict[str, Any] | None = None
    is_beside: bool = False


class PageCall(Value, frozen=True, kw_only=True):
    """A call, and the `ts` of the row that it is shown after. `output` is the end of what it prints while it runs."""

    call_id: str
    after: int
    title: str
    status: str
    purpose: str = ""
    duration_ms: int = 0
    reason: str | None = None
    output: str = ""
    view: dict[str, Any] | None = None


class PageChange(Value, frozen=True, kw_only=True, tag_field="t"):
    """The base of all changes. Each replaces what the page had before, so that one that comes twice does no harm."""


class Whole(PageChange, frozen=True, kw_only=True, tag="whole"):
    """Everything. There are `older` rows before these; `panels` are what stands beside the conversation, by name."""

    rows: tuple[PageRow, ...]
    calls: tuple[PageCall, ...]
    older: int
    panels: dict[str, Any]


class RowChanged(PageChange, frozen=True, kw_only=True, tag="row"):
    """A row is new, or another than before."""

    row: PageRow


class ProseGrew(PageChange, frozen=True, kw_only=True, tag="prose"):
    """A row of prose has these blocks from the block `start` on, and no others after them."""

    ts: int
    start: int
    blocks: tuple[str, ...]


class TextGrew(PageChange, frozen=True, kw_only=True, tag="text"):
    """The end of the plain text of a row, of which `length` characters came so far."""

    ts: int
    tail: str
    length: int


class CallChanged(PageChange, frozen=True, kw_only=True, tag="call"):
    """A call has started, printed something or ended."""

    call: PageCall


class PanelChanged(PageChange, frozen=True, kw_only=True, tag="panel"):
    """What stands beside the conversation under this name is now this."""

    name: str
    value: Any


class OlderPage(PageChange, frozen=True, kw_only=True, tag="older"):
    """The rows that a page requested; there are `older` more before them."""

    request_id: str | None
    rows: tuple[PageRow, ...]
    calls: tuple[PageCall, ...]
    older: int


class RequestReplied(PageChange, frozen=True, kw_only=True, tag="reply"):
    """An event that answers a request: `kind` is its type."""

    request_id: str | None
    kind: str
    value: Any


class Remarked(PageChange, frozen=True, kw_only=True, tag="remark"):
    """Something to tell the user once; `level` is info or warning."""

    level: str
    text: str


class SessionOver(PageChange, frozen=True, kw_only=True, tag="over"):
    """The session does not run any more. It can be resumed."""


Change = (
    Whole
    | RowChanged
    | ProseGrew
    | TextGrew
    | CallChanged
    | PanelChanged
    | OlderPage
    | RequestReplied
    | Remarked
    | SessionOver
)
