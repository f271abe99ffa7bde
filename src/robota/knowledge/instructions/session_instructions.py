"""The instructions of one session as a part of its system prompt: the person's, and those of the project."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from robota.contracts.knowledge import INSTRUCTION_TAG, QUOTED_TAG
from robota.knowledge.instructions.loader import InstructionFile, Instructions, load_instructions, load_some
from robota.knowledge.instructions.on_touch import (
    PathRule,
    directories_between,
    nested_candidates,
    path_rules,
    place_of,
)
from robota.knowledge.instructions.places import Candidate, InstructionPlaces, InstructionScope
from robota.knowledge.prompt_elements import QUOTED, PromptElement, prompt_part

FOLLOWED: Final = (
    "# Instructions\n\nThe person you work for wants these files followed, the general ones first. Where two differ, "
    "the later one counts; what the person says in the conversation counts more than any."
)


class SessionInstructions:
    """An `InstructionService`. Files are read once for a mode, so that requests begin with the same bytes."""

    def __init__(
        self,
        places: InstructionPlaces,
        workspace: Path,
        is_denied: Callable[[str], bool],
        is_trusted: Callable[[], bool],
    ) -> None:
        """`is_trusted` says whether the person trusts what the project says."""
        self._places = places
        self._is_denied = is_denied
        self._is_trusted = is_trusted
        self._sections: dict[str, str] = {}
        self._workspace = workspace
        self._rules: dict[str, tuple[PathRule, ...]] = {}
        self._known: dict[str, set[str]] = {}  # the files that the model of a task was told

    def prompt_section(self, mode: str) -> str:
        if mode not in self._sections:
            self._sections[mode] = prompt_section(self.load(mode), is_trusted=self._is_trusted())
        return self._sections[mode]

    def touched(self, task_id: str, mode: str, paths: Sequence[str]) -> str:
        known = self._known.setdefault(task_id, {file.path for file in self.load(mode).files})
        files = tuple(each for each in self.load_for(mode, paths) if each.path not in known)
        known.update(file.path for file in files)
        return prompt_section(Instructions(files=files), is_trusted=self._is_trusted())

    def load_for(self, mode: str, paths: Sequence[str]) -> tuple[InstructionFile, ...]:
        """What is told only when one of these files is touched."""
        touched = [place_of(self._workspace, path) for path in paths]
        rules = self._path_rules(mode)
        wanted = [
            *(rule.candidate for rule in rules if any(map(rule.fits, touched))),
            *(each for path in touched for each in self._nested(path, mode)),
        ]
        return load_some(self._places, dict.fromkeys(wanted), self._is_denied) if wanted else ()

    def _nested(self, file: Path, mode: str) -> Iterator[Candidate]:
        """Those of directories below the workspace, but for rules that are for other files than this."""
        others = {
            rule.candidate.path for rule in path_rules(self._below(file), mode, self._workspace) if not rule.fits(file)
        }
        for candidate in nested_candidates(self._workspace, file, mode):
            if candidate.path not in others:
                yield candidate

    def _below(self, file: Path) -> InstructionPlaces:
        """The places between the workspace and a file, which can be read from the top of the project on."""
        project = (*self._places.project[:1], *directories_between(self._workspace, file))
        return InstructionPlaces(home=self._places.home, project=project)

    def _path_rules(self, mode: str) -> tuple[PathRule, ...]:
        if mode not in self._rules:
            self._rules[mode] = tuple(path_rules(self._places, mode, self._workspace))
        return self._rules[mode]

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
