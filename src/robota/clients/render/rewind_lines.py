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
    names = f"move {', '.join(_short_name(move.name) for move in result.refs)} in git back" if result.refs else ""
    words = "rewind the conversation" if result.changes_conversation else ""
    question = " and ".join(each for each in (files, names, words) if each)
    return f"{question[:1].upper()}{question[1:]}?"


def result_lines(result: RewindResult) -> Iterator[str]:
    """The lines about what was changed."""
    if result.is_empty:
        yield NOTHING_DIFFERS
    for file in result.files:
        # The kinds describe the target state: files that it does not have are removed.
        yield f"{'removed' if file.kind == 'deleted' else 'restored'}  {single_line(file.path, PATH_SHOWN)}"
    yield from _ref_lines(result, "")
    yield from _conversation_lines(result, "")
    for left in result.left_files:
        yield f"not restored  {single_line(left.path, PATH_SHOWN)}: {left.reason}"
    if result.saved_new_work and result.files:
        yield "Changes that no checkpoint had were saved first; `rewind undo` restores them."


def _ref_lines(result: RewindResult, when: str) -> Iterator[str]:
    for move in result.refs:
        name = single_line(_short_name(move.name), PATH_SHOWN)
        yield f"git  {name} {when}{'removed' if move.after is None else 'moved back'}"
    for left in result.left_refs:
        yield f"git  {single_line(_short_name(left), PATH_SHOWN)} stays: something else has moved it since"


def _short_name(name: str) -> str:
    """`refs/heads/main` is `main`."""
    return name.removeprefix("refs/").removeprefix("heads/")


def planned_conversation_lines(result: RewindResult) -> Iterator[str]:
    """What would happen to the conversation; nothing has yet."""
    return _conversation_lines(result, "would be ")


def _conversation_lines(result: RewindResult, when: str) -> Iterator[str]:
    if not result.changes_conversation:
        return
    if result.left_prompts:
        yield f"conversation  {when}rewound, without {_prompts(result.left_prompts)} (`rewind undo` restores them)"
    if result.returned_prompts:
        yield f"conversation  {when}restored, with {_prompts(result.returned_prompts)}"
    if not result.left_prompts and not result.returned_prompts:
        yield f"conversation  {when}as it was then"


def _prompts(numbers: Sequence[int]) -> str:
    return f"{'prompt' if len(numbers) == 1 else 'prompts'} {', '.join(map(str, numbers))}"


def diff_lines(diff: str) -> Iterator[Line]:
    """A unified diff in colours, with invisible characters shown."""
    for line in visible(diff).splitlines():
        is_head = line.startswith(("diff --git ", "index ", "--- ", "+++ ", "@@ "))
        yield Line(line, DIM if is_head else COLOURS.get(line[:1]))


def preview_lines(result: RewindResult) -> Iterator[Line]:
    """What would change, with the diff; nothing has yet."""
    if result.is_empty:
        yield Line(NOTHING_DIFFERS)
    yield from diff_lines(result.diff)
    yield from map(Line, _ref_lines(result, "would be "))
    yield from map(Line, planned_conversation_lines(result))
