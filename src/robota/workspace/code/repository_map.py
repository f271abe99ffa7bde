"""A map of a repository: its most important files and what they define, within a number of characters."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from robota.text.visible import printable_name
from robota.workspace.code.ranking import Ranking, rank
from robota.workspace.code.symbol import FileSymbols, Symbol

MAX_SYMBOLS_OF_FILE: Final = 5
SHOWN_SIGNATURE: Final = 90


class RepositoryMap(msgspec.Struct, frozen=True, kw_only=True):
    """The map, how many files it shows, and of how many. `left_out` counts files beyond the limit of an index.

    Unless `is_complete`, files are still being read.
    """

    text: str
    shown: int
    files: int
    is_complete: bool = True
    left_out: int = 0


def repository_map(
    symbols: Mapping[str, FileSymbols], max_characters: int, *, below: str = "", focus: Collection[str] = ()
) -> RepositoryMap:
    """The map of the files below a directory, which is empty for all. It is the same for the same content."""
    ranking = rank(symbols, focus)
    prefix = f"{below}/" if below else ""
    paths = [path for path in symbols if path.startswith(prefix) and symbols[path].definitions]
    paths.sort(key=lambda path: (-ranking.files[path], path))
    parts: list[str] = []
    left = max_characters
    for path in paths:
        part = _file(path, symbols[path].definitions, ranking)
        if len(part) + 1 > left:
            break
        parts.append(part)
        left -= len(part) + 1
    return RepositoryMap(text="\n".join(parts), shown=len(parts), files=len(paths))


def _file(path: str, definitions: Collection[Symbol], ranking: Ranking) -> str:
    weights = ranking.names.get(path, {})
    ranked = sorted(definitions, key=lambda each: (-weights.get(each.name, 0.0), each.line))[:MAX_SYMBOLS_OF_FILE]
    lines = [printable_name(path), *(_line(each) for each in sorted(ranked, key=lambda each: each.line))]
    left_out = len(definitions) - len(ranked)
    return "\n".join((*lines, f"  … {left_out} more")) if left_out else "\n".join(lines)


def _line(symbol: Symbol) -> str:
    signature = symbol.signature
    if len(signature) > SHOWN_SIGNATURE:
        signature = f"{signature[: SHOWN_SIGNATURE - 1]}…"
    indent = "    " if symbol.container else "  "
    return f"{symbol.line:>5} |{indent[1:]}{printable_name(signature)}"


def outline(definitions: Iterable[Symbol]) -> str:
    """All definitions of a file, indented by what they are in."""
    return "\n".join(
        f"{each.line}-{each.end_line} | {'  ' * (each.container.count('.') + bool(each.container))}"
        f"{printable_name(each.signature)}"
        for each in definitions
    )
