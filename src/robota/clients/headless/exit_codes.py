"""What the exit status of print mode means."""

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
    DONE: "done: there is a complete answer",
    TASK_FAILED: "the task failed",
    USAGE: "wrong usage",
    CONFIGURATION: "configuration",
    PROVIDER_PERMANENT: "the provider refused for good (key, model, request)",
    NEEDS_HUMAN: "needs a human: `robota state ID` shows the question, `robota answer ID` goes on",
    TURN_LIMIT: "turn limit",
    BUDGET_LIMIT: "budget used up",
    PROVIDER_RETRYABLE: "the provider failed for now; try again later",
    SIGHUP: "SIGHUP: the terminal went away",
    SIGINT: "SIGINT: stopped with Ctrl-C",
    STDOUT_CLOSED: "the reader of stdout went away",
    SIGTERM: "SIGTERM: told to end",
}
