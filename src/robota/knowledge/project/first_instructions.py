"""Writes the first AGENTS.md of a project from a scan of it."""

from collections.abc import Iterator, Sequence

from robota.knowledge.project.scan import ProjectScan
from robota.text.visible import single_line


def first_instructions(scan: ProjectScan, imported: Sequence[str]) -> str:
    """The text of AGENTS.md; `imported` are the instruction files of other agents that it imports."""
    return "\n\n".join(_sections(scan, imported)) + "\n"


def import_lines(paths: Sequence[str]) -> str:
    """The lines of an instruction file that import these paths."""
    return "\n".join(f"@{path.replace(' ', chr(92) + ' ')}" for path in paths)


def _sections(scan: ProjectScan, imported: Sequence[str]) -> Iterator[str]:
    yield f"# {single_line(scan.name)}"
    yield "What this project is for: describe it here in a sentence or two."
    if scan.built_with:
        yield f"Built with: {', '.join(scan.built_with)}."
    if scan.commands:
        listed = "\n".join(f"- {command.purpose}: `{command.command}`" for command in scan.commands)
        yield f"## Commands\n\n{listed}"
    if scan.directories:
        listed = "\n".join(f"- `{name}/`" for name in scan.directories)
        yield f"## Layout\n\n{listed}"
    yield "## Rules\n\n- What an agent could not guess: conventions, what never to touch, how to check its work."
    if imported:
        yield f"## Taken in\n\n{import_lines(imported)}"
