"""Tool calls written as XML in the text, for models without function calling, read as they stream in.

    <read_file>
    <path>src/a.py</path>
    </read_file>

A value may hold anything, also something that looks like a tag: it ends only at its own closing tag when
what follows is another parameter of the tool or the end of the call.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from robota.contracts.tool import ToolCall
from robota.engine.model.reply import ArgumentPiece, CallClosedPiece, CallOpenedPiece, ReplyPiece, TextPiece
from robota.protocol.conversation import (
    AssistantTurn,
    Block,
    ImageBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    Turn,
    UserBlock,
    UserTurn,
)
from robota.providers.chunks import ToolSpec
from robota.text.surrogate_pairs import with_whole_characters

XML_RULES: Final = """# Tools

You call a tool by writing it as XML. The name of the tool is the outer tag, each parameter has a tag of its own:

<tool_name>
<parameter>value</parameter>
</tool_name>

Write values as they are, without escaping. The result comes back in the next message."""


# Values in which blanks at the beginning and the end mean something.
EXACT_VALUES: Final = frozenset(
    {"content", "old_string", "new_string", "diff", "patch", "regex", "input", "text", "data"}
)
WRAPPER: Final = re.compile(r"<([A-Za-z_][\w-]{0,40})>")
PART_OF_A_TAG: Final = re.compile(r"<[\w-]{0,41}")


# What a parser step returns when it cannot go on without more text.
WAIT: Final = None


class XmlCallParser:
    """Feed text, get pieces. Text is held back only while it may still turn out to be a tag."""

    def __init__(self, tools: Mapping[str, Mapping[str, Any]], new_id: Iterator[str]) -> None:
        """`tools` maps a name to the JSON Schema of its parameters."""
        self._tools = tools
        self._new_id = new_id
        self._openings = {f"<{name}>": name for name in tools}
        self._buffer = ""
        self._call: _Draft | None = None

    def feed(self, text: str) -> list[ReplyPiece]:
        self._buffer += text
        return self._drain(final=False)

    def finish(self) -> list[ReplyPiece]:
        """No more text will come. A call that is not closed is reported with a problem and never run."""
        pieces = self._drain(final=True)
        if self._call is not None:
            draft, self._call = self._call, None
            problem = f"The call was cut off before </{draft.name}>; write the whole call again."
            pieces.append(CallClosedPiece(ToolCall(id=draft.id, name=draft.name, input={}, problem=problem)))
        elif self._buffer:
            pieces.append(TextPiece(self._buffer))
        self._buffer = ""
        return pieces

    def _drain(self, *, final: bool) -> list[ReplyPiece]:
        pieces: list[ReplyPiece] = []
        while (step := self._step(final=final)) is not WAIT:
            pieces.extend(step)
        return pieces

    def _step(self, *, final: bool) -> list[ReplyPiece] | None:
        if self._call is None:
            return self._outside()
        if self._call.parameter is None:
            return self._between(self._call)
        return self._inside(self._call, self._call.parameter, final=final)

    def _outside(self) -> list[ReplyPiece] | None:
        """In plain text: pass it on up to the next `<` that may open a call."""
        start = self._buffer.find("<")
        if start != 0:
            text = self._buffer if start < 0 else self._buffer[:start]
            self._buffer = self._buffer[len(text) :]
            return [TextPiece(text)] if text else WAIT
        for opening, name in self._openings.items():
            if self._buffer.startswith(opening):
                self._buffer = self._buffer[len(opening) :]
                self._call = _Draft(next(self._new_id), name, frozenset(self._tools[name].get("properties", {})))
                return [CallOpenedPiece(self._call.id, name)]
        if any(opening.startswith(self._buffer) for opening in self._openings):
            return WAIT
        self._buffer = self._buffer[1:]
        return [TextPiece("<")]

    def _between(self, draft: "_Draft") -> list[ReplyPiece] | None:
        """In a call but in no parameter: only an opening or the end of the call means anything."""
        rest = self._buffer.lstrip()
        closing = f"</{draft.name}>"
        if rest.startswith(closing):
            self._buffer = rest[len(closing) :]
            self._call = None
            return [CallClosedPiece(self._finished(draft))]
        for name in draft.parameters:
            if rest.startswith(f"<{name}>"):
                self._buffer = rest[len(name) + 2 :]
                draft.parameter = name
                return []
        expected = [closing, *(f"<{name}>" for name in draft.parameters)]
        if any(tag.startswith(rest) for tag in expected):
            return WAIT
        # Something that belongs to no parameter: skip to the next tag, the call is judged by what it holds.
        following = rest.find("<", 1)
        tag = WRAPPER.match(rest)
        if tag is not None:
            draft.wrappers.add(tag[1])
        elif following < 0 and PART_OF_A_TAG.fullmatch(rest):
            self._buffer = rest
            return WAIT
        self._buffer = rest[following:] if following > 0 else ""
        return [] if following > 0 else WAIT

    def _inside(self, draft: "_Draft", parameter: str, *, final: bool) -> list[ReplyPiece] | None:
        closing = f"</{parameter}>"
        end = self._buffer.find(closing, draft.searched)
        while end >= 0:
            verdict = self._ends_value(draft, self._buffer[end + len(closing) :].lstrip(), final=final)
            if verdict is None:
                draft.searched = end
                return WAIT
            if verdict:
                value = self._buffer[:end]
                self._buffer = self._buffer[end + len(closing) :]
                draft.take(parameter, value.removeprefix("\n").removesuffix("\n"))
                draft.parameter, draft.searched = None, 0
                return [ArgumentPiece(draft.id, draft.name, draft.values[parameter])]
            end = self._buffer.find(closing, end + 1)
        draft.searched = max(0, len(self._buffer) - len(closing))
        return WAIT

    def _ends_value(self, draft: "_Draft", rest: str, *, final: bool) -> bool | None:
        """Whether a closing tag is the real one, by what follows it; None if that is not known yet."""
        followers = [f"</{draft.name}>", *(f"<{name}>" for name in draft.parameters - draft.values.keys())]
        followers += [f"</{name}>" for name in draft.wrappers]
        if any(rest.startswith(tag) for tag in followers):
            return True
        if any(tag.startswith(rest) for tag in followers):
            return None if not final else False
        return False

    def _finished(self, draft: "_Draft") -> ToolCall:
        properties: Mapping[str, Any] = self._tools[draft.name].get("properties", {})
        arguments = {name: _typed(value, properties.get(name, {})) for name, value in draft.values.items()}
        return ToolCall(id=draft.id, name=draft.name, input=arguments, problem=draft.problem)


class _Draft:
    """The call being read; `searched` remembers how far its value was looked through."""

    def __init__(self, id: str, name: str, parameters: frozenset[str]) -> None:
        self.id = id
        self.name = name
        self.parameters = parameters
        self.parameter: str | None = None
        self.values: dict[str, str] = {}
        self.searched = 0
        # Older forms put the parameters into tags such as <args><file>.
        self.wrappers: set[str] = set()
        self.problem: str | None = None

    def take(self, parameter: str, value: str) -> None:
        """A value is complete. Blanks around one that stands alone on its line are the model's layout."""
        if parameter in self.values:
            self.problem = f"The call gives <{parameter}> twice. Nothing was run. Make a call of its own for each."
        is_layout = parameter not in EXACT_VALUES and "\n" not in value.strip()
        self.values[parameter] = value.strip() if is_layout else value


def _typed(value: str, schema: Mapping[str, Any]) -> Any:
    """Text stays text; where the schema wants a structure, the text is its JSON. Numbers are read when validated."""
    if _accepts(schema, "string"):
        return value
    try:
        return with_whole_characters(json.loads(value))
    except (ValueError, RecursionError):
        return value


def _accepts(schema: Mapping[str, Any], kind: str) -> bool:
    if "anyOf" in schema:
        return any(_accepts(part, kind) for part in schema["anyOf"])
    return bool(schema.get("type", kind) == kind)


class XmlCallFormat:
    """Calls as XML in the text, for models that have no function calling."""

    def offered(self, specs: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
        return ()

    def instructions(self, specs: tuple[ToolSpec, ...]) -> str:
        return "\n\n".join([XML_RULES, *(_described(spec) for spec in specs)])

    def outgoing(self, turn: Turn) -> Turn:
        if isinstance(turn, AssistantTurn):
            return msgspec.structs.replace(turn, content=(TextBlock(text=_written(turn.content)),))
        names: list[UserBlock] = []
        for block in turn.content:
            names.extend(_told(block) if isinstance(block, ToolResultBlock) else (block,))
        return UserTurn(content=tuple(names))

    def reader(self, specs: tuple[ToolSpec, ...], new_id: Iterator[str]) -> XmlCallParser:
        return XmlCallParser({spec.name: spec.schema for spec in specs}, new_id)


def _described(spec: ToolSpec) -> str:
    properties: Mapping[str, Any] = spec.schema.get("properties", {})
    required = spec.schema.get("required", [])
    lines = [
        f"- {name} ({'required' if name in required else 'optional'}{_form(shape)}): {shape.get('description', '')}"
        for name, shape in properties.items()
    ]
    return "\n".join([f"## {spec.name}", spec.description, "Parameters:", *lines])


def _form(shape: Mapping[str, Any]) -> str:
    """How a value is written that is not plain text: one of several words, or JSON."""
    if "enum" in shape:
        return f", one of {', '.join(map(str, shape['enum']))}"
    if shape.get("type") in ("array", "object"):
        return f", as JSON: {msgspec.json.encode(_example(shape)).decode()}"
    return ""


def _example(shape: Mapping[str, Any]) -> Any:
    match shape.get("type"):
        case "array":
            return [_example(shape.get("items", {}))]
        case "object":
            return {name: _example(each) for name, each in shape.get("properties", {}).items()}
        case "integer" | "number":
            return 1
        case "boolean":
            return True
        case _:
            return "text"


def _written(content: Sequence[Block]) -> str:
    """An assistant turn as the model wrote it, calls in their XML form."""
    parts: list[str] = []
    for block in content:
        if isinstance(block, TextBlock):
            parts.append(block.text)
        elif isinstance(block, ToolUseBlock):
            values = "\n".join(f"<{name}>{_plain(value)}</{name}>" for name, value in block.input.items())
            parts.append(f"<{block.name}>\n{values}\n</{block.name}>")
    return "\n".join(parts)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _told(result: ToolResultBlock) -> tuple[UserBlock, ...]:
    status = "Error" if result.is_error else "Result"
    text = TextBlock(text=f"[{status} of call {result.tool_use_id}]\n{result.content}")
    return (text, *(ImageBlock(source=image) for image in result.images))
