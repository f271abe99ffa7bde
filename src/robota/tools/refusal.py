"""Problems of the workspace become tool errors that the model can read and act on."""

from collections.abc import Iterator
from contextlib import contextmanager

from robota.contracts.tool import ToolError
from robota.workspace.problems import CommandNotStarted, FileProblem


@contextmanager
def problems_told_to_model() -> Iterator[None]:
    try:
        yield
    except (FileProblem, CommandNotStarted) as problem:
        raise ToolError(str(problem)) from problem
