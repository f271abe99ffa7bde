"""Going back as lines: what would change, and what did."""

from collections.abc import Iterator, Sequence
from typing import Final

from robota.clients.terminal.line import DIM, GREEN, RED, Line
from robota.protocol.rewind import RewindResult
from robota.text.counted import counted
from robota.text.visible import single_line, visible

PATH_SHOWN: Final = 4096
NOTHING_DIFFERS: Final = "Nothing differs from that state."
COLOURS: Final = {"+": GREEN, "-": RED}


def question_about(result: RewindResult) -> str:
    """What is asked before it is done."""
    files = f"change {counted(len(result.files), 'file')} like this" if result.files else ""
    words = "take the conversation back" if result.changes_conversation else ""
    return f"{' and '.join(each for each in (files, words) if each).capitalize()}?"


def result_lines(result: RewindResult) -> Iterator[str]:
    """What was done, or would be."""
    if result.is_empty:
        yield NOTHING_DIFFERS
    for file in result.files:
        # Seen from the state before: what the target does not have is removed.
        yield f"{'removed' if file.kind == 'deleted' else 'restored'}  {single_line(file.path, PATH_SHOWN)}"
    yield from conversation_lines(result)
    for left in result.left_files:
        yield f"left as it is  {single_line(left.path, PATH_SHOWN)}: {left.reason}"
    if result.saved_new_work and result.files:
        yield "What was in no checkpoint was saved first; `rewind undo` brings it back."


def conversation_lines(result: RewindResult) -> Iterator[str]:
    """What becomes of the conversation."""
    if not result.changes_conversation:
        return
    if result.left_prompts:
        yield f"conversation  without {_prompts(result.left_prompts)}; the list still has what was left"
    if result.returned_prompts:
        yield f"conversation  with {_prompts(result.returned_prompts)} again"
    if not result.left_prompts and not result.returned_prompts:
        yield "conversation  as it was then"


def _prompts(numbers: Sequence[int]) -> str:
    return f"{'prompt' if len(numbers) == 1 else 'prompts'} {', '.join(map(str, numbers))}"


def diff_lines(diff: str) -> Iterator[Line]:
    """A unified diff in colours, with what cannot be seen made visible."""
    for line in visible(diff).splitlines():
        is_head = line.startswith(("diff --git ", "index ", "--- ", "+++ ", "@@ "))
        yield Line(line, DIM if is_head else COLOURS.get(line[:1]))


def preview_lines(result: RewindResult) -> Iterator[Line]:
    """What would change, with the diff."""
    if result.is_empty:
        yield Line(NOTHING_DIFFERS)
    yield from diff_lines(result.diff)
    yield from map(Line, conversation_lines(result))
