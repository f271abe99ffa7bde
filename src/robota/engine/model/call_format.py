"""How a model is told of its tools and how its calls are read: natively, or as XML in the text.

The same `ToolCall` comes out of both, and the history holds the same blocks; only what goes over the wire differs.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from robota.contracts.tool import ToolCall
from robota.engine.model.xml_calls import XmlCallParser, XmlPiece, XmlText
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
from robota.providers.chunks import CallArgumentsChunk, CallStartChunk, ToolSpec
from robota.text.surrogate_pairs import with_whole_characters

FIRST_ARGUMENT_LENGTH: Final = 200
ID_LENGTH: Final = 64
# Two such escapes are one character. One alone is nothing that could be a path, a command or text in a file.
HALF_CHARACTER: Final = re.compile(r"\\u[dD][89a-fA-F]")


class TextReader(Protocol):
    """Looks for calls in the text of one reply."""

    def feed(self, text: str) -> Sequence[XmlPiece]: ...

    def finish(self) -> Sequence[XmlPiece]: ...


class CallFormat(Protocol):
    def offered(self, specs: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
        """The tools named in the request itself."""
        ...

    def instructions(self, specs: tuple[ToolSpec, ...]) -> str:
        """What the system prompt must say of the tools."""
        ...

    def outgoing(self, turn: Turn) -> Turn:
        """A turn of the history as the model is shown it. Called once per turn."""
        ...

    def reader(self, specs: tuple[ToolSpec, ...], new_id: Iterator[str]) -> TextReader: ...


class NativeCallFormat:
    """Function calling: the provider does the work."""

    def offered(self, specs: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
        return specs

    def instructions(self, specs: tuple[ToolSpec, ...]) -> str:
        return ""

    def outgoing(self, turn: Turn) -> Turn:
        return turn

    def reader(self, specs: tuple[ToolSpec, ...], new_id: Iterator[str]) -> TextReader:
        return _PlainReader()


class _PlainReader:
    def feed(self, text: str) -> Sequence[XmlPiece]:
        return (XmlText(text),)

    def finish(self) -> Sequence[XmlPiece]:
        return ()


class FirstArgument:
    """Reads the value of the first argument out of JSON that is still being written.

    A person wants to see which file is about to be written long before its content is complete.
    """

    def __init__(self) -> None:
        self._seen = ""
        self._done = False

    def feed(self, json_text: str) -> str | None:
        """The value, once, as soon as it is known; None before and after."""
        if self._done:
            return None
        self._seen += json_text
        match = FIRST_VALUE.match(self._seen)
        if match is None:
            self._done = len(self._seen) > 4 * FIRST_ARGUMENT_LENGTH
            return None
        self._done = True
        try:
            value: Any = json.loads(match.group(1))
        except ValueError:
            return None
        return value if isinstance(value, str) else match.group(1)


# The first key, then a complete string, or a number or literal that something already follows.
FIRST_VALUE: Final = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*("(?:[^"\\]|\\.)*"|[^\s",\[\]{}]+(?=[\s,}]))')


class CallDraft:
    """One call that is being written."""

    def __init__(self, id: str, given_id: str, name: str) -> None:
        self.id = id
        self.given_id = given_id
        self.name = name
        self._pieces: list[str] = []
        self._first = FirstArgument()

    def feed(self, json_text: str) -> str | None:
        self._pieces.append(json_text)
        return self._first.feed(json_text)

    def finish(self) -> ToolCall:
        arguments, problem = self._arguments("".join(self._pieces))
        return ToolCall(id=self.id, given_id=self.given_id, name=self.name, input=arguments, problem=problem)

    def _arguments(self, text: str) -> tuple[dict[str, Any], str | None]:
        if not self.name:
            return {}, "The call names no tool."
        try:
            arguments: Any = json.loads(text) if text.strip() else {}
        except (ValueError, RecursionError) as error:
            return {}, f"The arguments are not valid JSON ({error}). They began: {text[:200]}"
        if not isinstance(arguments, dict):
            return {}, f"The arguments must be a JSON object, not {type(arguments).__name__}."
        if HALF_CHARACTER.search(text) and with_whole_characters(arguments) != arguments:
            return {}, "The arguments hold an escape that is half of a character. Write the whole character."
        return arguments, None


class CallAssembler:
    """Collects the calls of one reply. Pieces belong together by index; ids are made safe and unique."""

    def __init__(self, new_id: Iterator[str]) -> None:
        self._new_id = new_id
        self._drafts: dict[int, CallDraft] = {}
        self._ids: set[str] = set()

    def start(self, chunk: CallStartChunk) -> CallDraft:
        """Begin a call, or complete what is known of one: some servers repeat or delay id and name."""
        draft = self._drafts.get(chunk.index)
        if draft is None:
            draft = self._drafts[chunk.index] = CallDraft(self._unique(chunk.id), chunk.id, chunk.name)
        elif chunk.name and not draft.name:
            draft.name = chunk.name
        return draft

    def feed(self, chunk: CallArgumentsChunk) -> tuple[CallDraft, str | None]:
        draft = self._drafts.get(chunk.index)
        if draft is None:
            draft = self.start(CallStartChunk(index=chunk.index, id="", name=""))
        return draft, draft.feed(chunk.json)

    def _unique(self, id: str) -> str:
        clean = re.sub(r"[^A-Za-z0-9_-]", "_", id)[:ID_LENGTH]
        while not clean or clean in self._ids:
            clean = next(self._new_id)
        self._ids.add(clean)
        return clean


class XmlCallFormat:
    """The seed's XML form, for models that have no function calling."""

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

    def reader(self, specs: tuple[ToolSpec, ...], new_id: Iterator[str]) -> TextReader:
        return XmlCallParser({spec.name: spec.schema for spec in specs}, new_id)


XML_RULES = """# Tools

You call a tool by writing it as XML. The name of the tool is the outer tag, each parameter has a tag of its own:

<tool_name>
<parameter>value</parameter>
</tool_name>

Write values as they are, without escaping. The result comes back in the next message."""


def _described(spec: ToolSpec) -> str:
    properties: Mapping[str, Any] = spec.schema.get("properties", {})
    required = spec.schema.get("required", [])
    lines = [
        f"- {name} ({'required' if name in required else 'optional'}): {shape.get('description', '')}".rstrip(": ")
        for name, shape in properties.items()
    ]
    return "\n".join([f"## {spec.name}", spec.description, "Parameters:", *lines])


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
