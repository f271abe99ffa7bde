"""Lists to choose from: the completion popup, a picker, a question with two answers, queued messages."""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from robota.clients.terminal.width import columns_of, cut_columns, wrapped
from robota.clients.tui.flows.completion_popup import CompletionPopup
from robota.clients.tui.flows.confirm_prompt import ConfirmPrompt
from robota.clients.tui.flows.list_picker import ListPicker
from robota.clients.tui.flows.queue_list import QueueList
from robota.clients.tui.theme import Role, Theme
from robota.clients.tui.widgets.frame import FRAME_ROWS, FrameEdges, framed, inner_width
from robota.text.visible import single_line

MAX_LABEL_WIDTH: Final = 40
MAX_QUEUED_LENGTH: Final = 300


def popup_rows(popup: CompletionPopup, theme: Theme, width: int) -> Iterator[str]:
    """The completions that fit on the screen; a rule separates those from different sources."""
    candidates = popup.completion.candidates
    shown = [candidates[index] for index in popup.rows.visible]
    label_width = min(MAX_LABEL_WIDTH, width // 2, max(columns_of(each.label) for each in shown) + 2)
    source = shown[0].source
    for index, candidate in zip(popup.rows.visible, shown, strict=True):
        if candidate.source != source:
            source = candidate.source
            yield theme.row([(f"  ── {source or ''}", Role.DIM)], width)
        # The description of a command is more useful than the last of its arguments.
        label = cut_columns(candidate.label, label_width - 2) if candidate.description else candidate.label
        yield _labelled(label, candidate.description, label_width, index == popup.rows.index, theme, width)
    if len(shown) < len(candidates):
        yield theme.row([(f"  {(popup.rows.index or 0) + 1} of {len(candidates)}", Role.DIM)], width)


def picker_rows(picker: ListPicker, theme: Theme, width: int, room: int) -> Iterator[str]:
    """The title, the options that fit, and the keys."""
    filtered = ((picker.words, Role.ACTIVE),) if picker.words else ()
    inside = inner_width(width)
    title, *more = wrapped(picker.choice.title, inside, "").split("\n")
    height = min(picker.rows.height, max(1, room - FRAME_ROWS - len(more)))
    rows = [theme.row([(line, Role.BOLD)], inside) for line in more]
    if not picker.options:
        rows.append(theme.row([("  No matches.", Role.DIM)], inside))
    rows += [option_row(picker, index, theme, inside) for index in replace(picker.rows, height=height).visible]
    frame = FrameEdges(title=title, note=filtered, keys="Enter select   type to filter   Esc cancel")
    yield from framed(rows, frame, theme, width) if room > FRAME_ROWS else rows[:room]


def option_row(picker: ListPicker, index: int, theme: Theme, width: int) -> str:
    """One option of a list."""
    options = picker.options
    label_width = min(MAX_LABEL_WIDTH, max((columns_of(each.label) for each in options), default=0) + 2)
    option = options[index]
    return _labelled(option.label, option.detail, label_width, index == picker.rows.index, theme, width)


def queue_rows(waiting: QueueList, theme: Theme, width: int, room: int) -> Iterator[str]:
    """The queued messages, and the keys that change them."""
    selected = replace(waiting.rows, height=min(waiting.rows.height, max(1, room - FRAME_ROWS)))
    inside, rows = inner_width(width), []
    for index in selected.visible:
        entry, is_chosen = waiting.entries[index], index == selected.index
        text = single_line(f"!{entry.text}" if entry.is_command else entry.text, MAX_QUEUED_LENGTH)
        when = "" if entry.after_turn else "  (with the next request)"
        pieces = [(_mark(is_chosen, theme), Role.ACTIVE), (text, Role.CHOSEN if is_chosen else Role.PLAIN)]
        rows.append(theme.row([*pieces, (when, Role.DIM)], inside))
    keys = "Enter edit   Backspace remove   Ctrl+S send with the next request   Esc close"
    frame = FrameEdges(title="Queued messages", keys=keys)
    yield from framed(rows, frame, theme, width) if room > FRAME_ROWS else rows[:room]


def confirm_rows(prompt: ConfirmPrompt, theme: Theme, width: int, *, takes_keys: bool = True) -> Iterator[str]:
    """The question and its two answers, which are shown only while keys are accepted."""
    inside = inner_width(width)
    title, *more = wrapped(prompt.question, inside + 1, "").split("\n")
    rows = [theme.row([(line, Role.BOLD)], inside) for line in more]
    if takes_keys:
        for index, (key, words) in enumerate((("y", prompt.yes), ("n", prompt.no))):
            is_chosen = index == prompt.rows.index
            pieces = [(_mark(is_chosen, theme), Role.ACTIVE), (f"{key} ", Role.ACTIVE)]
            rows.append(theme.row([*pieces, (words, Role.CHOSEN if is_chosen else Role.PLAIN)], inside))
    else:
        rows.append(theme.row([("…", Role.DIM)], inside))
    frame = FrameEdges(
        title=title, keys="y or n   Up/Down Enter select   Esc no", edge=Role.WARNING if takes_keys else Role.DIM
    )
    yield from framed(rows, frame, theme, width)


def _mark(is_chosen: bool, theme: Theme) -> str:
    return f"{theme.glyphs.focus} " if is_chosen else "  "


def _labelled(label: str, detail: str, label_width: int, is_chosen: bool, theme: Theme, width: int) -> str:
    padded = label + " " * max(2, label_width - columns_of(label))
    mark = _mark(is_chosen, theme)
    role = Role.CHOSEN if is_chosen else Role.PLAIN
    gap = padded[len(label) :]
    return theme.row([(mark, Role.ACTIVE), (label, role), (gap, Role.PLAIN), (detail, Role.DIM)], width)
