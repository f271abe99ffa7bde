"""The instructions of one session as a part of its system prompt: the person's, and those of the project."""

from collections.abc import Callable, Iterable
from typing import Final

from robota.contracts.knowledge import INSTRUCTION_TAG, QUOTED_TAG
from robota.knowledge.instructions.loader import InstructionFile, Instructions, load_instructions
from robota.knowledge.instructions.places import InstructionPlaces, InstructionScope
from robota.knowledge.prompt_elements import QUOTED, PromptElement, prompt_part

FOLLOWED: Final = (
    "# Instructions\n\nThe person you work for wants these files followed, the general ones first. Where two differ, "
    "the later one counts; what the person says in the conversation counts more than any."
)


class SessionInstructions:
    """An `InstructionService`. Files are read once for a mode, so that requests begin with the same bytes."""

    def __init__(
        self, places: InstructionPlaces, is_denied: Callable[[str], bool], is_trusted: Callable[[], bool]
    ) -> None:
        """`is_trusted` says whether the person trusts what the project says."""
        self._places = places
        self._is_denied = is_denied
        self._is_trusted = is_trusted
        self._sections: dict[str, str] = {}

    def prompt_section(self, mode: str) -> str:
        if mode not in self._sections:
            self._sections[mode] = prompt_section(self.load(mode), is_trusted=self._is_trusted())
        return self._sections[mode]

    def load(self, mode: str) -> Instructions:
        """The files as they are now."""
        return load_instructions(self._places, mode, self._is_denied)


def prompt_section(instructions: Instructions, *, is_trusted: bool) -> str:
    """What the system prompt says of them; empty if there are none."""
    own = [file for file in instructions.files if is_trusted or file.scope is InstructionScope.USER]
    others = [file for file in instructions.files if file not in own]
    parts = (_part(FOLLOWED, INSTRUCTION_TAG, own), _part(QUOTED, QUOTED_TAG, others))
    return "\n\n".join(part for part in parts if part)


def _part(heading: str, tag: str, files: Iterable[InstructionFile]) -> str:
    return prompt_part(heading, tag, (PromptElement(file.path, file.text) for file in files))
