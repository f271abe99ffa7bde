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

from robota.contracts.tool import AnyTool, ToolCall
from robota.contracts.written_call import OtherForms, letters
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
from robota.text.visible import with_whole_characters

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
TAG: Final = re.compile(r"<([A-Za-z_][\w.-]{0,40})>")
# The schema of a parameter that only other agents have.
UNDECLARED: Final[Mapping[str, Any]] = {}
PART_OF_A_TAG: Final = re.compile(r"<[\w.-]{0,41}")


class XmlTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as it can be called in XML.

    `names` and `tags` are what models call it and its parameters, by `letters`; the latter map to our names.
    """

    schema: Mapping[str, Any]
    names: frozenset[str] = frozenset()
    tags: Mapping[str, str] = {}

    def parameter(self, tag: str) -> str | None:
        """Our name of the parameter with this tag; None if there is none."""
        properties: Mapping[str, Any] = self.schema.get("properties", {})
        return tag if tag in properties else self.tags.get(letters(tag))

    def is_wrapper(self, tag: str, following: str) -> bool | None:
        """Whether the tag only holds the tag of the same parameter, as in <file><path>; None if that is not known yet.

        Our own name of a parameter never does: what follows it is the value.
        """
        if tag in self.schema.get("properties", {}) or self.parameter(tag) is None:
            return False
        inner = TAG.match(following)
        if inner is None:
            return None if not following or PART_OF_A_TAG.fullmatch(following) else False
        return self.parameter(inner[1]) == self.parameter(tag)


# Returned by a parser step that needs more text to continue.
WAIT: Final = None


class XmlCallParser:
    """Feed text, get pieces. Text is held back only while it may still turn out to be a tag."""

    def __init__(self, tools: Mapping[str, XmlTool], new_id: Iterator[str]) -> None:
        """`tools` are those that the model knows, by name."""
        self._tools = tools
        self._new_id = new_id
        self._other_names = {other: name for name, tool in tools.items() for other in tool.names}
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
            problem = f"The call was cut off before </{draft.name}>. Nothing was run. Write the whole call again."
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
        tag = TAG.match(self._buffer)
        if tag is None:
            return WAIT if PART_OF_A_TAG.fullmatch(self._buffer) else self._no_call()
        name = tag[1] if tag[1] in self._tools else self._other_names.get(letters(tag[1]))
        if name is None:
            return self._no_call()
        rest = self._buffer[tag.end() :].lstrip()
        if name != tag[1] and not self._begins_with_parameter(rest, self._tools[name]):
            # Names of other agents' tools are words that occur in any text, such as <view>.
            return WAIT if not rest or PART_OF_A_TAG.fullmatch(rest) else self._no_call()
        self._buffer = self._buffer[tag.end() :]
        self._call = _Draft(next(self._new_id), tag[1], self._tools[name])
        return [CallOpenedPiece(self._call.id, name)]

    def _no_call(self) -> list[ReplyPiece]:
        self._buffer = self._buffer[1:]
        return [TextPiece("<")]

    def _begins_with_parameter(self, text: str, tool: XmlTool) -> bool:
        tag = TAG.match(text)
        return tag is not None and tool.parameter(tag[1]) is not None

    def _between(self, draft: "_Draft") -> list[ReplyPiece] | None:
        """In a call but in no parameter: only an opening or the end of the call means anything."""
        rest = self._buffer.lstrip()
        closing = f"</{draft.name}>"
        if rest.startswith(closing):
            self._buffer = rest[len(closing) :]
            self._call = None
            return [CallClosedPiece(self._finished(draft))]
        tag = TAG.match(rest)
        is_wrapper = False if tag is None else draft.tool.is_wrapper(tag[1], rest[tag.end() :].lstrip())
        if is_wrapper is None:
            self._buffer = rest
            return WAIT
        if tag is not None and not is_wrapper and draft.tool.parameter(tag[1]) is not None:
            self._buffer = rest[tag.end() :]
            draft.parameter = tag[1]
            return []
        if closing.startswith(rest) or PART_OF_A_TAG.fullmatch(rest):
            self._buffer = rest
            return WAIT
        # Something that belongs to no parameter: skip to the next tag, the call is judged by what it holds.
        if tag is not None:
            draft.wrappers.add(tag[1])
        following = rest.find("<", 1)
        self._buffer = rest[following:] if following > 0 else ""
        return [] if following > 0 else WAIT

    def _inside(self, draft: "_Draft", parameter: str, *, final: bool) -> list[ReplyPiece] | None:
        closing = f"</{parameter}>"
        end = self._buffer.find(closing, draft.searched)
        while end >= 0:
            following = self._buffer[end + len(closing) :].lstrip()
            is_path = draft.tool.parameter(parameter) == "path"
            verdict = self._ends_value(draft, following, is_path=is_path, final=final)
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

    def _ends_value(self, draft: "_Draft", rest: str, *, is_path: bool, final: bool) -> bool | None:
        """Whether a closing tag is the real one, by what follows it; None if that is not known yet."""
        closings = [f"</{draft.name}>", *(f"</{name}>" for name in draft.wrappers)]
        tag = TAG.match(rest)
        if any(rest.startswith(closing) for closing in closings) or (tag is not None and draft.lacks(tag[1])):
            return True
        if tag is not None and is_path:
            return True  # a parameter of another agent, such as <line_range>
        if any(closing.startswith(rest) for closing in closings) or PART_OF_A_TAG.fullmatch(rest):
            return None if not final else False
        return False

    def _finished(self, draft: "_Draft") -> ToolCall:
        properties: Mapping[str, Any] = draft.tool.schema.get("properties", {})
        arguments = {name: _typed(value, properties.get(name, UNDECLARED)) for name, value in draft.values.items()}
        return ToolCall(id=draft.id, name=draft.name, input=arguments, problem=draft.problem)


class _Draft:
    """The call being read, as the model wrote it; `searched` remembers how far its value was looked through."""

    def __init__(self, id: str, name: str, tool: XmlTool) -> None:
        self.id = id
        self.name = name
        self.tool = tool
        self.parameter: str | None = None
        self.values: dict[str, str] = {}
        self.searched = 0
        # Older forms put the parameters into tags such as <args><file>.
        self.wrappers: set[str] = set()
        self.problem: str | None = None

    def lacks(self, tag: str) -> bool:
        """Whether the tag begins a parameter that was not given yet, nor is being given, under any name."""
        own = self.tool.parameter(tag)
        given = {self.tool.parameter(name) for name in (*self.values, self.parameter or "")}
        return own is not None and own not in given

    def take(self, parameter: str, value: str) -> None:
        """A value is complete. Blanks around a value that is alone on its line are only layout."""
        if parameter in self.values:
            self.problem = f"The call gives <{parameter}> twice. Nothing was run. Make a call of its own for each."
        is_layout = self.tool.parameter(parameter) not in EXACT_VALUES and "\n" not in value.strip()
        self.values[parameter] = value.strip() if is_layout else value


def _typed(value: str, schema: Mapping[str, Any]) -> Any:
    """Text stays text; where the schema wants a structure, the text is its JSON. Numbers are read when validated."""
    if _accepts(schema, "string") and not (schema is UNDECLARED and value.lstrip().startswith(("[", "{"))):
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
            names.extend(_result_blocks(block) if isinstance(block, ToolResultBlock) else (block,))
        return UserTurn(content=tuple(names))

    def reader(
        self, specs: tuple[ToolSpec, ...], new_id: Iterator[str], tools: Sequence[AnyTool] = ()
    ) -> XmlCallParser:
        by_name = {tool.name: tool for tool in tools}
        return XmlCallParser({spec.name: _xml_tool(spec, by_name.get(spec.name)) for spec in specs}, new_id)


def _xml_tool(spec: ToolSpec, tool: AnyTool | None) -> XmlTool:
    """The tool with everything that models of other agents call it and its parameters."""
    if tool is None:
        return XmlTool(schema=spec.schema)
    forms = OtherForms() if tool.other_forms is None else tool.other_forms()
    tags = {letters(name): name for name in (*forms.converted, *forms.meaningless)}
    tags |= {letters(theirs): our for theirs, our in forms.parameters.items()}
    tags |= {letters(name): name for name in tool.parameters}
    names = frozenset(map(letters, (tool.name, *tool.aliases, tool.label, *forms.names)))
    return XmlTool(schema=spec.schema, names=names, tags=tags)


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


def _result_blocks(result: ToolResultBlock) -> tuple[UserBlock, ...]:
    status = "Error" if result.is_error else "Result"
    text = TextBlock(text=f"[{status} of call {result.tool_use_id}]\n{result.content}")
    return (text, *(ImageBlock(source=image) for image in result.images))
