"""Keys as data: what each key does in each state, and the list of keys for `?`.

A state consists of layers, the topmost first: an open list lies above the input, a completion popup above the draft.
A key belongs to the first layer that has it; a key that no layer has is left to the editor of the input.
"""

from collections.abc import Iterable, Mapping
from enum import Enum, StrEnum, auto
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
    CTRL_C = "ctrl-c"
    CTRL_D = "ctrl-d"
    CTRL_G = "ctrl-g"
    CTRL_O = "ctrl-o"
    CTRL_R = "ctrl-r"
    CTRL_S = "ctrl-s"
    CTRL_V = "ctrl-v"
    ANY = "any other"


class KeyLayer(Enum):
    """A part of the state that handles keys, with its name for readers."""

    QUESTION = "yes/no question"
    LIST = "list"
    QUEUE_LIST = "list of queued messages"
    CARD = "approval"
    UNREADY_DIALOG = "list or question that does not accept keys yet"
    COMPLETION = "completion"
    BACKSLASH = "a draft that ends with a backslash"
    CARD_INPUT = "approval, editing or replying"
    LABEL = "after the label of a paste"
    COMPLETED_FILE = "after a completed file name"
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


class DialogAction(Enum):
    """Open a list or question, or use the open one."""

    PRESS = auto()
    CLOSE = auto()
    OPEN_QUEUE = auto()
    SEARCH_HISTORY = auto()
    NEXT_PERMISSION_MODE = auto()


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
    SHOW_KEYS = auto()
    EDIT_IN_EDITOR = auto()
    PASTE_IMAGE = auto()


Action = DraftAction | PopupAction | SessionAction | DialogAction | ApprovalAction | ScreenAction

# The order of `KeyLayer` is from top to bottom.
KEY_TABLE: Final[Mapping[KeyLayer, Mapping[str, Action]]] = {
    KeyLayer.QUESTION: {NamedKey.ANY: DialogAction.PRESS, NamedKey.CTRL_C: DialogAction.CLOSE},
    KeyLayer.LIST: {NamedKey.ANY: DialogAction.PRESS, NamedKey.CTRL_C: DialogAction.CLOSE},
    KeyLayer.QUEUE_LIST: {NamedKey.ANY: DialogAction.PRESS, NamedKey.CTRL_C: DialogAction.CLOSE},
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
    KeyLayer.QUEUE: {NamedKey.UP: DialogAction.OPEN_QUEUE, NamedKey.BACKSPACE: SessionAction.REMOVE_QUEUED},
    KeyLayer.RETRY: {NamedKey.ENTER: SessionAction.RETRY_NOW},
    KeyLayer.WORKING_DRAFT: {NamedKey.ESCAPE: SessionAction.STOP_TURN, NamedKey.CTRL_C: DraftAction.CLEAR},
    KeyLayer.IDLE_VI_DRAFT: {NamedKey.ESCAPE: DraftAction.NOTHING, NamedKey.CTRL_C: DraftAction.CLEAR},
    KeyLayer.IDLE_DRAFT: {NamedKey.ESCAPE: ScreenAction.OFFER_CLEARING, NamedKey.CTRL_C: DraftAction.CLEAR},
    KeyLayer.WORKING: {
        NamedKey.ESCAPE: SessionAction.STOP_TURN,
        NamedKey.CTRL_C: SessionAction.STOP_TURN_AND_OFFER_LEAVING,
    },
    KeyLayer.IDLE: {NamedKey.ESCAPE: ScreenAction.OFFER_REWIND, NamedKey.CTRL_C: ScreenAction.OFFER_LEAVING},
    KeyLayer.EMPTY: {
        NamedKey.CTRL_D: ScreenAction.LEAVE,
        NamedKey.CTRL_S: SessionAction.STEER_QUEUE,
        "?": ScreenAction.SHOW_KEYS,
    },
    KeyLayer.INPUT: {
        NamedKey.ENTER: SessionAction.SEND,
        NamedKey.CTRL_S: SessionAction.STEER,
        NamedKey.UP: DraftAction.OLDER_PROMPT,
        NamedKey.DOWN: DraftAction.NEWER_PROMPT,
        NamedKey.TAB: ApprovalAction.FOCUS_CARD,
        NamedKey.SHIFT_TAB: DialogAction.NEXT_PERMISSION_MODE,
        NamedKey.CTRL_R: DialogAction.SEARCH_HISTORY,
        NamedKey.CTRL_G: ScreenAction.EDIT_IN_EDITOR,
        NamedKey.CTRL_O: ScreenAction.SHOW_TRANSCRIPT,
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
KEY_HELP: Final = (
    ("Enter", "send; while the agent is working, queue for after its answer"),
    ("Ctrl+S", "send with the next request to the model, without waiting for the answer"),
    ("Ctrl+J, Alt+Enter", "new line; also Shift+Enter if the terminal reports it, or a backslash before Enter"),
    ("Up, Down", "previous prompts; on an empty input with queued messages, edit the queue"),
    ("Backspace", "on an empty input, remove the last queued message"),
    ("Ctrl+R", "search previous prompts"),
    ("/ and Tab", "complete a command"),
    ("@ and Tab", "complete a file"),
    ("!command", "run a command yourself; its output is sent with your next prompt"),
    ("# text", "save the text to memory"),
    ("Ctrl+V", "paste an image from the clipboard"),
    ("Esc", "close what is open or stop the agent; twice while idle, rewind, or clear the input if you have a draft"),
    ("Ctrl+C", "clear the input (Up brings it back) or stop the agent; twice, exit"),
    ("Ctrl+D", "exit, on an empty input"),
    ("Shift+Tab", "next permission mode"),
    ("Ctrl+O", "the full transcript, with search"),
    ("Ctrl+G", "edit the input in $EDITOR"),
    ("Ctrl+L", "clear the screen"),
    ("Ctrl+Z", "suspend; fg resumes"),
    ("Tab", "answer the open question while you have a draft in the input"),
)


def action_of(key: str, layers: Iterable[KeyLayer]) -> Action:
    """What a key does where these layers are open, the topmost first."""
    for layer in layers:
        actions = KEY_TABLE[layer]
        action = actions.get(key) or (None if key in ALWAYS_FOR_INPUT else actions.get(NamedKey.ANY))
        if action is not None:
            return action
    return DraftAction.EDIT_TEXT
