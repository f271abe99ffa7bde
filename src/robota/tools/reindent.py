"""Lines quoted with the wrong indentation, put where they belong."""

from difflib import SequenceMatcher


def reindented(there: list[str], old: list[str], new: list[str]) -> list[str] | None:
    """What stands in the file in place of `there` when `old`, the model's quotation of it, becomes `new`.

    Lines that `new` keeps of `old` stay as they are in the file. The others are indented as the file is, if the two
    differ in the same way on every line; None if they do not.
    """
    shift = _shift(there, old)
    if shift is None:
        return None
    lines: list[str] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        lines += there[i1:i2] if tag == "equal" else [_moved(line, shift) for line in new[j1:j2]]
    return lines


def _shift(there: list[str], old: list[str]) -> dict[str, str] | None:
    """Which indentation of the file each indentation of the quotation means."""
    shift: dict[str, str] = {}
    for actual, quoted in zip(there, old, strict=True):
        if quoted.strip() and shift.setdefault(_indentation(quoted), _indentation(actual)) != _indentation(actual):
            return None
    return shift


def _moved(line: str, shift: dict[str, str]) -> str:
    if not line.strip():
        return line
    indentation = _indentation(line)
    known = max((each for each in shift if indentation.startswith(each)), key=len, default=None)
    if known is not None:
        return shift[known] + line[len(known) :]
    outermost = min(shift, key=len)
    missing = len(outermost) - len(indentation)
    return shift[outermost][: max(0, len(shift[outermost]) - missing)] + line.lstrip()


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
