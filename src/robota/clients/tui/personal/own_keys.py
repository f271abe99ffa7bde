"""The user's own key bindings: the file, what is wrong with it, and the list of all keys."""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from robota.clients.tui.key_table import USUAL, Bindings, BoundAction

# Whoever cannot leave, stop or answer is trapped, and terminals send some of these for several keys.
FIXED: Final = frozenset({"esc", "escape", "tab", "backspace", "up", "down", "ctrl+c", "ctrl+d"})
SAME_AS: Final = {"ctrl+h": "Backspace", "ctrl+i": "Tab", "ctrl+m": "Enter", "ctrl+[": "Esc"}
KEY: Final = re.compile(r"ctrl\+[a-z]|alt\+(?:[a-z0-9,.]|enter)|f(?:[1-9]|1[0-2])|shift\+tab|enter")
# The list of keys for `?`, in the order in which they are learned.
KEY_HELP: Final[tuple[tuple[str | BoundAction, str], ...]] = (
    (BoundAction.SEND, "send; while the agent is working, queue for after its answer"),
    (BoundAction.SEND_NOW, "send with the next request to the model, without waiting for the answer"),
    (BoundAction.NEW_LINE, "new line; also Shift+Enter if the terminal reports it, or a backslash before Enter"),
    ("Up, Down", "previous prompts; on an empty input with queued messages, edit the queue"),
    ("Backspace", "on an empty input, remove the last queued message"),
    (BoundAction.SEARCH_HISTORY, "search previous prompts"),
    ("/ and Tab", "complete a command"),
    ("@ and Tab", "complete a file"),
    ("!command", "run a command yourself; its output is sent with your next prompt"),
    ("# text", "save the text to memory"),
    (BoundAction.PASTE_IMAGE, "paste an image from the clipboard"),
    ("Esc", "close what is open or stop the agent; twice while idle, rewind, or clear the input if you have a draft"),
    ("Ctrl+C", "clear the input (Up brings it back) or stop the agent; twice, exit"),
    ("Ctrl+D", "exit, on an empty input"),
    (BoundAction.PERMISSION_MODE, "next permission mode"),
    (BoundAction.EFFORT, "choose how much the model thinks"),
    (BoundAction.UNDO_COMMAND, "on an empty input, undo what the last unapproved command changed in confined mode"),
    (BoundAction.BACKGROUND, "on an empty input, let the running command go on in the background"),
    (BoundAction.TRANSCRIPT, "the full transcript, with search"),
    (BoundAction.AGENTS, "the agents, live, and what is written to them"),
    (BoundAction.EDITOR, "edit the input, or the plan that you are asked about, in $EDITOR"),
    (BoundAction.CLEAR_SCREEN, "clear the screen"),
    (BoundAction.SUSPEND, "suspend; fg resumes"),
    ("Tab", "answer the open question while you have a draft in the input"),
)


class OwnKeys(msgspec.Struct, frozen=True, kw_only=True):
    """What each key does, with the user's own; and what of the file was left out, and why."""

    bindings: Bindings = USUAL
    problems: tuple[str, ...] = ()


def read_keys(content: bytes) -> OwnKeys:
    """The usual keys, changed by a file such as `{"ctrl+t": "transcript", "ctrl+o": null}`."""
    try:
        entries = msgspec.json.decode(content, type=dict[str, str | None])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return OwnKeys(problems=(f"{error}. The usual keys are used.",))
    bindings, problems = dict(USUAL), []
    for written, action in entries.items():
        key = written.lower().replace(" ", "")
        problem = _problem(key, action)
        if problem is not None:
            problems.append(f"“{written}”: {problem}. This line is ignored.")
        elif action is None:
            bindings.pop(key, None)
        else:
            bindings[key] = BoundAction(action)
    if BoundAction.SEND not in bindings.values():
        problems.append("No key would send a prompt, so Enter still does.")
        bindings["enter"] = BoundAction.SEND
    return OwnKeys(bindings=bindings, problems=tuple(problems))


def _problem(key: str, action: str | None) -> str | None:
    if key in FIXED:
        return "this key has a meaning that cannot be changed"
    if key in SAME_AS:
        return f"terminals send the same for {SAME_AS[key]}"
    if KEY.fullmatch(key) is None:
        return "there is no such key; write ctrl+t, alt+t, alt+enter, shift+tab, enter or f5"
    if action is not None and action not in set(BoundAction):
        return f"there is no action “{action}”; there are: {', '.join(BoundAction)}"
    return None


def key_help(bindings: Bindings) -> tuple[tuple[str, str], ...]:
    """All keys and what they do, with the user's own."""
    return tuple((_keys(keys, bindings), words) for keys, words in KEY_HELP if _keys(keys, bindings))


def _keys(keys: str | BoundAction, bindings: Bindings) -> str:
    return shown_keys(keys, bindings) if isinstance(keys, BoundAction) else keys


def shown_keys(action: BoundAction, bindings: Bindings) -> str:
    """The keys of an action as they are written on a keyboard; empty if it has none."""
    return ", ".join(_title(key) for key, bound in bindings.items() if bound is action)


def _title(key: str) -> str:
    return "+".join(part.capitalize() for part in key.split("+"))


def own_lines(bindings: Bindings) -> Iterable[tuple[str, str]]:
    """The bindings that differ from the usual ones: a key, and its action."""
    for key in dict.fromkeys([*USUAL, *bindings]):
        if bindings.get(key) is not USUAL.get(key):
            action = bindings.get(key)
            yield _title(key), "—" if action is None else action
