"""The instructions of one session, as sections of its system prompt and reminders for touched files."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from robota.contracts.knowledge import INSTRUCTION_TAG, QUOTED_TAG
from robota.knowledge.instructions.loader import (
    InstructionFile,
    Instructions,
    ReadingRules,
    UndecidedFile,
    load_candidates,
    load_instructions,
)
from robota.knowledge.instructions.on_touch import (
    PathRule,
    directories_between,
    nested_candidates,
    path_rules,
    workspace_path,
)
from robota.knowledge.instructions.paths import Candidate, InstructionPaths, InstructionScope
from robota.knowledge.prompt_elements import QUOTED, PromptElement, prompt_part
from robota.text.visible import single_line

FOLLOWED: Final = (
    "# Instructions\n\nThe user wants these files followed; they go from general to specific. A later file overrides "
    "an earlier one, and what the user says in the conversation overrides them all."
)


LEFT_OUT: Final = (
    "{referenced_by} refers to {path}, which is outside the project, so the model does not get it. "
    "To include it in its current state: robota trust --import {path}"
)


class SessionInstructions:
    """An `InstructionService`. Files are read once per mode, so that the prompt cache of the provider hits."""

    def __init__(
        self,
        places: InstructionPaths,
        workspace: Path,
        rules: ReadingRules,
        is_trusted: Callable[[], bool],
    ) -> None:
        """`is_trusted` tells whether the user trusts the files of the project."""
        self._places = places
        self._reading = rules
        self._is_trusted = is_trusted
        self._sections: dict[str, str] = {}
        self._workspace = workspace
        self._rules: dict[str, tuple[PathRule, ...]] = {}
        self._sent: dict[str, set[str]] = {}  # by task, the files that its model has
        self._warn: Callable[[str], None] = lambda _: None
        self._warned_of: set[str] = set()

    def on_undecided(self, warn: Callable[[str], None]) -> None:
        """Call `warn` once for each file that is left out until the user decides about it."""
        self._warn = warn

    def prompt_section(self, mode: str) -> str:
        if mode not in self._sections:
            instructions = self.load(mode)
            self._warn_of(instructions.undecided)
            self._sections[mode] = prompt_section(instructions, is_trusted=self._is_trusted())
        return self._sections[mode]

    def touched(self, task_id: str, mode: str, paths: Sequence[str]) -> str:
        if task_id not in self._sent:
            self._sent[task_id] = {file.path for file in self.load(mode).files}
        sent = self._sent[task_id]
        instructions = self.load_for(mode, paths)
        self._warn_of(instructions.undecided)
        files = tuple(file for file in instructions.files if file.path not in sent)
        sent.update(file.path for file in files)
        return prompt_section(Instructions(files=files), is_trusted=self._is_trusted())

    def load_for(self, mode: str, paths: Sequence[str]) -> Instructions:
        """The instructions that apply only when one of these files is touched."""
        touched = [workspace_path(self._workspace, path) for path in paths]
        rules = self._path_rules(mode)
        chosen = [
            *(rule.candidate for rule in rules if any(map(rule.matches, touched))),
            *(candidate for path in touched for candidate in self._nested(path, mode)),
        ]
        return load_candidates(self._places, dict.fromkeys(chosen), self._reading) if chosen else Instructions()

    def _warn_of(self, undecided: Iterable[UndecidedFile]) -> None:
        for file in undecided:
            if file.path not in self._warned_of:
                self._warned_of.add(file.path)
                self._warn(
                    LEFT_OUT.format(
                        path=single_line(file.path, 4096), referenced_by=single_line(file.referenced_by, 4096)
                    )
                )

    def _nested(self, file: Path, mode: str) -> Iterator[Candidate]:
        """Candidates in directories below the workspace, without rules that do not match the file."""
        others = {
            rule.candidate.path
            for rule in path_rules(self._places_between(file), mode, self._workspace)
            if not rule.matches(file)
        }
        for candidate in nested_candidates(self._workspace, file, mode):
            if candidate.path not in others:
                yield candidate

    def _places_between(self, file: Path) -> InstructionPaths:
        """The directories between the workspace and a file, after the top of the project, which bounds links."""
        project = (*self._places.project[:1], *directories_between(self._workspace, file))
        return InstructionPaths(home=self._places.home, project=project)

    def _path_rules(self, mode: str) -> tuple[PathRule, ...]:
        if mode not in self._rules:
            self._rules[mode] = tuple(path_rules(self._places, mode, self._workspace))
        return self._rules[mode]

    def load(self, mode: str) -> Instructions:
        """The current content of the files."""
        return load_instructions(self._places, mode, self._reading)


def prompt_section(instructions: Instructions, *, is_trusted: bool) -> str:
    """The section of the system prompt: trusted files to follow, others quoted as data; empty if there are none."""
    own = [file for file in instructions.files if is_trusted or file.scope is InstructionScope.USER]
    others = [file for file in instructions.files if file not in own]
    parts = (_files_part(FOLLOWED, INSTRUCTION_TAG, own), _files_part(QUOTED, QUOTED_TAG, others))
    return "\n\n".join(part for part in parts if part)


def _files_part(heading: str, tag: str, files: Iterable[InstructionFile]) -> str:
    return prompt_part(heading, tag, (PromptElement(file.path, file.text) for file in files))
