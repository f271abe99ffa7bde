"""What the log keeps of the view of a call."""

from typing import Final

import msgspec

from robota.engine.calls.admission import Admitted
from robota.protocol.views import DiffsView, DiffView, TerminalView, TextView, View

LOGGED_TEXT_CHARACTERS: Final = 2_000
LOGGED_VIEW_CHARACTERS: Final = 32_000


def logged_view(view: View | None, admitted: Admitted) -> View | None:
    """The view for the log, without what `log.replay.rows.past_calls` can restore from the rows of the call."""
    match view:
        case DiffView() if admitted.is_shown and view == admitted.prepared.preview.view:
            return msgspec.structs.replace(view, hunks=())
        case DiffsView() if admitted.is_shown and view == admitted.prepared.preview.view:
            return DiffsView(files=tuple(msgspec.structs.replace(file, hunks=()) for file in view.files))
        case TerminalView():
            is_in_rows = view.output == admitted.context.shown_output
            return msgspec.structs.replace(view, output="" if is_in_rows else view.output[-LOGGED_VIEW_CHARACTERS:])
        case TextView():
            return (
                view
                if len(view.text) <= LOGGED_TEXT_CHARACTERS
                else TextView(text=f"{view.text[:LOGGED_TEXT_CHARACTERS]} …")
            )
        case None:
            return None
        case _:
            return view if len(msgspec.json.encode(view)) <= LOGGED_VIEW_CHARACTERS else None
