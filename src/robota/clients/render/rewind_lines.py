"""Format a rewind as lines: what would change, or did."""

from collections.abc import Iterator, Sequence
from typing import Final

from robota.clients.terminal.line import DIM, GREEN, RED, Line
from robota.protocol.rewind import RewindResult
from robota.text.counted import counted
from robota.text.visible import single_line, visible

PATH_SHOWN: Final = 4096
NOTHING_DIFFERS: Final = "Nothing has changed since that point."
COLOURS: Final = {"+": GREEN, "-": RED}


def question_about(result: RewindResult) -> str:
    """The question before the rewind."""
    files = f"change {counted(len(result.files), 'file')} as shown" if result.files else ""
    words = "rewind the conversation" if result.changes_conversation else ""
    return f"{' and '.join(each for each in (files, words) if each).capitalize()}?"


def result_lines(result: RewindResult) -> Iterator[str]:
    """What was changed, or would be."""
    if result.is_empty:
        yield NOTHING_DIFFERS
    for file in result.files:
        # The kinds describe the target state: files that it does not have are removed.
        yield f"{'removed' if file.kind == 'deleted' else 'restored'}  {single_line(file.path, PATH_SHOWN)}"
    yield from conversation_lines(result)
    for left in result.left_files:
        yield f"not restored  {single_line(left.path, PATH_SHOWN)}: {left.reason}"
    if result.saved_new_work and result.files:
        yield "Changes that no checkpoint had were saved first; `rewind undo` restores them."


def conversation_lines(result: RewindResult) -> Iterator[str]:
    """The effect on the conversation."""
    if not result.changes_conversation:
        return
    if result.left_prompts:
        yield f"conversation  rewound, without {_prompts(result.left_prompts)} (`rewind undo` restores them)"
    if result.returned_prompts:
        yield f"conversation  restored, with {_prompts(result.returned_prompts)}"
    if not result.left_prompts and not result.returned_prompts:
        yield "conversation  as it was then"


def _prompts(numbers: Sequence[int]) -> str:
    return f"{'prompt' if len(numbers) == 1 else 'prompts'} {', '.join(map(str, numbers))}"


def diff_lines(diff: str) -> Iterator[Line]:
    """A unified diff in colours, with invisible characters shown."""
    for line in visible(diff).splitlines():
        is_head = line.startswith(("diff --git ", "index ", "--- ", "+++ ", "@@ "))
        yield Line(line, DIM if is_head else COLOURS.get(line[:1]))


def preview_lines(result: RewindResult) -> Iterator[Line]:
    """What would change, with the diff."""
    if result.is_empty:
        yield Line(NOTHING_DIFFERS)
    yield from diff_lines(result.diff)
    yield from map(Line, conversation_lines(result))
