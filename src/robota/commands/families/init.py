"""The verb `init`: a first AGENTS.md from a plain look at the project, without a model. Nothing is overwritten."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import msgspec

from robota.commands.verb import Answer, Family, ShellVerb, VerbFailed, raw, told
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option
from robota.knowledge.instructions.loader import MAX_FILES
from robota.knowledge.project.first_instructions import first_instructions, import_lines
from robota.knowledge.project.scan import ProjectScan, scan_project
from robota.text.counted import counted
from robota.text.visible import single_line

NAME: Final = "AGENTS.md"
WRITABLE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class WriteInstructions(msgspec.Struct, frozen=True, kw_only=True):
    """Which file is written, and with which sources."""

    print: Annotated[bool, Option("print it instead of writing a file")] = False
    import_: Annotated[bool, Option("import instruction files of other agents without asking")] = False


def _init(host: VerbHost, args: WriteInstructions) -> Answer:
    scan = scan_project(host.root)
    path = host.root / NAME
    if os.path.lexists(path) and not args.print:
        return _refuse(host, path, scan)
    text = first_instructions(scan, scan.other_agents if _imports_others(host, scan, args) else ())
    if args.print:
        return raw(text.removesuffix("\n"), {"written": None, "found": scan, "text": text})
    try:
        with os.fdopen(os.open(path, WRITABLE, 0o644), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
    except OSError as error:
        raise VerbFailed(f"{path} cannot be written: {error.strerror}.") from error
    lines = [f"Wrote {path}. Add to it what an agent could not guess."]
    imported = frozenset(text.splitlines())
    left = [name for name in scan.other_agents if import_lines([name]) not in imported]
    if left:
        lines.append(f"Not imported: {_names(left)}. robota init --print --import shows how they would be.")
    if len(left) < len(scan.other_agents):
        lines += _what_is_read(scan)
    return told("\n".join(lines), {"written": str(path), "found": scan})


def _what_is_read(scan: ProjectScan) -> list[str]:
    """What the user has to know about the files that AGENTS.md imports."""
    lines = [f"It imports {counted(len(scan.other_agents), 'file')} of other agents."]
    if len(scan.other_agents) >= MAX_FILES:
        lines.append(f"A session reads at most {MAX_FILES} instruction files: robota instructions says which.")
    if scan.not_listed:
        lines.append(f"Left out: {_names(scan.not_listed)}.")
    return lines


def _imports_others(host: VerbHost, scan: ProjectScan, args: WriteInstructions) -> bool:
    """Files of other agents are never imported silently: only if the user or an option asks for it."""
    if not scan.other_agents or args.import_ or not host.can_ask:
        return args.import_
    host.say(f"Found instruction files of other agents: {_names(scan.other_agents)}")
    decision = host.confirm("Import them into AGENTS.md?", default=False)
    if decision is None:
        raise VerbFailed("Nothing was written.")
    return decision


def _refuse(host: VerbHost, path: Path, scan: ProjectScan) -> Answer:
    lines = [f"{path} already exists and was not changed."]
    if scan.other_agents:
        lines.append("To import the instruction files of other agents, add to it:")
        lines.append(single_line(import_lines(scan.other_agents).replace("\n", "  "), 2000))
    lines.append('To let the model improve it: robota -p "/init"')
    if not host.wants_all:
        raise VerbFailed("\n".join(lines))
    return told("\n".join(lines), {"written": None, "found": scan}, ok=False)


def _names(paths: Sequence[str]) -> str:
    return single_line(", ".join(paths), 1000)


FAMILY: Final = Family(
    name="init",
    about="Write a first AGENTS.md by inspecting the project. /init in a conversation, or "
    'robota -p "/init", lets the model write one.',
    main=ShellVerb(
        "init",
        "write a first AGENTS.md by inspecting the project",
        WriteInstructions,
        _init,
        reason="in a conversation, the model writes it",
    ),
)
