"""How a model is told of its tools and how its calls are read: natively, or as XML in the text.

The same `ToolCall` comes out of both, and the history holds the same blocks; only what goes over the wire differs.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

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
from robota.providers.chunks import ToolSpec


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
