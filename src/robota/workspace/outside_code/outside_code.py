"""The programs of a session that run outside the sandbox, and the files of the workspace that they run.

The user agrees to the content of these files: when they trust the workspace, or when a program first appears. Before
every start the files are compared with that; a program whose files changed since then does not run.
"""

import hashlib
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.config.errors import ConfigError
from robota.config.paths import user_directory
from robota.config.trust.linked_worktree import same_place_in_main
from robota.config.trust.lock_file import (
    Agreement,
    AgreementKind,
    ChangedPart,
    Part,
    agree,
    agreements,
    changed_parts,
    digest_of_parts,
)
from robota.workspace.outside_code.code_parts import TooManyFiles, code_parts
from robota.workspace.outside_code.code_search import CodeFiles, NamedProgram, find_code

MAX_NAMED: Final = 3
PYCACHE: Final = "cache/pycache"


class CodeRefused(Exception):
    """The program was not started. The message, which continues its name, says why and what to do."""


class VerifiedCode(msgspec.Struct, frozen=True, kw_only=True):
    """`files` of the workspace that may run unchanged; `variables` keep Python from loading others.

    `limit` says why there may be more that was not compared.
    """

    files: frozenset[Path] = frozenset()
    variables: Mapping[str, str] = {}
    limit: str = ""


class ChangedProgram(msgspec.Struct, frozen=True, kw_only=True):
    """A program whose files differ from what the user agreed to."""

    program: NamedProgram
    changes: tuple[ChangedPart, ...]
    parts: tuple[Part, ...]


class OutsideCode:
    """The programs of one session. Without trust in the workspace, no program runs anything from it.

    In a session that nobody attends, only programs that can be protected run.
    """

    def __init__(
        self, root: Path, env: Mapping[str, str], *, is_trusted: bool, attended: bool, saves_new: bool = True
    ) -> None:
        """Without `saves_new`, programs that are new here are compared as long as this object lives, but not saved."""
        self.root = root
        self._env = env
        self._is_trusted = is_trusted
        self._attended = attended
        self._saves_new = saves_new
        self._programs: list[NamedProgram] = []
        self._own_directory = str((same_place_in_main(root) or root).resolve())
        self._kept: dict[str, Mapping[str, str]] = {}  # agreements that could not be saved
        self._protected: tuple[Path, ...] | None = None

    def add(self, program: NamedProgram) -> None:
        """Add a program, before the session begins."""
        self._programs.append(program)

    def protected(self) -> tuple[Path, ...]:
        """The paths that must neither change nor appear, as found when they are first needed."""
        if self._protected is None:
            paths = (path for program in self._programs for path in self._find(program).protected_paths)
            self._protected = tuple(dict.fromkeys(paths))
        return self._protected

    def begin(self) -> tuple[str, ...]:
        """Agree to programs that are new here, before the agent can change anything. Returns notices for the user."""
        notices: list[str] = []
        for program in self._programs:
            try:
                verified = self.verify(program)
            except CodeRefused as problem:
                notices.append(f"The {program.label} does not run: {problem}.")
                continue
            if verified.limit:
                notices.append(
                    f"The {program.label} is not protected, because {verified.limit}: the agent can change what it "
                    "runs outside the sandbox."
                )
        return tuple(notices)

    def verify(self, program: NamedProgram) -> VerifiedCode:
        """Compare what a program would run with what the user agreed to. Raises `CodeRefused`."""
        code = self._find(program)
        parts: tuple[Part, ...] = ()
        try:
            parts = code_parts(code, self.root)
        except TooManyFiles as problem:
            code = msgspec.structs.replace(code, unbounded=str(problem))
        if (parts or code.unbounded) and not self._is_trusted:
            raise CodeRefused(_foreign(code))
        if code.unbounded and not self._attended:
            raise CodeRefused(
                f"what it runs of the workspace cannot be protected, because {code.unbounded}, and nobody attends "
                "this session"
            )
        self._require_agreed(program, parts)
        return VerifiedCode(files=code.verified, variables=self._variables(code), limit=code.unbounded)

    def changed(self) -> tuple[ChangedProgram, ...]:
        """The programs whose files differ from what the user agreed to, with the differences."""
        changed: list[ChangedProgram] = []
        for program in self._programs:
            parts = self._parts_of_program(program)
            before = self._agreed(program)
            if before is not None and before != _digests(parts):
                changes = tuple(changed_parts(before, parts, self._env))
                changed.append(ChangedProgram(program=program, changes=changes, parts=parts))
        return tuple(changed)

    def wanted(self) -> tuple[str, ...]:
        """What the programs would run of the workspace: names of files, or which program runs code from all over it."""
        names: dict[str, None] = {}
        for program in self._programs:
            code = self._find(program)
            if code.unbounded:
                names[f"whatever the {program.label} finds, because {code.unbounded}"] = None
            names.update(dict.fromkeys(part.name for part in self._parts_of_program(program)))
        return tuple(names)

    def agree_to_all(self) -> tuple[str, ...]:
        """Agree to all programs as they are now; returns the names of their files. Raises `ConfigError`."""
        names: dict[str, None] = {}
        for program in self._programs:
            parts = self._parts_of_program(program)
            self.agree(program, parts)
            names.update(dict.fromkeys(part.name for part in parts))
        return tuple(names)

    def agree(self, program: NamedProgram, parts: tuple[Part, ...]) -> None:
        """Save that the user agrees to these files for this program. Raises `ConfigError`."""
        agreement = Agreement(said="yes", digest=digest_of_parts(parts), given_ms=_now_ms(), parts=_digests(parts))
        try:
            agree(AgreementKind.PROGRAM, self._key(program), agreement, parts, self._env)
        except OSError as error:
            raise ConfigError(f"What {program.label} runs cannot be saved: {error}.") from error

    def _find(self, program: NamedProgram) -> CodeFiles:
        # Not needed in a session without such programs.
        from robota.workspace.outside_code.git_programs import with_git_programs
        from robota.workspace.outside_code.version_files import with_version_files

        code = with_version_files(find_code(program, self.root), program.cwd, self.root)
        return with_git_programs(code, program, self.root, self._env)

    def _parts_of_program(self, program: NamedProgram) -> tuple[Part, ...]:
        try:
            return code_parts(self._find(program), self.root)
        except TooManyFiles:
            return ()

    def _require_agreed(self, program: NamedProgram, parts: tuple[Part, ...]) -> None:
        try:
            before = self._agreed(program)
        except CodeRefused:
            if parts:
                raise
            return  # it runs nothing of the workspace
        if before is None:
            self._agree_to_new(program, parts)
        elif before != _digests(parts):
            names = [change.name for change in changed_parts(before, parts, self._env)]
            more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
            raise CodeRefused(
                f"{', '.join(names[:MAX_NAMED])}{more} changed since you agreed to run it outside the sandbox. "
                "To see what changed, and to accept it: robota trust"
            )

    def _agree_to_new(self, program: NamedProgram, parts: tuple[Part, ...]) -> None:
        self._kept[self._key(program)] = _digests(parts)
        if self._saves_new:
            with suppress(ConfigError):
                self.agree(program, parts)

    def _agreed(self, program: NamedProgram) -> Mapping[str, str] | None:
        key = self._key(program)
        try:
            agreement = agreements(AgreementKind.PROGRAM, self._env).get(key)
        except ConfigError as problem:
            raise CodeRefused(str(problem).rstrip(".")) from problem
        return self._kept.get(key) if agreement is None else agreement.parts

    def _key(self, program: NamedProgram) -> str:
        """The key in the lock file: for people who read it, and a hash that identifies the command."""
        relative = [word.replace(str(self.root), ".") for word in program.argv]
        identity = msgspec.json.encode([self._own_directory, program.label, relative])
        return f"{program.label} in {self._own_directory} as {hashlib.sha256(identity).hexdigest()}"

    def _variables(self, code: CodeFiles) -> dict[str, str]:
        # Compiled files next to the sources could be planted: Python trusts them if they name the time of the source.
        own = {"PYTHONPYCACHEPREFIX": str(user_directory(self._env) / PYCACHE)}
        return {**own, "PYTHONSAFEPATH": "1"} if code.starts_python_modules else own


def _foreign(code: CodeFiles) -> str:
    if code.named_by_git:
        return (
            f"it may start git, which may run programs of this repository ({code.named_by_git}), and the workspace is "
            "not trusted. To decide: robota trust"
        )
    return "it runs files of the workspace, which is not trusted. To decide: robota trust"


def _digests(parts: tuple[Part, ...]) -> dict[str, str]:
    return {part.name: part.digest for part in parts}


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
