"""Lists to choose from: the completion popup, a picker, a question with two answers, queued messages."""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from robota.clients.terminal.width import columns_of, wrapped
from robota.clients.tui.flows.completion_popup import CompletionPopup
from robota.clients.tui.flows.confirm_prompt import ConfirmPrompt
from robota.clients.tui.flows.list_picker import ListPicker
from robota.clients.tui.flows.queue_list import QueueList
from robota.clients.tui.theme import Role, Theme, cut_columns
from robota.text.visible import single_line

MAX_LABEL_WIDTH: Final = 40
MAX_QUEUED_LENGTH: Final = 300
ROWS_AROUND_OPTIONS: Final = 2


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
    filtered = f"  [{picker.words}]" if picker.words else ""
    yield theme.row([(picker.choice.title, Role.BOLD), (filtered, Role.ACTIVE)], width)
    options = picker.options
    if not options:
        yield theme.row([("  No matches.", Role.DIM)], width)
    rows = replace(picker.rows, height=min(picker.rows.height, max(1, room - ROWS_AROUND_OPTIONS)))
    for index in rows.visible:
        yield option_row(picker, index, theme, width)
    if room > ROWS_AROUND_OPTIONS:
        yield theme.row([("  Enter select   type to filter   Esc cancel", Role.DIM)], width)


def option_row(picker: ListPicker, index: int, theme: Theme, width: int) -> str:
    """One option of a list."""
    options = picker.options
    label_width = min(MAX_LABEL_WIDTH, max((columns_of(each.label) for each in options), default=0) + 2)
    option = options[index]
    return _labelled(option.label, option.detail, label_width, index == picker.rows.index, theme, width)


def queue_rows(waiting: QueueList, theme: Theme, width: int, room: int) -> Iterator[str]:
    """The queued messages, and the keys that change them."""
    yield theme.row([("Queued messages", Role.BOLD)], width)
    rows = replace(waiting.rows, height=min(waiting.rows.height, max(1, room - ROWS_AROUND_OPTIONS)))
    for index in rows.visible:
        entry, is_chosen = waiting.entries[index], index == rows.index
        text = single_line(f"!{entry.text}" if entry.is_command else entry.text, MAX_QUEUED_LENGTH)
        when = "" if entry.after_turn else "  (with the next request)"
        pieces = [("> " if is_chosen else "  ", Role.ACTIVE), (text, Role.CHOSEN if is_chosen else Role.PLAIN)]
        yield theme.row([*pieces, (when, Role.DIM)], width)
    if room > ROWS_AROUND_OPTIONS:
        keys = "  Enter edit  Backspace remove  Ctrl+S send with the next request  Esc close"
        yield theme.row([(keys, Role.DIM)], width)


def confirm_rows(prompt: ConfirmPrompt, theme: Theme, width: int, *, takes_keys: bool = True) -> Iterator[str]:
    """The question and its two answers, which are shown only while keys are accepted."""
    for number, line in enumerate(wrapped(f"? {prompt.question}", width, "  ").split("\n")):
        sign, words = (line[:2], line[2:]) if number == 0 else ("", line)
        yield theme.row([(sign, Role.WARNING), (words, Role.BOLD)], width)
    if not takes_keys:
        yield theme.row([("  …", Role.DIM)], width)
        return
    for index, (key, words) in enumerate((("y", prompt.yes), ("n", prompt.no))):
        is_chosen = index == prompt.rows.index
        pieces = [("> " if is_chosen else "  ", Role.ACTIVE), (f"{key} ", Role.ACTIVE)]
        yield theme.row([*pieces, (words, Role.CHOSEN if is_chosen else Role.PLAIN)], width)


def _labelled(label: str, detail: str, label_width: int, is_chosen: bool, theme: Theme, width: int) -> str:
    padded = label + " " * max(2, label_width - columns_of(label))
    mark = "> " if is_chosen else "  "
    role = Role.CHOSEN if is_chosen else Role.PLAIN
    gap = padded[len(label) :]
    return theme.row([(mark, Role.ACTIVE), (label, role), (gap, Role.PLAIN), (detail, Role.DIM)], width)
