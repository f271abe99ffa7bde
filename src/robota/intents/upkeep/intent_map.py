"""`intent_map.md`: the files changed for each intent, always generated from the trace."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from robota.config.transaction import transaction
from robota.intents.intent import Intent
from robota.intents.intent_files import DIRECTORY, MAP
from robota.intents.upkeep.traced_intents import TracedFile, TracedIntent
from robota.text.visible import single_line

MAX_FILES: Final = 500
MAX_TEXT_LENGTH: Final = 300
HEAD: Final = "# Intent map\n\nMade by `robota intents map` from the trace. What is written here by hand is lost.\n"
COLUMNS: Final = "| File | Last change | Kind | Content |\n|---|---|---|---|"


def map_text(intents: Sequence[Intent], traced: Mapping[str, TracedIntent]) -> str:
    """One section for each intent, then those that are no longer in the file of intents."""
    by_id = {intent.id: intent for intent in intents}
    withdrawn = sorted(id for id in traced if id not in by_id)
    sections = [_section(id, by_id.get(id), traced.get(id)) for id in (*by_id, *withdrawn)]
    return "\n".join((HEAD, *sections))


def write_map(home: Path, text: str) -> None:
    """Raises `OSError`."""
    with transaction(home / DIRECTORY) as files:
        if (home / MAP).is_symlink():
            raise OSError(f"{MAP} is a link")
        files.write(Path(MAP).name, text.encode(), mode=0o644)


def _section(id: str, intent: Intent | None, traced: TracedIntent | None) -> str:
    name, status = ("no longer listed", "-") if intent is None else (intent.name, intent.status)
    lines = [f"## {_cell(id)}: {_cell(name)}", "", f"Status: {status}"]
    if intent is not None and intent.owned_scope:
        lines.append(f"Owns: {', '.join(f'`{_cell(pattern)}`' for pattern in intent.owned_scope)}")
    files = [] if traced is None else list(traced.files.values())
    if files:
        lines += ["", COLUMNS, *(_row(file) for file in sorted(files[-MAX_FILES:], key=lambda file: file.path))]
    if len(files) > MAX_FILES:
        lines.append(f"\nand {len(files) - MAX_FILES:,} more")
    return "\n".join((*lines, ""))


def _row(file: TracedFile) -> str:
    kind = f"{file.operation} {file.mutation_class}".strip()
    return f"| {_cell(file.path)} | {_cell(file.at[:19])} | {_cell(kind)} | {_cell(file.content_hash[:19])} |"


def _cell(text: str) -> str:
    """Untrusted text as a table cell, without markup and line breaks."""
    return single_line(text, MAX_TEXT_LENGTH).replace("|", "\\|").replace("<", "&lt;").replace("`", "'")
