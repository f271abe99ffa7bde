"""Which layers of the key table are open in a state."""

from collections.abc import Iterator
from typing import assert_never

from robota.clients.tui.flows.entered_text import is_working
from robota.clients.tui.key_table import Action, KeyLayer, action_of
from robota.clients.tui.live_view import dialog_takes_keys, shown_answers
from robota.clients.tui.state import ListDialog, PanelDialog, QuestionDialog, QueueDialog, ScreenState


def action_for(state: ScreenState, key: str) -> Action:
    """What a key does in this state."""
    return action_of(key, open_layers(state))


def open_layers(state: ScreenState) -> Iterator[KeyLayer]:
    """The layers from top to bottom."""
    if state.approval is not None or state.dialog is not None:
        if dialog_takes_keys(state):
            yield _dialog_layer(state)
        elif state.approval is None:
            yield KeyLayer.UNREADY_DIALOG
    yield from _text_layers(state) if state.draft.text else _empty_layers(state)
    yield KeyLayer.INPUT


def _text_layers(state: ScreenState) -> Iterator[KeyLayer]:
    draft = state.draft
    if draft.popup is not None:
        yield KeyLayer.COMPLETION
    if draft.text.endswith("\\"):
        yield KeyLayer.BACKSLASH
    if state.uses_input_for_card:
        yield KeyLayer.CARD_INPUT
    if draft.is_behind_label:
        yield KeyLayer.LABEL
    if draft.completed_file == draft.position:
        yield KeyLayer.COMPLETED_FILE
    if state.view.retry is not None and not draft.text.strip():
        yield KeyLayer.RETRY
    if is_working(state.view):
        yield KeyLayer.WORKING_DRAFT
    else:
        yield KeyLayer.IDLE_VI_DRAFT if state.has_vi_keys else KeyLayer.IDLE_DRAFT


def _empty_layers(state: ScreenState) -> Iterator[KeyLayer]:
    if state.uses_input_for_card:
        yield KeyLayer.CARD_INPUT
    if shown_answers(state) is not None:
        yield KeyLayer.ANSWERS
    if state.view.queue:
        yield KeyLayer.QUEUE
    if state.view.retry is not None:
        yield KeyLayer.RETRY
    yield KeyLayer.WORKING if is_working(state.view) else KeyLayer.IDLE
    yield KeyLayer.EMPTY


def _dialog_layer(state: ScreenState) -> KeyLayer:
    if state.approval is not None:
        return KeyLayer.CARD
    match state.dialog:
        case QuestionDialog():
            return KeyLayer.QUESTION
        case PanelDialog():
            return KeyLayer.PANEL
        case QueueDialog():
            return KeyLayer.QUEUE_LIST
        case ListDialog() | None:
            return KeyLayer.LIST
        case never:
            assert_never(never)
