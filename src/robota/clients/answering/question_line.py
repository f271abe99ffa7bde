"""Show asks other than approvals, and parse the typed answers. Pure."""

import re
from typing import Final, assert_never

from robota.clients.answering.yes_or_no import is_clear_no, is_clear_yes
from robota.protocol.asks.answer import Answer, Approve, Reject, Say
from robota.protocol.asks.ask import (
    EDITED_PLAN,
    CompletionAsk,
    FailureAsk,
    LimitAsk,
    LimitKind,
    MistakesAsk,
    PlanAsk,
    QuestionAsk,
    ResumeAsk,
    SuggestedAnswer,
)
from robota.text.counted import counted

# Nothing runs at these asks, so the user may run a command.
AT_REST: Final = (CompletionAsk, ResumeAsk)
# A Markdown image is not a command.
SHELL_LINE: Final = r"(?s)\s*!(?!\[[^\]\n]*\]\()\s*(?P<command>\S.*)"
NUMBER_OR_WORDS: Final = "  Type a number, or an answer of your own."
FIRST_IS_TAKEN: Final = "  If nobody answers, 1 is taken after {}."
PLAN_ANSWERS: Final = f'  Type a number, what to change, or "{EDITED_PLAN}" and the plan as you want it.'
STOPPED_ALREADY: Final = (
    "Nothing is running, and the conversation is kept. Type what to do next, or /clear to start a new conversation."
)
TalkAsk = QuestionAsk | LimitAsk | MistakesAsk | FailureAsk | CompletionAsk | ResumeAsk


def shell_command(typed: str) -> str | None:
    """The command line of `!command`, which the user runs directly; None if the text is not one."""
    match = re.fullmatch(SHELL_LINE, typed) if typed.lstrip().startswith("!") else None
    return None if match is None else match["command"].rstrip()


def words_for(asked: TalkAsk, stop: str = "type n") -> list[str]:
    """The lines shown to the user before they answer. `stop` is how they say no: not every client sees single keys."""
    match asked:
        case QuestionAsk():
            numbered = [f"  {number} {offered_text(each)}" for number, each in enumerate(asked.suggestions, start=1)]
            hint = PLAN_ANSWERS if isinstance(asked, PlanAsk) else NUMBER_OR_WORDS
            limit = asked.default_after_s
            timed = [] if limit is None else [FIRST_IS_TAKEN.format(counted(round(limit), "second"))]
            return [f"? {asked.question}", *numbered, *([hint] if numbered else []), *timed]
        case LimitAsk():
            return [f"! {limit_reached(asked)} Type y to allow the same amount again, or {stop} to stop."]
        case MistakesAsk():
            return [*_warning(asked.message), f"Press Enter to continue, type instructions, or {stop} to stop."]
        case FailureAsk():
            hint = f"Press Enter to retry, type a message to send with the retry, or {stop} to stop."
            return [*_warning(asked.message), hint]
        case CompletionAsk() | ResumeAsk(is_completed=True):
            return []
        case ResumeAsk():
            return ["Interrupted. Press Enter to continue, type instructions, or press Ctrl+D to exit."]
        case never:
            assert_never(never)


def limit_reached(asked: LimitAsk) -> str:
    """Which limit is reached, as a sentence."""
    what = counted(int(asked.count), "request") if asked.limit is LimitKind.REQUESTS else f"${asked.count:.2f}"
    return asked.text or f"The limit of {what} is reached."


def hint_for(asked: TalkAsk) -> str:
    """The hint after input that is not an answer."""
    match asked:
        case LimitAsk():
            return "Type y to continue or n to stop."
        case ResumeAsk(is_completed=False):
            return STOPPED_ALREADY
        case _:
            return ""


def answer_to(asked: TalkAsk, typed: str) -> Answer | None:
    """The answer in the typed text; None if it is not an answer and must be asked again."""
    line = typed.strip()
    command = shell_command(typed) if isinstance(asked, AT_REST) else None
    if command is not None:
        return Say(text=command, is_command=True)
    match asked:
        case QuestionAsk():
            return _chosen(asked, line)
        case CompletionAsk() | ResumeAsk(is_completed=True):
            return Say(text=typed) if line else None
        case LimitAsk():
            return _yes_or_no(line)
        case ResumeAsk() if is_clear_no(line):
            return None  # it has stopped already, and ending the task would drop the conversation
        case MistakesAsk() | FailureAsk() | ResumeAsk():
            return _yes_or_no(line) or (Say(text=typed) if line else Approve())
        case never:
            assert_never(never)


def offered_text(suggestion: SuggestedAnswer) -> str:
    """A suggested answer, and what it does to the task mode."""
    mode = suggestion.mode
    return suggestion.answer if mode is None else f"{suggestion.answer} (continues in {mode} mode)"


def _yes_or_no(line: str) -> Approve | Reject | None:
    if is_clear_no(line):
        return Reject()
    return Approve() if is_clear_yes(line) else None


def _chosen(asked: QuestionAsk, line: str) -> Say | None:
    if line.isascii() and line.isdecimal() and 1 <= int(line) <= len(asked.suggestions):
        line = asked.suggestions[int(line) - 1].answer
    return Say(text=line) if line else None


def _warning(message: str) -> list[str]:
    return [f"! {message}"] if message else []
