"""Rollouts of Codex: `~/.codex/sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl`, old and new."""

import re
from contextlib import suppress
from typing import Any, Final

import msgspec

from robota.log.transfer.foreign.lines import ForeignLines, object_in, text_in, time_ms
from robota.log.transfer.foreign.writing import ForeignWriter, arguments_of, blocks_of
from robota.protocol.conversation import ImageBlock, ImageSource, ToolResultBlock, ToolUseBlock

SOURCE: Final = "codex"
ITEMS: Final = frozenset(
    {
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "local_shell_call",
    }
)
CALLS: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
OUTPUTS: Final = frozenset({"function_call_output", "custom_tool_call_output"})
# Texts that Codex itself adds to the conversation as user messages.
INJECTED: Final = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<permissions ")
DATA_URL: Final = re.compile(r"data:(image/[\w.+-]+);base64,(.*)", re.DOTALL)


def is_codex(first: dict[str, Any]) -> bool:
    """Whether an object near the beginning of a file is a line of such a rollout."""
    if isinstance(first.get("payload"), dict):
        return first.get("type") in {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
    return isinstance(first.get("id"), str) and "instructions" in first and isinstance(first.get("timestamp"), str)


def read_codex(lines: ForeignLines, writer: ForeignWriter) -> None:
    """Import the conversation. Lines of unknown kinds are skipped."""
    reading = _Reading(writer)
    for line in lines:
        reading.take(line)
    reading.finish()


class _Reading:
    """Assembles replies and results from items."""

    def __init__(self, writer: ForeignWriter) -> None:
        self._writer = writer
        self._has_begun = False
        self._text: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[ToolUseBlock] = []
        self._results: list[ToolResultBlock] = []

    def take(self, line: dict[str, Any]) -> None:
        payload = object_in(line, "payload")
        item = payload if line.get("type") == "response_item" else line
        if not self._has_begun:
            self._has_begun = True
            meta = payload if line.get("type") == "session_meta" else line
            self._writer.begin(text_in(meta, "id"), text_in(meta, "cwd"), time_ms(line))
        self._writer.at(time_ms(line))
        if line.get("type") == "turn_context":
            self._writer.model = text_in(payload, "model") or self._writer.model
        elif line.get("type") == "compacted":
            self._flush()
            self._writer.condensed(text_in(payload, "message"))
        elif item.get("type") in ITEMS:
            self._item(item)

    def finish(self) -> None:
        """Write what is pending at the end of the file."""
        self._flush()
        if self._has_begun:
            self._writer.end()

    def _item(self, item: dict[str, Any]) -> None:
        kind = item["type"]
        if kind in OUTPUTS:
            self._flush_reply()
            self._results.append(_result(item))
            return
        self._flush_results()
        if kind in CALLS:
            self._calls.append(_call(item))
        elif kind == "reasoning":
            self._thoughts += [text for part in blocks_of(item.get("summary")) if (text := text_in(part, "text"))]
        elif item.get("role") == "assistant":
            self._text.append(_text(item))
        elif item.get("role") == "user":
            self._flush_reply()
            text = _text(item)
            if not text.lstrip().startswith(INJECTED):
                self._writer.prompt(text, _images(item))

    def _flush(self) -> None:
        self._flush_results()
        self._flush_reply()

    def _flush_reply(self) -> None:
        if self._text or self._thoughts or self._calls:
            text, thoughts = "\n\n".join(filter(None, self._text)), "\n\n".join(self._thoughts)
            self._writer.reply(text, thoughts, tuple(self._calls))
        self._text, self._thoughts, self._calls = [], [], []

    def _flush_results(self) -> None:
        if self._results:
            self._writer.results(tuple(self._results))
        self._results = []


def _call(item: dict[str, Any]) -> ToolUseBlock:
    if item["type"] == "local_shell_call":
        command = object_in(item, "action").get("command")
        words = " ".join(map(str, command)) if isinstance(command, list) else ""
        return ToolUseBlock(id=text_in(item, "call_id"), name="local_shell", input={"command": words})
    given = item.get("arguments", item.get("input"))
    return ToolUseBlock(id=text_in(item, "call_id"), name=text_in(item, "name"), input=arguments_of(given))


def _result(item: dict[str, Any]) -> ToolResultBlock:
    """The output is a text, an object with one, a list of parts, or JSON of an object in a text."""
    output = item.get("output")
    if isinstance(output, str) and output.startswith('{"output"'):
        with suppress(msgspec.DecodeError, RecursionError):
            output = msgspec.json.decode(output)
    is_error = False
    if isinstance(output, dict):
        exit_code = object_in(output, "metadata").get("exit_code")
        is_error = output.get("success") is False or exit_code not in (None, 0)
        output = output.get("output", output.get("content"))
    text = "\n".join(text_in(part, "text") for part in blocks_of(output))
    return ToolResultBlock(tool_use_id=text_in(item, "call_id"), content=text, is_error=is_error)


def _text(item: dict[str, Any]) -> str:
    return "\n".join(text for part in blocks_of(item.get("content")) if (text := text_in(part, "text")))


def _images(item: dict[str, Any]) -> tuple[ImageBlock, ...]:
    urls = (DATA_URL.fullmatch(text_in(part, "image_url")) for part in blocks_of(item.get("content")))
    return tuple(ImageBlock(source=ImageSource(media_type=each[1], data=each[2])) for each in urls if each)
