"""What a client offers at an ask: its two buttons, what each sends, and whether text can be sent."""

from enum import StrEnum
from typing import Final

from robota.protocol.message import Message
from robota.protocol.wire import Value


class ButtonAction(StrEnum):
    """What a button sends: an `askResponse` with this value, the command `clearTask`, or a `terminalOperation`."""

    YES = "yesButtonClicked"
    NO = "noButtonClicked"
    MESSAGE = "messageResponse"
    CLEAR_TASK = "clearTask"
    CONTINUE = "continue"
    ABORT = "abort"


class Button(Value, frozen=True, kw_only=True):
    """A button: its label and what it sends."""

    text: str
    action: ButtonAction


class AskControls(Value, frozen=True, kw_only=True, omit_defaults=False):
    """The buttons of an ask. While `are_enabled` is false they are shown, but do nothing."""

    primary: Button | None = None
    secondary: Button | None = None
    are_enabled: bool = False
    is_sending_disabled: bool = False


def controls_at(last: Message | None) -> AskControls:
    """What to offer while this is the last message: no buttons unless it is an open ask of a known kind."""
    if last is None or last.type != "ask" or last.is_answered:
        return AskControls()
    ask, is_partial = last.ask or "", last.partial is True
    primary, secondary = BUTTONS.get(ask, (None, None))
    return AskControls(
        primary=primary,
        secondary=secondary,
        are_enabled=primary is not None and not (is_partial and ask not in ENABLED_WHILE_PARTIAL),
        is_sending_disabled=ask == "api_req_failed" or (is_partial and ask not in ENABLED_WHILE_PARTIAL - {"followup"}),
    )


def _button(text: str, action: ButtonAction) -> Button:
    return Button(text=text, action=action)


NEW_TASK: Final = _button("New Task", ButtonAction.CLEAR_TASK)
APPROVE: Final = _button("Approve", ButtonAction.YES)
REJECT: Final = _button("Reject", ButtonAction.NO)
PROCEED: Final = _button("Proceed", ButtonAction.YES)
BUTTONS: Final[dict[str, tuple[Button, Button | None]]] = {
    "api_req_failed": (_button("Retry", ButtonAction.YES), NEW_TASK),
    "mistake_limit_reached": (PROCEED, NEW_TASK),
    "auto_approval_max_req_reached": (PROCEED, NEW_TASK),
    "followup": (_button("Answer", ButtonAction.MESSAGE), None),
    "tool": (APPROVE, REJECT),
    "command": (_button("Run", ButtonAction.YES), REJECT),
    "browser_action_launch": (APPROVE, REJECT),
    "use_mcp_server": (APPROVE, REJECT),
    "completion_result": (NEW_TASK, None),
    "resume_task": (_button("Resume", ButtonAction.YES), _button("Terminate", ButtonAction.CLEAR_TASK)),
    "resume_completed_task": (NEW_TASK, None),
    "command_output": (_button("Proceed", ButtonAction.CONTINUE), _button("Kill", ButtonAction.ABORT)),
}
# These never stream, or can be answered before they are complete.
ENABLED_WHILE_PARTIAL: Final = frozenset(
    {
        "api_req_failed",
        "mistake_limit_reached",
        "auto_approval_max_req_reached",
        "followup",
        "resume_task",
        "resume_completed_task",
        "command_output",
    }
)
