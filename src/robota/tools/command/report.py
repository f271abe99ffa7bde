"""Reports the result of a command to the model: shortened output, exit status, and where the full output is stored."""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

import msgspec

from robota.contracts.tool import ToolContext
from robota.workspace.files.protected_names import Guard, names_guarded_by
from robota.workspace.process.ending import Ending, StopReason

MAX_CHARACTERS: Final = 30_000
# A line that does not fit is only cut in two if dropping it would waste more than this.
WASTE_CHARACTERS: Final = 2_000
QUESTION_ENDS: Final = (":", "?", ">", "]", ")")
NO_INPUT: Final = (
    "Nobody can type the answer: pass it as an option (such as -y), pipe it in, "
    "or start the command with background_process and use its action send."
)
# Error messages of programs that the sandbox has blocked; without a sandbox they are rare.
SANDBOX_MESSAGES: Final = (
    "Read-only file system",
    "Network is unreachable",
    "Temporary failure in name resolution",
    "Could not resolve host",
    "Name or service not known",
    "EROFS",
    "ENETUNREACH",
    "EAI_AGAIN",
    # The sandbox hides the directories that contain keys.
    "gpg failed to sign the data",
)
# Error messages that the sandbox also causes, but that have many other causes.
REFUSAL_MESSAGES: Final = ("Operation not permitted", "Permission denied", "EPERM", "EACCES")
# Error messages about a reserved name: the sandbox puts an empty directory there, and nothing can be created in it.
RESERVED_NAME_MESSAGES: Final = ("Permission denied", "Is a directory", "EACCES", "EISDIR")
# By whether a user is there, who can allow the command to run outside.
SANDBOX_NOTES: Final = {
    True: "The command ran in a sandbox: it can write only in the workspace and reach only allowed hosts. If that is "
    "why it failed, run this exact command again with without_sandbox: true; the user will be asked.",
    False: "The command ran in a sandbox: it can write only in the workspace and reach only allowed hosts. If that is "
    "why it failed, find a way that works there, or report what could not be done.",
}
FAILED_INSIDE: Final = (
    "The command failed in the sandbox, where it can write only in the workspace and reach only allowed hosts."
)
# Error messages about a file that something is mounted on.
MOUNTED_MESSAGES: Final = ("Read-only file system", "EROFS", "Device or resource busy", "EBUSY")
PINNED_NOTE: Final = (
    "{} cannot be changed by this command, because the user allowed it only while this file is unchanged. To change "
    "it, edit it with a tool, and run the command again; the user will be asked."
)
WHY_STOPPED: Final = {
    StopReason.TIME_OUT: "Timed out: the command was stopped",
    StopReason.USER_LIMIT: "Stopped at the user's time limit, so do not run it again unchanged",
    StopReason.WAITED_FOR_INPUT: "Stopped: the command waited for keyboard input",
    StopReason.TOO_MANY_PROCESSES: "Stopped: the command started too many processes",
    StopReason.TOO_MUCH_MEMORY: "Stopped: the command used most of the machine's memory, so do not rerun it unchanged",
    StopReason.TOO_MUCH_DISK: "Stopped: the command wrote more to the disk than one that nobody approved may write",
    StopReason.TOO_MANY_FILES: "Stopped: the command created more files than one that nobody approved may create",
    StopReason.ABORTED: "Stopped by the user",
    StopReason.REQUESTED: "Stopped",
}
# What to do about a command that was stopped, where the reason does not say it.
AFTER_A_STOP: Final = {
    StopReason.TIME_OUT: "If it needs longer, give a larger timeout, or start it with background_process.",
    StopReason.WAITED_FOR_INPUT: NO_INPUT,
    StopReason.TOO_MANY_PROCESSES: "Run it with fewer at once.",
    StopReason.TOO_MUCH_DISK: "Make it write less, or continue without it.",
    StopReason.ABORTED: "Do not run it again unless the user asks for it.",
}


class RepeatedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line with its ending, and how often it is repeated in a row."""

    line: str
    count: int = 1

    @property
    def shown(self) -> str:
        plain = len(self.line) * self.count
        folded = f"{self.line}[the line above is repeated {self.count - 1:,} more times]\n"
        return folded if len(folded) < plain else self.line * self.count

    @property
    def characters(self) -> int:
        return len(self.line) * self.count


class ShownOutput(msgspec.Struct, frozen=True, kw_only=True):
    """An output as a result shows it. Between the first `beginning` characters and its end, `missing` ones are cut."""

    text: str
    beginning: int = 0
    missing: int = 0


def shortened(head: str, tail: str, total: int) -> ShownOutput:
    """Shorten a text of `total` characters; `head` and `tail` are its available parts, without the middle."""
    if total == len(head) + len(tail):
        first = last = _runs(head + tail)
        whole = "".join(run.shown for run in first)
        if len(whole) <= MAX_CHARACTERS:
            return ShownOutput(text=whole)
    else:
        first, last = _runs(head), _runs(tail)
    beginning, taken = _from_beginning(first, MAX_CHARACTERS // 2)
    end, taken_too = _from_end(last, MAX_CHARACTERS // 2)
    missing, break_ = total - taken - taken_too, "" if beginning.endswith("\n") else "\n"
    return ShownOutput(
        text=f"{beginning}{break_}[… {missing:,} characters cut here …]\n{end}", beginning=taken, missing=missing
    )


def last_lines(text: str, count: int) -> str:
    """The last lines, as many as fit."""
    lines = text.split("\n")
    last = lines[-count - 1 :] if text.endswith("\n") else lines[-count:]
    end, _ = _from_end(_runs("\n".join(last)), MAX_CHARACTERS)
    return end


def how_it_ended(ending: Ending, timeout_s: float | None = None) -> list[str]:
    """How a command ended, one sentence per line; the first has the exit code or the signal."""
    result = f"signal {ending.signal}" if ending.signal is not None else f"exit code {ending.exit_code}"
    if ending.stopped_for is not None:
        after = f" after {timeout_s:g} s" if ending.stopped_for is StopReason.TIME_OUT and timeout_s else ""
        lines = [f"{WHY_STOPPED[ending.stopped_for]}{after} ({result})."]
    elif ending.signal is not None:
        lines = [f"Ended by signal: {ending.signal}"]
    else:
        lines = [f"Exit code: {ending.exit_code}"]
    if ending.stopped_for in AFTER_A_STOP:
        lines.append(AFTER_A_STOP[ending.stopped_for])
    if ending.left_behind:
        lines.append("Processes it had left running were stopped.")
    return lines


def seems_to_have_asked(ending: Ending, last_text: str) -> bool:
    """Whether the command failed after printing an apparent question, because it had no input to read."""
    if ending.exit_code in (0, None) or ending.stopped_for is not None or last_text.endswith("\n"):
        return False
    return last_text.rstrip(" ").endswith(QUESTION_ENDS)


def refused_pinned_file(output: str, paths: Iterable[str]) -> str | None:
    """The file, of those that had to stay as they were, that the command failed to change."""
    lines = [line for line in output.splitlines() if any(message in line for message in MOUNTED_MESSAGES)]
    return next((path for path in paths if any(path.rpartition("/")[2] in line for line in lines)), None)


def was_stopped_by_the_sandbox(ending: Ending, output: str, refused: Sequence[str] = ()) -> bool:
    """Whether the command failed after being refused hosts, or with a message that hardly anything else causes."""
    if refused and ending.exit_code not in (0, None):
        return True
    return _failed_with(SANDBOX_MESSAGES, ending, output) or (
        _failed_with(RESERVED_NAME_MESSAGES, ending, output) and _names_reserved_name(output)
    )


def may_be_the_sandbox(ending: Ending, output: str) -> bool:
    """Whether the command failed with a message that the sandbox may have caused."""
    return _failed_with(REFUSAL_MESSAGES, ending, output)


class KeptOutput(msgspec.Struct, frozen=True, kw_only=True):
    """A whole output that was stored for the model, or nearly whole, as `lack` says."""

    name: str
    lack: str = ""


class NotKept(msgspec.Struct, frozen=True):
    """Why an output could not be stored, as a sentence."""

    reason: str


async def keep_output(file: Path, total_bytes: int, context: ToolContext) -> KeptOutput | NotKept:
    """Move the output file next to the log."""
    size = _size(file)
    if size is None:
        # An earlier call that moved the file was cancelled before it could report the name.
        return NotKept("The full output is no longer available.")
    name = await context.keep_file(file)
    if name is None or _size(file) is not None:
        return NotKept("The full output could not be saved, because the session log cannot be written.")
    lack = "" if size == total_bytes else f"Only the first {size:,} of {total_bytes:,} bytes were saved. "
    return KeptOutput(name=name, lack=lack)


def how_to_look(kept: KeptOutput | NotKept, shown: ShownOutput, offset: int = 0) -> str:
    """The last line of a result with a cut output: the call that returns what is missing."""
    from robota.contracts.rest_of_result import output_call

    if isinstance(kept, NotKept):
        return f"[{shown.missing:,} characters were cut. {kept.reason}]"
    return f"[{shown.missing:,} characters were cut. {kept.lack}To read them: {output_call(kept.name, offset)}]"


def offset_of_cut(stored: Path | None, head: str, shown: ShownOutput, start: int = 0) -> int:
    """Where in the stored output the missing characters begin, if `head` begins at byte `start` of it.

    Only `start` is known if the output was shown differently from what was printed.
    """
    beginning = head[: shown.beginning].encode("utf-8", "surrogateescape")
    try:
        if stored is None:
            return start
        with stored.open("rb") as file:
            file.seek(start)
            return start + (len(beginning) if file.read(len(beginning)) == beginning else 0)
    except OSError:
        return start


def _names_reserved_name(output: str) -> bool:
    """Whether a message about a reserved name contains one, as a whole word."""
    names = "|".join(re.escape(name) for name in names_guarded_by(Guard.KEPT_FREE))
    reserved = re.compile(rf"(?<![\w.-])(?:{names})(?![\w.-])")
    messages = (line for line in output.splitlines() if any(text in line for text in RESERVED_NAME_MESSAGES))
    return any(reserved.search(line) for line in messages)


def _size(file: Path) -> int | None:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return None


def _failed_with(messages: tuple[str, ...], ending: Ending, output: str) -> bool:
    return ending.exit_code not in (0, None) and any(message in output for message in messages)


def _runs(text: str) -> deque[RepeatedLine]:
    pieces = text.split("\n")
    lines = [f"{piece}\n" for piece in pieces[:-1]]
    runs = deque(RepeatedLine(line=line, count=len(list(same))) for line, same in groupby(lines))
    if pieces[-1]:
        runs.append(RepeatedLine(line=pieces[-1]))
    return runs


def _from_beginning(runs: deque[RepeatedLine], room: int) -> tuple[str, int]:
    """Take runs of lines while they fit. Returns the text to show and the number of output characters it covers."""
    shown: list[str] = []
    characters = 0
    while runs and len(runs[0].shown) <= room:
        run = runs.popleft()
        shown.append(run.shown)
        room -= len(run.shown)
        characters += run.characters
    if runs and room > WASTE_CHARACTERS and runs[0].count == 1:
        line = runs.popleft().line
        shown.append(line[:room])
        runs.appendleft(RepeatedLine(line=line[room:]))
        characters += room
    return "".join(shown), characters


def _from_end(runs: deque[RepeatedLine], room: int) -> tuple[str, int]:
    shown: list[str] = []
    characters = 0
    while runs and len(runs[-1].shown) <= room:
        run = runs.pop()
        shown.append(run.shown)
        room -= len(run.shown)
        characters += run.characters
    if runs and room > WASTE_CHARACTERS and runs[-1].count == 1:
        shown.append(runs.pop().line[-room:])
        characters += room
    return "".join(reversed(shown)), characters
