"""The fields of a Notification hook event, sent while the user is asked something."""

from typing import assert_never

from robota.protocol.asks.ask import (
    ApprovalAsk,
    Ask,
    CompletionAsk,
    FailureAsk,
    LimitAsk,
    MistakesAsk,
    QuestionAsk,
    ResumeAsk,
)
from robota.protocol.views import FieldsView, TerminalView


def notification_of(asked: Ask) -> dict[str, str]:
    """The fields of a notification about an ask."""
    match asked:
        case ApprovalAsk():
            message = f"Robota needs your approval to {_intention(asked)}"
            return {"notification_type": "permission_prompt", "title": "Approval needed", "message": message}
        case QuestionAsk():
            message = f"Robota has a question for you: {asked.question}"
            return {"notification_type": "permission_prompt", "title": "Question", "message": message}
        case ResumeAsk() | LimitAsk() | MistakesAsk() | FailureAsk() | CompletionAsk():
            message = "Robota is waiting for your input"
            return {"notification_type": "idle_prompt", "title": "Waiting for you", "message": message}
        case never:
            assert_never(never)


def _intention(asked: ApprovalAsk) -> str:
    match asked.view:
        case TerminalView():
            return f"run a command: {asked.view.command}"
        case FieldsView() if asked.view.heading:
            return f"use an MCP server: {asked.view.heading}"
        case _:
            return f"use a tool: {asked.title}"
