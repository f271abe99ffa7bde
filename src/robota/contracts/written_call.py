"""How models that were trained on other agents write the calls of a tool."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec


class UnclearCall(Exception):
    """The call can mean several things. The text says which, for the model."""


class WrittenCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call on its way to its normal form. `written_name` is the tool's name as the model wrote it.

    `assumed` says in a few words what was changed, for the model.
    """

    tool: str
    arguments: dict[str, Any]
    written_name: str
    assumed: tuple[str, ...] = ()

    def having(self, arguments: dict[str, Any], *assumed: str, tool: str = "") -> "WrittenCall":
        """The call with other arguments, and what was assumed for them."""
        added = tuple(assumption for assumption in assumed if assumption not in self.assumed)
        tool, assumed = tool or self.tool, (*self.assumed, *added)
        return msgspec.structs.replace(self, tool=tool, arguments=arguments, assumed=assumed)


class OtherForms(msgspec.Struct, frozen=True, kw_only=True):
    """What other agents call a tool and its parameters.

    Letter case, `_` and `-` make no difference in any of these names. `meaningless` are parameters that change nothing
    here, such as a description of the call. `convert` is for what a new name alone does not express; it may lead to
    another tool, and raises `UnclearCall`. Its result is converted again until nothing changes. `converted` are
    parameters that only it knows.
    """

    names: tuple[str, ...] = ()
    parameters: Mapping[str, str] = {}
    meaningless: tuple[str, ...] = ()
    convert: Callable[[WrittenCall], WrittenCall] | None = None
    converted: tuple[str, ...] = ()


def letters(name: str) -> str:
    """A name without case and separators: `startLine`, `start-line` and `start_line` are equal."""
    return name.lower().replace("_", "").replace("-", "")
