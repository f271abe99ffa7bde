"""What survives when turns are removed from a conversation: user text, the todo list, the names of touched files."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.contracts.tool import AnyTool, BadArguments, Effect
from robota.engine.context.cut import SHORTEST, middle_cut
from robota.engine.model.environment import ENVIRONMENT_BEGIN
from robota.engine.model.system_prompt import NO_TOOL_USED, REPLY_CUT
from robota.log.replay.context import LOST_BEGINNING, ORPHAN_INTRODUCTION
from robota.protocol.conversation import (
    AssistantTurn,
    ImageBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    Turn,
    UserBlock,
    UserTurn,
)
from robota.protocol.message import TodoItem

REMINDER: Final = "<system-reminder>"
NOT_USER_TEXT: Final = (
    REMINDER,
    ENVIRONMENT_BEGIN,
    NO_TOOL_USED,
    REPLY_CUT,
    LOST_BEGINNING,
    ORPHAN_INTRODUCTION,
    "[TASK RESUMPTION]",
)
ANSWER_BEGIN: Final = "<user_message>\n"
ANSWER_END: Final = "\n</user_message>"
FILES_NAMED: Final = 100

USER_TEXT_FOLLOWS: Final = (
    "The beginning of this conversation was removed to make room in the context window. The user's messages in it "
    "follow word for word, oldest first, and then what you need to continue."
)
GO_ON: Final = (
    "Continue the task from here, without a greeting and without repeating this. The user's newest message takes "
    "precedence. If you need the exact content of a file or of an output, read it again."
)
SIGNS: Final = {"completed": "[x]", "in_progress": "[-]"}


class UserMessages(msgspec.Struct, frozen=True, kw_only=True):
    """The user text in some turns, oldest first, and the images of the newest message."""

    messages: tuple[str, ...] = ()
    images: tuple[ImageBlock, ...] = ()


class TouchedFiles:
    """Files that calls of a task read or changed, newest last. A changed file is not listed as read."""

    def __init__(self, root: Path, tools: Sequence[AnyTool]) -> None:
        self._root = root
        self._tools = tools
        self._changed: dict[str, bool] = {}

    @property
    def read(self) -> tuple[str, ...]:
        return tuple(path for path, changed in self._changed.items() if not changed)[-FILES_NAMED:]

    @property
    def changed(self) -> tuple[str, ...]:
        return tuple(path for path, changed in self._changed.items() if changed)[-FILES_NAMED:]

    def note(self, turns: Iterable[Turn]) -> None:
        """Note the files of the successful calls in these turns. Noting a turn twice is harmless."""
        calls: dict[str, ToolUseBlock] = {}
        for turn in turns:
            if isinstance(turn, AssistantTurn):
                calls = {call.id: call for call in turn.tool_uses}
                continue
            for block in turn.content:
                call = calls.get(block.tool_use_id) if isinstance(block, ToolResultBlock) else None
                if call is not None and isinstance(block, ToolResultBlock) and not block.is_error:
                    self._note_call(call)

    def _note_call(self, call: ToolUseBlock) -> None:
        tool = next((tool for tool in self._tools if call.name in (tool.name, *tool.aliases)), None)
        if tool is None or not tool.effects & {Effect.READ, Effect.WRITE}:
            return
        try:
            paths = tool.touches(tool.decode(call.input)).paths
        except BadArguments:
            return
        writes = Effect.WRITE in tool.effects
        for path in paths:
            if writes or self._is_file(path):
                self._changed[path] = self._changed.pop(path, False) or writes

    def _is_file(self, path: str) -> bool:
        """Search tools name directories, which are not listed."""
        try:
            return (self._root / path).is_file()
        except OSError:
            return False


def user_messages(turns: Iterable[Turn]) -> UserMessages:
    """The user text in prompts and in answers to questions."""
    messages: list[str] = []
    images: tuple[ImageBlock, ...] = ()
    for turn in turns:
        if not isinstance(turn, UserTurn):
            continue
        texts = [user for block in turn.content if (user := user_text(block))]
        if texts:
            messages += texts
            images = tuple(block for block in turn.content if isinstance(block, ImageBlock))
    return UserMessages(messages=tuple(messages), images=images)


def bounded(messages: Sequence[str], room: int) -> list[str]:
    """The newest message in full, then the first and the newer ones, as far as `room` characters go."""
    if not messages:
        return []
    newest = len(messages) - 1
    kept = {newest: messages[newest]}
    for index in dict.fromkeys([0, *range(newest - 1, 0, -1)]):
        text = middle_cut(messages[index], max(SHORTEST, room // 4))
        if index != newest and len(text) <= room:
            kept[index] = text
            room -= len(text)
    return [kept[index] for index in sorted(kept)]


def summary_turn(
    user: UserMessages, room: int, introduction: str, todos: Sequence[TodoItem], files: TouchedFiles, state: str
) -> UserTurn:
    """The turn that replaces removed ones: user text, `introduction`, todo list, files, and changes of the session."""
    content: list[UserBlock] = []
    if user.messages:
        content = [reminder(USER_TEXT_FOLLOWS), *user.images]
        content += [TextBlock(text=message) for message in bounded(user.messages, room)]
    plan = "\n".join(f"{SIGNS.get(item.status, '[ ]')} {item.content}" for item in todos)
    sections = (
        introduction,
        f"# Todo list\n\n{plan}" if plan else "",
        _file_list("Files changed so far", files.changed),
        _file_list("Files read so far", files.read),
        GO_ON,
    )
    summary = reminder("\n\n".join(section for section in sections if section))
    return UserTurn(content=(*content, summary, *([reminder(state)] if state else ())))


def reminder(text: str) -> TextBlock:
    """A text that is not from the user, marked as a system reminder."""
    return TextBlock(text=f"{REMINDER}\n{text}\n</system-reminder>")


def user_text(block: UserBlock) -> str:
    """The user text in a block; empty if the block is not from the user."""
    if isinstance(block, TextBlock):
        return "" if block.text.startswith(NOT_USER_TEXT) else block.text
    if isinstance(block, ToolResultBlock) and block.content.startswith(ANSWER_BEGIN):
        # The answer may be followed by a note that it switched the mode.
        answer, end, _ = block.content.removeprefix(ANSWER_BEGIN).rpartition(ANSWER_END)
        return answer if end else block.content.removeprefix(ANSWER_BEGIN)
    return ""


def _file_list(title: str, paths: Sequence[str]) -> str:
    return "\n".join([f"# {title}", "", *(f"- {path}" for path in paths)]) if paths else ""
