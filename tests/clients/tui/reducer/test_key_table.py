"""The key table: every cell does in the reducer what its action says, and no layer hides another by mistake."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from robota.clients.tui.colours import ColourDepth
from robota.clients.tui.effects import (
    KeepPrompt,
    OpenAgents,
    OpenTranscript,
    Quit,
    ReadClipboard,
    RunEditor,
    SentText,
    Submit,
)
from robota.clients.tui.events import KeyPressed, SessionEvent
from robota.clients.tui.flows.paste_chips import PasteChips
from robota.clients.tui.key_table import (
    KEY_TABLE,
    Action,
    AnswerAction,
    ApprovalAction,
    DialogAction,
    DraftAction,
    KeyLayer,
    NamedKey,
    PopupAction,
    ScreenAction,
    SessionAction,
)
from robota.clients.tui.layers import action_for, open_layers
from robota.clients.tui.live_view import draw, shown_answers
from robota.clients.tui.reducer.reduce import reduce
from robota.clients.tui.reducer.step import ScreenStep
from robota.clients.tui.state import CardEdit, ListDialog, PanelDialog, ScreenState
from robota.clients.tui.theme import Palette, Theme
from robota.clients.tui.widgets.approval_card import CONFINED_EXISTS
from robota.protocol.asks.answer import ApproveEdited, Say
from robota.protocol.commands import (
    AskResponse,
    CancelTask,
    EditQueuedMessage,
    ListRewindPoints,
    NewTask,
    QueueMessage,
    RemoveQueuedMessage,
    RetryNow,
    RewindTo,
    RunSlashCommand,
    SetPermissionMode,
    TerminalOperation,
)
from robota.protocol.events import Notice, TaskAskResponded
from robota.protocol.permission_mode import PermissionMode
from tests.clients.stories import TASK
from tests.clients.tui.reducer.screen_states import (
    RETRY,
    THINKING,
    asking,
    asking_about_plan,
    commands,
    later,
    of_kind,
    opened,
    pressed,
    queued,
    typed,
)

PALETTE = Palette(codes={}, depth=ColourDepth.NONE)


def _with_label() -> ScreenState:
    screen = opened()
    chips, label = PasteChips().pasted("one\ntwo")
    return typed(replace(screen, draft=replace(screen.draft, chips=chips)), label)


def _after_file() -> ScreenState:
    screen = typed(opened(), "look at @calc.py ")
    return replace(screen, draft=replace(screen.draft, completed_file=screen.draft.position))


STATES: dict[KeyLayer, ScreenState] = {
    KeyLayer.QUESTION: pressed(opened(mode=PermissionMode.PLAN), NamedKey.SHIFT_TAB).state,
    KeyLayer.LIST: pressed(opened(), NamedKey.CTRL_R).state,
    KeyLayer.QUEUE_LIST: pressed(opened(*THINKING, queued("one", "two")), NamedKey.UP).state,
    KeyLayer.PANEL: pressed(opened(), "?").state,
    KeyLayer.CARD: opened(*THINKING, asking()),
    KeyLayer.UNREADY_DIALOG: pressed(opened(mode=PermissionMode.PLAN), NamedKey.SHIFT_TAB).state,
    KeyLayer.COMPLETION: typed(opened(), "/he"),
    KeyLayer.BACKSLASH: typed(opened(), "first\\"),
    KeyLayer.CARD_INPUT: pressed(opened(*THINKING, asking()), "e").state,
    KeyLayer.LABEL: _with_label(),
    KeyLayer.COMPLETED_FILE: _after_file(),
    KeyLayer.ANSWERS: opened(*THINKING, asking_about_plan("read")),
    KeyLayer.QUEUE: opened(*THINKING, queued("one")),
    KeyLayer.RETRY: opened(*THINKING, RETRY),
    KeyLayer.WORKING_DRAFT: typed(opened(*THINKING), "words"),
    KeyLayer.IDLE_VI_DRAFT: typed(opened(vi=True), "words"),
    KeyLayer.IDLE_DRAFT: typed(opened(), "words"),
    KeyLayer.WORKING: opened(*THINKING),
    KeyLayer.IDLE: opened(),
    KeyLayer.EMPTY: opened(*THINKING),
    KeyLayer.INPUT: typed(opened(), "words"),
}
# Those that need more than the example of their layer.
OTHER_STATES: dict[tuple[KeyLayer, str], ScreenState] = {
    (KeyLayer.ANSWERS, NamedKey.ENTER): pressed(opened(*THINKING, asking_about_plan("read")), NamedKey.DOWN).state,
    (KeyLayer.CARD_INPUT, NamedKey.ENTER): typed(STATES[KeyLayer.CARD_INPUT], "rm it"),
    (KeyLayer.CARD_INPUT, NamedKey.CTRL_S): typed(STATES[KeyLayer.CARD_INPUT], "rm it"),
    (KeyLayer.EMPTY, NamedKey.CTRL_U): opened(Notice(level="info", text="Changed 1 file: a.", undo_call="call_1")),
    (KeyLayer.EMPTY, NamedKey.CTRL_S): opened(*THINKING, queued("one", "two")),
    (KeyLayer.INPUT, NamedKey.CTRL_S): typed(opened(*THINKING), "words"),
    (KeyLayer.INPUT, NamedKey.TAB): pressed(opened(*THINKING, asking()), "t").state,
}
CELLS = [(layer, key) for layer, keys in KEY_TABLE.items() for key in keys]


def state_of(layer: KeyLayer, key: str) -> ScreenState:
    screen = OTHER_STATES.get((layer, key), STATES[layer])
    # What has just appeared does not accept keys yet.
    return screen if layer is KeyLayer.UNREADY_DIALOG else replace(screen, now=screen.now + 3.0)


def test_every_layer_has_keys_and_an_example() -> None:
    assert list(KEY_TABLE) == list(KeyLayer) and set(STATES) == set(KeyLayer)


@pytest.mark.parametrize(("layer", "key"), CELLS)
def test_the_layer_is_open_and_its_key_does_what_the_table_says(layer: KeyLayer, key: str) -> None:
    screen, action = state_of(layer, key), KEY_TABLE[layer][key]
    pressed_key = "x" if key == NamedKey.ANY else key
    assert layer in open_layers(screen)
    assert action_for(screen, pressed_key) is action
    assert HAPPENS[action](screen, reduce(screen, KeyPressed(pressed_key)))


def test_a_key_that_no_layer_has_is_left_to_the_editor() -> None:
    for screen in (STATES[KeyLayer.IDLE], STATES[KeyLayer.WORKING_DRAFT], STATES[KeyLayer.COMPLETION]):
        assert action_for(screen, "x") is DraftAction.EDIT_TEXT
        step = reduce(screen, KeyPressed("x"))
        assert step.state.draft == screen.draft and not step.effects


def sends(kind: type) -> Callable[[ScreenState, ScreenStep], bool]:
    return lambda before, step: [type(command) for command in commands(step)] == [kind]


def draft_is(text: str) -> Callable[[ScreenState, ScreenStep], bool]:
    return lambda before, step: step.state.draft.text == text


def does(kind: type) -> Callable[[ScreenState, ScreenStep], bool]:
    return lambda before, step: bool(of_kind(step, kind))


def offers(action: Action) -> Callable[[ScreenState, ScreenStep], bool]:
    return lambda before, step: step.state.hint.offered is action and bool(step.state.shown_hint)


def _chosen(screen: ScreenState) -> str:
    assert screen.draft.popup is not None
    return screen.draft.popup.chosen.label


def _chosen_answer(screen: ScreenState) -> str | None:
    answers = shown_answers(screen)
    return None if answers is None else answers.chosen


def _cleared(before: ScreenState, step: ScreenStep) -> bool:
    kept = before.draft.expanded in step.state.draft.history.prompts
    return kept and not step.state.draft.text and of_kind(step, KeepPrompt) == [KeepPrompt(before.draft.expanded)]


def _dialog_pressed(before: ScreenState, step: ScreenStep) -> bool:
    """Each dialog does something with the key: it filters a list, or leaves and writes it."""
    return step.state.dialog != before.dialog and (
        isinstance(step.state.dialog, ListDialog) or step.state.draft.text.endswith("x")
    )


def _steered(before: ScreenState, step: ScreenStep) -> bool:
    sent = commands(step)
    return [type(command) for command in sent] == [QueueMessage] and not getattr(sent[0], "after_turn", True)


EDITED = AskResponse(answer=ApproveEdited(edited="rm it"), ts=9)
HAPPENS: dict[Action, Callable[[ScreenState, ScreenStep], bool]] = {
    DraftAction.NOTHING: lambda before, step: step.state.draft == before.draft and not step.effects,
    DraftAction.START_LINE: draft_is("first\n"),
    DraftAction.CLEAR: _cleared,
    DraftAction.OLDER_PROMPT: draft_is("earlier"),
    DraftAction.NEWER_PROMPT: draft_is("words"),
    DraftAction.ERASE_LABEL: draft_is(""),
    DraftAction.START_RANGE: draft_is("look at @calc.py:"),
    PopupAction.CLOSE: lambda before, step: step.state.draft.popup is None and step.state.draft.text == "/he",
    PopupAction.SELECT_PREVIOUS: lambda before, step: _chosen(step.state) != _chosen(before),
    PopupAction.SELECT_NEXT: lambda before, step: _chosen(step.state) != _chosen(before),
    PopupAction.COMPLETE: draft_is("/help"),
    PopupAction.COMPLETE_OR_SEND: lambda before, step: (
        "/help" in [getattr(sent, "line", "") for sent in commands(step)]
    ),
    SessionAction.SEND: lambda before, step: (
        sends(NewTask)(before, step) and isinstance(of_kind(step, Submit)[0].request, SentText)
    ),
    SessionAction.STEER: _steered,
    SessionAction.STEER_QUEUE: lambda before, step: (
        [(type(each), each.id, each.after_turn) for each in commands(step) if isinstance(each, EditQueuedMessage)]
        == [(EditQueuedMessage, "one", False), (EditQueuedMessage, "two", False)]
    ),
    SessionAction.REMOVE_QUEUED: sends(RemoveQueuedMessage),
    SessionAction.RETRY_NOW: sends(RetryNow),
    SessionAction.STOP_TURN: lambda before, step: sends(CancelTask)(before, step) and step.state.is_stopping,
    SessionAction.STOP_TURN_AND_OFFER_LEAVING: lambda before, step: (
        sends(CancelTask)(before, step) and offers(ScreenAction.LEAVE)(before, step)
    ),
    SessionAction.REWIND: sends(ListRewindPoints),
    SessionAction.UNDO_COMMAND: sends(RewindTo),
    SessionAction.MOVE_TO_BACKGROUND: sends(TerminalOperation),
    DialogAction.PRESS: _dialog_pressed,
    DialogAction.CLOSE: lambda before, step: before.dialog is not None and step.state.dialog is None,
    DialogAction.OPEN_QUEUE: sends(RemoveQueuedMessage),
    DialogAction.SEARCH_HISTORY: lambda before, step: isinstance(step.state.dialog, ListDialog),
    DialogAction.NEXT_PERMISSION_MODE: sends(SetPermissionMode),
    DialogAction.CHOOSE_EFFORT: sends(RunSlashCommand),
    AnswerAction.PREVIOUS: lambda before, step: _chosen_answer(step.state) == "Carry it out",
    AnswerAction.NEXT: lambda before, step: _chosen_answer(step.state) == "Carry it out",
    AnswerAction.GIVE: lambda before, step: AskResponse(answer=Say(text="Carry it out"), ts=9) in commands(step),
    ApprovalAction.PRESS: draft_is("x"),
    ApprovalAction.ANSWER: lambda before, step: (
        AskResponse(answer=ApproveEdited(edited="rm it"), ts=9) in commands(step)
    ),
    ApprovalAction.RETURN_TO_CARD: lambda before, step: (
        before.approval is not None
        and isinstance(before.approval.input_use, CardEdit)
        and not step.state.uses_input_for_card
    ),
    ApprovalAction.FOCUS_CARD: lambda before, step: (
        step.state.approval is not None and step.state.approval.focus.is_turned_to
    ),
    ScreenAction.OFFER_CLEARING: offers(DraftAction.CLEAR),
    ScreenAction.OFFER_REWIND: offers(SessionAction.REWIND),
    ScreenAction.OFFER_LEAVING: offers(ScreenAction.LEAVE),
    ScreenAction.LEAVE: does(Quit),
    ScreenAction.SHOW_TRANSCRIPT: does(OpenTranscript),
    ScreenAction.SHOW_AGENTS: does(OpenAgents),
    ScreenAction.SHOW_KEYS: lambda before, step: isinstance(step.state.dialog, PanelDialog),
    ScreenAction.EDIT_IN_EDITOR: does(RunEditor),
    ScreenAction.PASTE_IMAGE: does(ReadClipboard),
}


def test_confined_is_in_the_cycle_only_where_it_can_work() -> None:
    screen = opened(mode=PermissionMode.ACCEPT_EDITS)
    session = screen.view.session
    assert session is not None
    for can_confine, sandbox, following in (
        (False, None, PermissionMode.PLAN),
        (True, "landlock", PermissionMode.PLAN),
        (True, None, PermissionMode.CONFINED),
        (True, "bubblewrap", PermissionMode.CONFINED),
    ):
        here = replace(session, can_confine=can_confine, sandbox=sandbox)
        step = pressed(replace(screen, view=replace(screen.view, session=here)), NamedKey.SHIFT_TAB)
        assert step.effects[-1] == Submit(SetPermissionMode(permission_mode=following))


def test_the_first_command_card_names_the_mode_in_which_commands_run_unasked() -> None:
    screen = opened(*THINKING)
    session = screen.view.session
    assert session is not None
    screen = replace(screen, view=replace(screen.view, session=replace(session, can_confine=True)))
    first = reduce(screen, SessionEvent(asking(ts=9))).state
    assert first.approval is not None and first.approval.card.names_confined
    assert CONFINED_EXISTS in "\n".join(draw(later(first), Theme(PALETTE), ()).above)
    answered = reduce(first, SessionEvent(TaskAskResponded(task_id=TASK, ts=9, response="noButtonClicked"))).state
    second = reduce(answered, SessionEvent(asking(ts=10))).state
    assert second.approval is not None and not second.approval.card.names_confined


def test_where_commands_cannot_be_confined_no_card_says_so() -> None:
    screen = opened(*THINKING, asking())
    assert screen.approval is not None and not screen.approval.card.names_confined


def test_an_answer_of_the_users_own_is_sent_although_an_arrow_was_pressed() -> None:
    screen = pressed(STATES[KeyLayer.ANSWERS], NamedKey.DOWN).state
    step = pressed(typed(screen, "neither"), NamedKey.ENTER)
    assert commands(step) == [AskResponse(answer=Say(text="neither"), ts=9)]
