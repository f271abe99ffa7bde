"""Lines quoted with the wrong indentation, put where they belong."""

from difflib import SequenceMatcher

from robota.tools.editing.matching import indentation_of, moved


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
        lines += there[i1:i2] if tag == "equal" else [moved(line, shift) for line in new[j1:j2]]
    return lines


def _shift(there: list[str], old: list[str]) -> dict[str, str] | None:
    """Which indentation of the file each indentation of the quotation means."""
    shift: dict[str, str] = {}
    for actual, quoted in zip(there, old, strict=True):
        meant = indentation_of(actual)
        if quoted.strip() and shift.setdefault(indentation_of(quoted), meant) != meant:
            return None
    return shift
