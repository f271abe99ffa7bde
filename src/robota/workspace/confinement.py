"""The proof that whatever a command does can be undone, which lets it run without approval.

`Confined` cannot be made without the facts: whatever is unknown or does not hold leads to `NotConfined`, with the
reason.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from robota.workspace.steering_files import Survey

BUBBLEWRAP: Final = "bubblewrap"


class ConfinementFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a command that is about to run. None means unknown.

    `sandbox` is the kind that confines it, or `why_no_sandbox` says why there is none. `checkpoint` is the one before
    it, `unsaved` what is in the workspace but not in that. `survey` is what other programs obey now. `notes_refs`: what
    it moves in git can be moved back, or there is no repository. `shows_kept_files`: git's data contains files that are
    kept from the model, which a command could read there.
    """

    sandbox: str | None = None
    why_no_sandbox: str = ""
    hides_home: bool | None = None
    has_machine_network: bool | None = None
    is_home: bool | None = None
    is_trusted: bool | None = None
    has_checkpoints: bool | None = None
    checkpoint: str | None = None
    unsaved: tuple[str, ...] | None = None
    survey: Survey | None = None
    notes_refs: bool | None = None
    shows_kept_files: bool | None = None
    max_growth_bytes: int | None = None


class NotConfined(msgspec.Struct, frozen=True):
    """Why a command needs approval, as a sentence."""

    reason: str


class Confined(msgspec.Struct, frozen=True):
    """A command that may run unasked, with the facts that prove it. Making one without them raises `ValueError`."""

    facts: ConfinementFacts

    def __post_init__(self) -> None:
        problem = problem_with(self.facts)
        if problem is not None:
            raise ValueError(problem)

    @property
    def survey(self) -> Survey:
        """What other programs obeyed before the command."""
        assert self.facts.survey is not None
        return self.facts.survey

    @property
    def checkpoint(self) -> str:
        """The checkpoint before the command."""
        return self.facts.checkpoint or ""

    @property
    def read_only(self) -> tuple[str, ...]:
        """The paths, relative to the workspace, that it must not change: what is not saved, and installed packages."""
        return tuple(dict.fromkeys((*(self.facts.unsaved or ()), *self.survey.packages)))


Confinement = Confined | NotConfined
_Check = tuple[str, Callable[[ConfinementFacts], bool]]

NO_SANDBOX: Final = "bubblewrap, which has to confine it, does not work here"
# What is the same for all commands of a session, and what has to be established for each of them.
OF_SESSION: Final[tuple[_Check, ...]] = (
    ("it is unknown whether the workspace is trusted", lambda facts: facts.is_trusted is not None),
    ("the workspace is not trusted", lambda facts: facts.is_trusted is True),
    ("the workspace is your home directory, or contains it", lambda facts: facts.is_home is False),
    (NO_SANDBOX, lambda facts: facts.sandbox == BUBBLEWRAP),
    ("your home directory is not hidden from commands", lambda facts: facts.hides_home is True),
    ("checkpoints are switched off, so it could not be undone", lambda facts: facts.has_checkpoints is True),
    ("commands have the network of this machine", lambda facts: facts.has_machine_network is False),
    ("the disk space that it uses is not limited", lambda facts: bool(facts.max_growth_bytes)),
)
OF_COMMAND: Final[tuple[_Check, ...]] = (
    ("no checkpoint could be saved before it", lambda facts: bool(facts.checkpoint)),
    ("it is unknown which ignored files are saved", lambda facts: facts.unsaved is not None),
    ("it is unknown what other programs obey in the workspace", lambda facts: facts.survey is not None),
    (
        "files that are kept from the model are also in git's data, where it could read them",
        lambda facts: facts.shows_kept_files is False,
    ),
    ("the branches of git could not be noted before it", lambda facts: facts.notes_refs is True),
)


def obstacle(facts: ConfinementFacts) -> str | None:
    """Why no command of the session can be confined, as words to follow a colon; None if nothing speaks against it."""
    problem = next((words for words, holds in OF_SESSION if not holds(facts)), None)
    if problem == NO_SANDBOX and facts.why_no_sandbox:
        return f"{NO_SANDBOX} ({facts.why_no_sandbox})"
    return problem


def problem_with(facts: ConfinementFacts) -> str | None:
    """The first condition that does not hold, as words to follow a colon; None if all hold."""
    problem = obstacle(facts) or next((words for words, holds in OF_COMMAND if not holds(facts)), None)
    if problem is None and facts.survey is not None and facts.survey.problem:
        return f"the workspace could not be searched: {facts.survey.problem}"
    return problem


def confinement(facts: ConfinementFacts) -> Confinement:
    """The proof, or what is missing for it."""
    problem = problem_with(facts)
    return Confined(facts) if problem is None else NotConfined(f"It cannot run unasked: {problem}.")
