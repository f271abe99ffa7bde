"""The prompts that can be gone back to, as a list to choose from."""

from collections.abc import Sequence
from typing import Final

from robota.protocol.rewind import PromptPoint
from robota.protocol.slash_commands import CommandChoice, CommandOption
from robota.text.visible import single_line

PROMPT_LENGTH: Final = 200


def rewind_choice(points: Sequence[PromptPoint]) -> CommandChoice | None:
    """The newest prompt first; None if there is none to go back to."""
    options = tuple(
        CommandOption(
            label=f"{point.number} {single_line(point.prompt, PROMPT_LENGTH)}",
            line=f"/rewind restore {point.number}",
            detail=", ".join(point.files or ()),
            preview=f"/rewind diff {point.number}",
        )
        for point in reversed(points)
        if point.is_live
    )
    return CommandChoice(title="Rewind to before which prompt?", options=options) if options else None
