"""What is left to read of text that was meant for a terminal: no colours, the last state of overwritten lines."""

import re

# Sequences with a final letter, those that set a title or a link, and those of two characters.
SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]+[0-~]|\x1b[0-Z\\^_`a-z{-~]"
)
UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)$")
ERASES_REST = re.compile(r"\x1b\[0?K")
ERASES_LINE = re.compile(r"\x1b\[[12]K")
# Stand for what is cleared while a line is worked out.
REST_ERASED = "\x0b"
LINE_ERASED = "\x0c"
NO_MARKS = str.maketrans("", "", REST_ERASED + LINE_ERASED)
OTHER_CONTROLS = re.compile(r"[\x00-\x07\x0b\x0c\x0e-\x1f\x7f]")
OVERWRITTEN_CHARACTERS = 4 * 1024
MAX_OPEN_CHARACTERS = 64 * 1024


def plain_terminal_text(text: str) -> str:
    """The text as somebody would see it who looks at the terminal when all of it was printed."""
    reader = TerminalText()
    return reader.add(text) + reader.open_line


class TerminalText:
    """The same for a text that comes in pieces. A line is settled when it ends, because until then it can change."""

    def __init__(self) -> None:
        self._open = ""

    def add(self, text: str) -> str:
        """Take more; returns the lines that are settled by it."""
        text = self._open + text
        if _is_plain(text):
            end = text.rfind("\n") + 1
            settled, self._open = text[:end], text[end:]
        else:
            lines = text.split("\n")
            self._open = lines.pop()
            settled = "".join(f"{_settled(line)}\n" for line in lines)
        if len(self._open) > OVERWRITTEN_CHARACTERS and not _is_plain(self._open):
            self._open = self._shortened()
        if len(self._open) > MAX_OPEN_CHARACTERS:  # a line without an end, and not a progress bar
            settled, self._open = settled + self._open, ""
        return settled

    @property
    def open_line(self) -> str:
        """The line that has not ended, as it looks by now."""
        return _settled(self._open)

    def finish(self) -> str:
        """No more will come; returns the last line if it has no end."""
        last, self._open = self.open_line, ""
        return last

    def _shortened(self) -> str:
        """The open line as it looks, with the sequence that may have only begun."""
        begun = UNFINISHED.search(self._open)
        rest = begun[0] if begun is not None and len(begun[0]) < MAX_OPEN_CHARACTERS else ""
        body = self._open[: len(self._open) - len(rest)]
        ends_with_return = "\r" * body.endswith("\r")
        return _settled(body) + ends_with_return + rest


def _is_plain(text: str) -> bool:
    return "\x1b" not in text and "\r" not in text and "\b" not in text


def _settled(line: str) -> str:
    if _is_plain(line):
        return line
    line = SEQUENCE.sub(_in_place_of, line.removesuffix("\r").translate(NO_MARKS))
    line = UNFINISHED.sub("", line)
    shown = ""
    for written in line.split("\r"):
        if LINE_ERASED in written or REST_ERASED in written:
            shown = ""
        new = _without_backspaces(written.rpartition(LINE_ERASED)[2].replace(REST_ERASED, ""))
        shown = new + shown[len(new) :]
    return OTHER_CONTROLS.sub("", shown)


def _in_place_of(sequence: re.Match[str]) -> str:
    if ERASES_LINE.fullmatch(sequence[0]):
        return LINE_ERASED
    return REST_ERASED if ERASES_REST.fullmatch(sequence[0]) else ""


def _without_backspaces(text: str) -> str:
    if "\b" not in text:
        return text
    kept: list[str] = []
    for character in text:
        if character != "\b":
            kept.append(character)
        elif kept:
            kept.pop()
    return "".join(kept)
