"""The normal form of a call: our names and types, whatever form the model chose.

It is made once, where a call comes into being, before policy, hooks, the log or a client see it. So nothing can be
judged in one form and run in another.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from robota.contracts.tool import AnyTool, BadArguments, ToolCall
from robota.contracts.written_call import OtherForms, UnclearCall, WrittenCall, letters

# A conversion may lead to another tool, whose own forms then apply; the longest chain has two.
MAX_CONVERSIONS: Final = 4
# What some models write before the name of any tool.
NAMESPACES: Final = ("functions.", "default_api.", "tools.")
NO_OTHERS: Final = OtherForms()


class NormalForm:
    """Brings calls of these tools into their normal form."""

    def __init__(self, tools: Sequence[AnyTool]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._forms = {tool.name: NO_OTHERS if tool.other_forms is None else tool.other_forms() for tool in tools}
        self._names: dict[str, str] = {}
        for tool in self._tools.values():
            self._names.setdefault(letters(tool.name), tool.name)
        for tool in self._tools.values():
            for name in (*tool.aliases, tool.label, *self._forms[tool.name].names):
                self._names.setdefault(letters(name), tool.name)

    def of(self, call: ToolCall) -> ToolCall:
        """The call in its normal form. One that is unclear gets a `problem`; an unknown tool is left as it is."""
        if call.problem is not None:
            return call
        written = WrittenCall(tool=call.name, arguments=call.input, written_name=call.name)
        try:
            for _ in range(MAX_CONVERSIONS):
                before, written = written, self._converted(written)
                if (written.tool, written.arguments) == (before.tool, before.arguments):
                    break
        except UnclearCall as problem:
            return msgspec.structs.replace(call, name=self._id(call.name), problem=str(problem))
        tool = self._tools.get(written.tool)
        arguments = written.arguments if tool is None else _typed(tool, written.arguments)
        return msgspec.structs.replace(call, name=written.tool, input=arguments, assumed=written.assumed)

    def _id(self, name: str) -> str:
        if name in self._tools:
            return name
        own = next((name.removeprefix(each) for each in NAMESPACES if name.startswith(each)), name)
        return self._names.get(letters(own), name)

    def _converted(self, written: WrittenCall) -> WrittenCall:
        tool = self._tools.get(self._id(written.tool))
        if tool is None:
            return written
        forms = self._forms[tool.name]
        renamed = _renamed(written, tool, forms)
        return renamed if forms.convert is None else forms.convert(renamed)


def _renamed(written: WrittenCall, tool: AnyTool, forms: OtherForms) -> WrittenCall:
    """The call with our names for the tool and its parameters."""
    arguments: dict[str, Any] = {}
    notes = [f"{written.tool} → {tool.name}"] if tool.name != written.tool else []
    ours = {letters(theirs): our for theirs, our in forms.parameters.items()}
    ours |= {letters(name): name for name in tool.parameters}
    meaningless = {letters(each) for each in forms.meaningless}
    for theirs, value in written.arguments.items():
        our = theirs if theirs in tool.parameters else ours.get(letters(theirs), theirs)
        if our not in tool.parameters and letters(our) in meaningless:
            continue
        if our != theirs:
            if _is_said_twice(our, theirs, written.arguments, arguments):
                continue
            notes.append(f"{theirs} → {our}")
        arguments[our] = value
    return written.having(arguments, *notes, tool=tool.name)


def _is_said_twice(our: str, theirs: str, given: Mapping[str, Any], taken: Mapping[str, Any]) -> bool:
    """Whether the argument was also given under our name; raises `UnclearCall` if the values differ."""
    if our not in given and our not in taken:
        return False
    if given.get(our, taken.get(our)) != given[theirs]:
        raise UnclearCall(
            f"The call has both {our!r} and {theirs!r}, with different values. Nothing was run. Call it again with "
            f"{our!r} only."
        )
    return True


def _typed(tool: AnyTool, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the types that the tool declares: 5 for "5". They are left alone if they do not fit."""
    given = {name: value for name, value in arguments.items() if value is not None or name not in tool.optional}
    if tool.read is not None:
        return given
    try:
        declared = msgspec.to_builtins(tool.decode(given))
    except BadArguments:
        return given
    return {
        name: value if isinstance(value, list | dict) else declared.get(name, value) for name, value in given.items()
    }
