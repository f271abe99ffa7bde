"""Receipts, and the outcomes of slash commands in them, as data for the page."""

from typing import Any

import msgspec

from robota.clients.web.page_rows import page_row, past_call
from robota.clients.web.page_views import seen, unified_diff_data, view_data
from robota.protocol.commands import Receipt, Refused
from robota.protocol.slash_commands import (
    CommandChoice,
    CommandOutcome,
    CommandShown,
    DiffShown,
    RewindShown,
    RowsShown,
    TextCopied,
)


def receipt_data(receipt: Receipt) -> Any:
    """A receipt. Completions and lines to run are what would be typed, so they stay as they are."""
    if isinstance(receipt, Refused):
        return seen(receipt)
    data: dict[str, Any] = msgspec.to_builtins(receipt)
    if receipt.outcome is not None:
        data["outcome"] = _outcome(receipt.outcome)
    return data


def _outcome(outcome: CommandOutcome) -> Any:
    match outcome:
        case CommandShown():
            return {**msgspec.to_builtins(outcome), "view": view_data(outcome.view)}
        case CommandChoice():
            options = [{**seen(option), "line": option.line, "preview": option.preview} for option in outcome.options]
            return {"kind": "choice", "title": seen(outcome.title), "options": options}
        case DiffShown():
            return {"kind": "diff", "view": unified_diff_data(outcome.diff)}
        case RewindShown():
            result = {**seen(outcome.result), "diff": "", "view": unified_diff_data(outcome.result.diff)}
            return {"kind": "rewind", "result": result, "line": outcome.line, "isDone": outcome.is_done}
        case RowsShown():
            rows = [page_row(row) for row in outcome.rows.messages]
            return {"kind": "rows", "rows": rows, "calls": [past_call(call) for call in outcome.rows.calls]}
        case TextCopied():
            return msgspec.to_builtins(outcome)
        case _:
            return seen(outcome)
