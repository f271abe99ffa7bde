"""The kinds of asks, in four disjoint categories."""

from typing import Final

INTERACTIVE_ASKS: Final = frozenset({"followup", "command", "tool", "use_mcp_server", "browser_action_launch"})
IDLE_ASKS: Final = frozenset(
    {
        "completion_result",
        "api_req_failed",
        "resume_completed_task",
        "mistake_limit_reached",
        "auto_approval_max_req_reached",
    }
)
RESUMABLE_ASKS: Final = frozenset({"resume_task"})
NON_BLOCKING_ASKS: Final = frozenset({"command_output"})
# Asked when a session is resumed, or after an interruption.
RESUME_ASKS: Final = frozenset({"resume_task", "resume_completed_task"})
# While one of these is open the task does nothing, so a new task may replace it.
NOTHING_TO_DO_ASKS: Final = IDLE_ASKS | RESUMABLE_ASKS
# These wait for the next prompt, not for an answer.
AT_REST_ASKS: Final = frozenset({"completion_result", "resume_completed_task"})

KNOWN_ASKS: Final = INTERACTIVE_ASKS | IDLE_ASKS | RESUMABLE_ASKS | NON_BLOCKING_ASKS

# An answer to one of these is an approval or a rejection.
APPROVAL_ASKS: Final = INTERACTIVE_ASKS - {"followup"}


def is_non_blocking_ask(ask: str | None) -> bool:
    """The agent continues whether or not there is an answer."""
    return ask in NON_BLOCKING_ASKS
