"""The exit codes of print mode."""

from typing import Final

DONE: Final = 0
TASK_FAILED: Final = 1
USAGE: Final = 2
CONFIGURATION: Final = 3
PROVIDER_PERMANENT: Final = 4
NEEDS_HUMAN: Final = 10
TURN_LIMIT: Final = 53
BUDGET_LIMIT: Final = 55
PROVIDER_RETRYABLE: Final = 75  # EX_TEMPFAIL: the same command may work later
SIGHUP: Final = 129
SIGINT: Final = 130
STDOUT_CLOSED: Final = 141
SIGTERM: Final = 143

SIGNAL_BASE: Final = 128  # a process ended by signal n has the status 128 + n

MEANINGS: Final = {
    DONE: "success: a complete answer",
    TASK_FAILED: "the task failed, or the session could not be saved (`log_failed`)",
    USAGE: "usage error",
    CONFIGURATION: "configuration error",
    PROVIDER_PERMANENT: "permanent provider error (key, model, request)",
    NEEDS_HUMAN: "needs user input: `robota state ID` shows the question, `robota answer ID` continues",
    TURN_LIMIT: "turn limit reached",
    BUDGET_LIMIT: "budget exhausted",
    PROVIDER_RETRYABLE: "temporary provider error; try again later",
    SIGHUP: "SIGHUP: the terminal was closed",
    SIGINT: "SIGINT: interrupted with Ctrl+C",
    STDOUT_CLOSED: "SIGPIPE: the reader of stdout closed it",
    SIGTERM: "SIGTERM: terminated",
}
