"""Transcripts of Claude Code: `~/.claude/projects/<directory>/<session>.jsonl`."""

from typing import Any, Final

from robota.log.transfer.foreign.lines import ForeignLines, object_in, text_in, time_ms
from robota.log.transfer.foreign.writing import ForeignWriter, arguments_of, blocks_of, image_of
from robota.protocol.conversation import ImageBlock, ToolResultBlock, ToolUseBlock

SOURCE: Final = "claude-code"
SPEAKERS: Final = frozenset({"user", "assistant"})


def is_claude_code(first: dict[str, Any]) -> bool:
    """Whether an object near the beginning of a file is a line of such a transcript."""
    has_session = isinstance(first.get("sessionId"), str) or isinstance(first.get("leafUuid"), str)
    return has_session and isinstance(first.get("type"), str)


def read_claude_code(lines: ForeignLines, writer: ForeignWriter) -> None:
    """Import the conversation. Lines of unknown kinds are skipped."""
    reading = _Reading(writer)
    for line in lines:
        if line.get("type") in SPEAKERS:
            reading.take(line)
    reading.finish()


class _Reading:
    """Assembles replies, which consist of several lines with the same id."""

    def __init__(self, writer: ForeignWriter) -> None:
        self._writer = writer
        self._has_begun = False
        self._reply_id = ""
        self._is_side = False
        self._text: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[ToolUseBlock] = []

    def take(self, line: dict[str, Any]) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._writer.begin(text_in(line, "sessionId"), text_in(line, "cwd"), time_ms(line))
        is_side = line.get("isSidechain") is True
        message = object_in(line, "message")
        reply_id = text_in(message, "id") or text_in(line, "uuid")
        if line["type"] == "user" or reply_id != self._reply_id or is_side != self._is_side:
            self._flush()
        self._writer.at(time_ms(line))
        self._is_side = is_side
        if line["type"] == "user":
            self._user(line, message, is_side)
        elif line.get("isApiErrorMessage") is True:
            self._writer.error("\n".join(_texts(blocks_of(message.get("content")))))
        else:
            self._reply_id = reply_id
            self._assistant(message)

    def finish(self) -> None:
        """Write what is pending at the end of the file."""
        self._flush()
        if self._has_begun:
            self._writer.end()

    def _user(self, line: dict[str, Any], message: dict[str, Any], is_side: bool) -> None:
        blocks = blocks_of(message.get("content"))
        text = "\n".join(_texts(blocks))
        if line.get("isCompactSummary") is True:
            self._writer.condensed(text)
            return
        results = tuple(_result(block) for block in blocks if block.get("type") == "tool_result")
        self._writer.results(results, is_side=is_side)
        if line.get("isMeta") is True:
            return
        if is_side:
            if text:
                self._writer.side_prompt(text)
            return
        sources = [image_of(object_in(block, "source")) for block in blocks if block.get("type") == "image"]
        self._writer.prompt(text, tuple(ImageBlock(source=source) for source in sources if source is not None))

    def _assistant(self, message: dict[str, Any]) -> None:
        if model := text_in(message, "model"):
            self._writer.model = model
        for block in blocks_of(message.get("content")):
            match block.get("type"):
                case "text":
                    self._text.append(text_in(block, "text"))
                case "thinking":
                    self._thoughts.append(text_in(block, "thinking"))
                case "tool_use":
                    call_id, name = text_in(block, "id"), text_in(block, "name")
                    self._calls.append(ToolUseBlock(id=call_id, name=name, input=arguments_of(block.get("input"))))
                case _:
                    pass

    def _flush(self) -> None:
        if self._text or self._thoughts or self._calls:
            text, thoughts = "\n\n".join(filter(None, self._text)), "\n\n".join(filter(None, self._thoughts))
            self._writer.reply(text, thoughts, tuple(self._calls), is_side=self._is_side)
        self._reply_id, self._text, self._thoughts, self._calls = "", [], [], []


def _result(block: dict[str, Any]) -> ToolResultBlock:
    parts = blocks_of(block.get("content"))
    images = (image_of(object_in(part, "source")) for part in parts if part.get("type") == "image")
    return ToolResultBlock(
        tool_use_id=text_in(block, "tool_use_id"),
        content="\n".join(_texts(parts)),
        is_error=block.get("is_error") is True,
        images=tuple(image for image in images if image is not None),
    )


def _texts(blocks: list[dict[str, Any]]) -> list[str]:
    return [text for block in blocks if block.get("type") == "text" and (text := text_in(block, "text"))]
