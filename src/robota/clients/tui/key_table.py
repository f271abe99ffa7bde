"""Keys as data: what each key does in each state, and which of them the user can choose.

A state consists of layers, the topmost first: an open list lies above the input, a completion popup above the draft.
A key belongs to the first layer that has it; a key that no layer has is left to the editor of the input.
"""

from collections.abc import Iterable, Mapping
from enum import Enum, StrEnum, auto
from types import MappingProxyType
from typing import Final


class NamedKey(StrEnum):
    """A key with a name; every other key is the character that it types."""

    ENTER = "enter"
    ESCAPE = "escape"
    TAB = "tab"
    SHIFT_TAB = "shift-tab"
    UP = "up"
    DOWN = "down"
    BACKSPACE = "backspace"
    DELETE = "delete"
    SPACE = "space"
    PAGE_UP = "page-up"
    PAGE_DOWN = "page-down"
    CTRL_C = "ctrl-c"
    CTRL_D = "ctrl-d"
    CTRL_G = "ctrl-g"
    CTRL_O = "ctrl-o"
    CTRL_R = "ctrl-r"
    CTRL_S = "ctrl-s"
    CTRL_U = "ctrl-u"
    CTRL_B = "ctrl-b"
    CTRL_V = "ctrl-v"
    ALT_T = "alt-t"
    ALT_A = "alt-a"
    ANY = "any other"


class KeyLayer(Enum):
    """A part of the state that handles keys, with its name for readers."""

    QUESTION = "yes/no question"
    LIST = "list"
    QUEUE_LIST = "list of queued messages"
    PANEL = "panel"
    CARD = "approval"
    UNREADY_DIALOG = "list or question that does not accept keys yet"
    COMPLETION = "completion"
    BACKSLASH = "a draft that ends with a backslash"
    CARD_INPUT = "approval, editing or replying"
    LABEL = "after the label of a paste"
    COMPLETED_FILE = "after a completed file name"
    ANSWERS = "empty input, a question with answers"
    QUEUE = "empty input, a queued message"
    RETRY = "empty input, waiting to retry"
    WORKING_DRAFT = "working, a draft"
    IDLE_VI_DRAFT = "idle, a draft, vi keys"
    IDLE_DRAFT = "idle, a draft"
    WORKING = "working, empty input"
    IDLE = "idle, empty input"
    EMPTY = "empty input"
    INPUT = "input"


class DraftAction(Enum):
    """Change the draft."""

    EDIT_TEXT = auto()  # left to the editor of the input
    NOTHING = auto()
    START_LINE = auto()
    CLEAR = auto()
    OLDER_PROMPT = auto()
    NEWER_PROMPT = auto()
    ERASE_LABEL = auto()
    START_RANGE = auto()


class PopupAction(Enum):
    """Use the completion popup."""

    CLOSE = auto()
    SELECT_PREVIOUS = auto()
    SELECT_NEXT = auto()
    COMPLETE = auto()
    COMPLETE_OR_SEND = auto()


class SessionAction(Enum):
    """Send something to the session."""

    SEND = auto()
    STEER = auto()  # send with the next request of the running turn
    STEER_QUEUE = auto()
    REMOVE_QUEUED = auto()
    RETRY_NOW = auto()
    STOP_TURN = auto()
    STOP_TURN_AND_OFFER_LEAVING = auto()
    REWIND = auto()
    UNDO_COMMAND = auto()
    MOVE_TO_BACKGROUND = auto()


class DialogAction(Enum):
    """Open a list or question, or use the open one."""

    PRESS = auto()
    CLOSE = auto()
    OPEN_QUEUE = auto()
    SEARCH_HISTORY = auto()
    NEXT_PERMISSION_MODE = auto()
    CHOOSE_EFFORT = auto()


class AnswerAction(Enum):
    """Choose one of the answers that a question of the model offers, or give it."""

    PREVIOUS = auto()
    NEXT = auto()
    GIVE = auto()


class ApprovalAction(Enum):
    """Use the card of a request for approval."""

    PRESS = auto()
    ANSWER = auto()
    RETURN_TO_CARD = auto()
    FOCUS_CARD = auto()


class ScreenAction(Enum):
    """Show something, open another program, or leave."""

    OFFER_CLEARING = auto()
    OFFER_REWIND = auto()
    OFFER_LEAVING = auto()
    LEAVE = auto()
    SHOW_TRANSCRIPT = auto()
    SHOW_AGENTS = auto()
    SHOW_KEYS = auto()
    EDIT_IN_EDITOR = auto()
    PASTE_IMAGE = auto()


Action = DraftAction | PopupAction | SessionAction | DialogAction | AnswerAction | ApprovalAction | ScreenAction

# The order of `KeyLayer` is from top to bottom.
KEY_TABLE: Final[Mapping[KeyLayer, Mapping[str, Action]]] = {
    KeyLayer.QUESTION: {NamedKey.ANY: DialogAction.PRESS, NamedKey.CTRL_C: DialogAction.CLOSE},
    KeyLayer.LIST: {NamedKey.ANY: DialogAction.PRESS, NamedKey.CTRL_C: DialogAction.CLOSE},
    KeyLayer.QUEUE_LIST: {NamedKey.ANY: DialogAction.PRESS, NamedKey.CTRL_C: DialogAction.CLOSE},
    KeyLayer.PANEL: {NamedKey.ANY: DialogAction.PRESS, NamedKey.CTRL_C: DialogAction.CLOSE},
    KeyLayer.CARD: {NamedKey.ANY: ApprovalAction.PRESS},
    KeyLayer.UNREADY_DIALOG: {NamedKey.ESCAPE: DialogAction.CLOSE, NamedKey.CTRL_C: DialogAction.CLOSE},
    KeyLayer.COMPLETION: {
        NamedKey.UP: PopupAction.SELECT_PREVIOUS,
        NamedKey.DOWN: PopupAction.SELECT_NEXT,
        NamedKey.TAB: PopupAction.COMPLETE,
        NamedKey.ENTER: PopupAction.COMPLETE_OR_SEND,
        NamedKey.CTRL_S: PopupAction.COMPLETE_OR_SEND,
        NamedKey.ESCAPE: PopupAction.CLOSE,
    },
    KeyLayer.BACKSLASH: {NamedKey.ENTER: DraftAction.START_LINE, NamedKey.CTRL_S: DraftAction.START_LINE},
    KeyLayer.CARD_INPUT: {
        NamedKey.ENTER: ApprovalAction.ANSWER,
        NamedKey.CTRL_S: ApprovalAction.ANSWER,
        NamedKey.ESCAPE: ApprovalAction.RETURN_TO_CARD,
    },
    KeyLayer.LABEL: {NamedKey.BACKSPACE: DraftAction.ERASE_LABEL},
    KeyLayer.COMPLETED_FILE: {":": DraftAction.START_RANGE},
    KeyLayer.ANSWERS: {
        NamedKey.UP: AnswerAction.PREVIOUS,
        NamedKey.DOWN: AnswerAction.NEXT,
        NamedKey.ENTER: AnswerAction.GIVE,
    },
    KeyLayer.QUEUE: {NamedKey.UP: DialogAction.OPEN_QUEUE, NamedKey.BACKSPACE: SessionAction.REMOVE_QUEUED},
    KeyLayer.RETRY: {NamedKey.ENTER: SessionAction.RETRY_NOW},
    KeyLayer.WORKING_DRAFT: {NamedKey.ESCAPE: SessionAction.STOP_TURN, NamedKey.CTRL_C: DraftAction.CLEAR},
    KeyLayer.IDLE_VI_DRAFT: {NamedKey.ESCAPE: DraftAction.NOTHING, NamedKey.CTRL_C: DraftAction.CLEAR},
    KeyLayer.IDLE_DRAFT: {NamedKey.ESCAPE: ScreenAction.OFFER_CLEARING, NamedKey.CTRL_C: DraftAction.CLEAR},
    KeyLayer.WORKING: {
        NamedKey.ESCAPE: SessionAction.STOP_TURN,
        NamedKey.CTRL_C: SessionAction.STOP_TURN_AND_OFFER_LEAVING,
        NamedKey.CTRL_B: SessionAction.MOVE_TO_BACKGROUND,
    },
    KeyLayer.IDLE: {NamedKey.ESCAPE: ScreenAction.OFFER_REWIND, NamedKey.CTRL_C: ScreenAction.OFFER_LEAVING},
    KeyLayer.EMPTY: {
        NamedKey.CTRL_D: ScreenAction.LEAVE,
        NamedKey.CTRL_S: SessionAction.STEER_QUEUE,
        NamedKey.CTRL_U: SessionAction.UNDO_COMMAND,
        "?": ScreenAction.SHOW_KEYS,
    },
    KeyLayer.INPUT: {
        NamedKey.ENTER: SessionAction.SEND,
        NamedKey.CTRL_S: SessionAction.STEER,
        NamedKey.UP: DraftAction.OLDER_PROMPT,
        NamedKey.DOWN: DraftAction.NEWER_PROMPT,
        NamedKey.TAB: ApprovalAction.FOCUS_CARD,
        NamedKey.SHIFT_TAB: DialogAction.NEXT_PERMISSION_MODE,
        NamedKey.ALT_T: DialogAction.CHOOSE_EFFORT,
        NamedKey.CTRL_R: DialogAction.SEARCH_HISTORY,
        NamedKey.CTRL_G: ScreenAction.EDIT_IN_EDITOR,
        NamedKey.CTRL_O: ScreenAction.SHOW_TRANSCRIPT,
        NamedKey.ALT_A: ScreenAction.SHOW_AGENTS,
        NamedKey.CTRL_V: ScreenAction.PASTE_IMAGE,
    },
}
# Never for `NamedKey.ANY`: they work whatever is open.
ALWAYS_FOR_INPUT: Final = frozenset({NamedKey.CTRL_C, NamedKey.SHIFT_TAB})
# What a key offers for its second press.
OFFERED: Final[Mapping[Action, Action]] = {
    ScreenAction.OFFER_CLEARING: DraftAction.CLEAR,
    ScreenAction.OFFER_REWIND: SessionAction.REWIND,
    ScreenAction.OFFER_LEAVING: ScreenAction.LEAVE,
    SessionAction.STOP_TURN_AND_OFFER_LEAVING: ScreenAction.LEAVE,
}


class BoundAction(StrEnum):
    """What a key can be bound to, by its name in the file."""

    SEND = "send"
    SEND_NOW = "sendNow"
    NEW_LINE = "newLine"
    SEARCH_HISTORY = "searchHistory"
    PASTE_IMAGE = "pasteImage"
    PERMISSION_MODE = "permissionMode"
    EFFORT = "effort"
    UNDO_COMMAND = "undoCommand"
    BACKGROUND = "background"
    TRANSCRIPT = "transcript"
    AGENTS = "agents"
    EDITOR = "editor"
    CLEAR_SCREEN = "clearScreen"
    SUSPEND = "suspend"


# A key in the file's notation, and what it does.
Bindings = Mapping[str, BoundAction]

USUAL: Final[Bindings] = MappingProxyType(
    {
        "enter": BoundAction.SEND,
        "ctrl+s": BoundAction.SEND_NOW,
        "ctrl+j": BoundAction.NEW_LINE,
        "alt+enter": BoundAction.NEW_LINE,
        "ctrl+r": BoundAction.SEARCH_HISTORY,
        "ctrl+v": BoundAction.PASTE_IMAGE,
        "shift+tab": BoundAction.PERMISSION_MODE,
        "alt+t": BoundAction.EFFORT,
        "ctrl+u": BoundAction.UNDO_COMMAND,
        "ctrl+b": BoundAction.BACKGROUND,
        "ctrl+o": BoundAction.TRANSCRIPT,
        "alt+a": BoundAction.AGENTS,
        "ctrl+g": BoundAction.EDITOR,
        "ctrl+l": BoundAction.CLEAR_SCREEN,
        "ctrl+z": BoundAction.SUSPEND,
    }
)
# The key of the key table that does it; the screen itself does the others.
TABLE_KEYS: Final[Mapping[BoundAction, NamedKey]] = {
    BoundAction.SEND: NamedKey.ENTER,
    BoundAction.SEND_NOW: NamedKey.CTRL_S,
    BoundAction.SEARCH_HISTORY: NamedKey.CTRL_R,
    BoundAction.PASTE_IMAGE: NamedKey.CTRL_V,
    BoundAction.PERMISSION_MODE: NamedKey.SHIFT_TAB,
    BoundAction.EFFORT: NamedKey.ALT_T,
    BoundAction.UNDO_COMMAND: NamedKey.CTRL_U,
    BoundAction.BACKGROUND: NamedKey.CTRL_B,
    BoundAction.TRANSCRIPT: NamedKey.CTRL_O,
    BoundAction.AGENTS: NamedKey.ALT_A,
    BoundAction.EDITOR: NamedKey.CTRL_G,
}


def action_of(key: str, layers: Iterable[KeyLayer]) -> Action:
    """What a key does where these layers are open, the topmost first."""
    for layer in layers:
        actions = KEY_TABLE[layer]
        action = actions.get(key) or (None if key in ALWAYS_FOR_INPUT else actions.get(NamedKey.ANY))
        if action is not None:
            return action
    return DraftAction.EDIT_TEXT
