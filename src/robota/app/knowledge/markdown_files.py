"""Finds the Markdown files of one kind (`agents`, `output-styles` …) of the trusted project and the user."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from robota.config.paths import known_home, user_directory
from robota.config.settings.load import Settings

MAX_FILES: Final = 200


def markdown_files(
    settings: Settings, kind: str, owners: Sequence[str], root: Path, env: Mapping[str, str], max_bytes: int
) -> Iterator[tuple[str, bytes]]:
    """The files with their contents: those of the trusted snapshot of the workspace, then those of the user."""
    trusted = settings.trust.snapshot.sources if settings.trust is not None and settings.is_trusted else ()
    for owner in owners:
        for source in trusted:
            is_in = source.path.startswith(f"{owner}/{kind}/")
            if is_in and source.path.endswith(".md") and source.data is not None:
                yield str(root / source.path), source.data[:max_bytes]
    home = known_home(env)
    for owner in owners:
        own = user_directory(env) if owner == ".robota" else None if home is None else home / owner
        for path in [] if own is None else sorted((own / kind).rglob("*.md"))[:MAX_FILES]:
            if path.is_file():
                with path.open("rb") as file:
                    yield str(path), file.read(max_bytes)
