"""What the engine and the tools can ask about the code of a workspace."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    # Imported with the first question about code.
    from robota.workspace.code.answer import CodeAnswer, Findings
    from robota.workspace.code.edit_effect import EditEffect
    from robota.workspace.code.question import Question
    from robota.workspace.code.reading_code import Definitions
    from robota.workspace.code.repository_map import RepositoryMap
    from robota.workspace.code.symbol import Symbol


class CodeService(Protocol):
    """Answers questions about code. Paths are relative to the workspace."""

    async def outline(self, path: str) -> "tuple[Symbol, ...] | None":
        """The definitions of a file; None if no grammar reads it."""
        ...

    async def map(self, max_characters: int, below: str = "", focus: Collection[str] = ()) -> "RepositoryMap":
        """The most important files below a directory, and what they define."""
        ...

    async def definitions(self, name_path: str, path: str | None = None) -> "Definitions":
        """The definitions of a name or of the end of a name path; of similar names if there is none."""
        ...

    async def ask(self, question: "Question", symbol: str, path: str | None, line: int | None) -> "CodeAnswer":
        """Answer a question about a symbol, given by its name or name path and, if that is not enough, a place."""
        ...

    async def diagnostics(self, path: str) -> "Findings":
        """What is wrong with a file as it is on disk."""
        ...

    async def effect_of_edit(self, path: str, before: bytes | None, after: bytes) -> "EditEffect | None":
        """What an edit that is written changed about the diagnostics; None if no server runs that could say it."""
        ...


class CodeAccess(Protocol):
    """Makes the service with the first question about code."""

    def __call__(self) -> CodeService:
        """The service."""
        ...

    @property
    def asked(self) -> CodeService | None:
        """The service, if something was asked before."""
        ...

    async def close(self) -> None:
        """End what was started."""
        ...
