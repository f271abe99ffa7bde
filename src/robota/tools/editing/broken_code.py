"""What the result of an edit says about the code that it broke elsewhere or in its file."""

from typing import TYPE_CHECKING, Final

from robota.contracts.rest_of_result import named_call
from robota.text.counted import counted
from robota.text.visible import printable_name

if TYPE_CHECKING:
    from robota.contracts.code import CodeService
    from robota.contracts.workspace import Files
    from robota.workspace.code.edit_effect import EditEffect, FileEffect

MAX_SHOWN: Final = 20
MAX_LINE: Final = 200
SEVERITIES: Final = {1: "error", 2: "warning"}


async def broken_code_note(code: "CodeService", files: "Files", path: str, before: bytes | None, after: bytes) -> str:
    """A paragraph for the result of an edit; empty if no server runs, or no problem is new or gone."""
    effect = await code.effect_of_edit(files.relative(path), before, after)
    return "" if effect is None else _note(path, effect)


def _note(path: str, effect: "EditEffect") -> str:
    if effect.files is None:
        call = named_call("code", what="diagnostics", path=path)
        return f"{effect.source} did not say in time what this edit broke. Ask later: {call}"
    lines = [line for file in effect.files for line in _lines(file)]
    fixed = sum(file.fixed for file in effect.files)
    parts = [f"adds {counted(len(lines), 'problem')}"] if lines else []
    parts += [f"fixes {counted(fixed, 'problem')}"] if fixed else []
    if not parts:
        return ""
    more = [f"… and {len(lines) - MAX_SHOWN} more"] if len(lines) > MAX_SHOWN else []
    return "\n".join((f"{effect.source}: this edit {' and '.join(parts)}.", *lines[:MAX_SHOWN], *more))


def _lines(file: "FileEffect") -> list[str]:
    name = printable_name(file.path)
    return [
        f"{name}:{each.line}:{each.column} {SEVERITIES.get(each.severity, 'note')} "
        f"{printable_name(each.message[:MAX_LINE])}"
        for each in file.new
    ]
