"""The verb `instructions`: the instruction files sent to the model, in order, and those left out, with reasons."""

from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from robota.app.knowledge.instructions import instruction_files
from robota.app.policy import session_policy
from robota.commands.verb import Answer, Family, ReadingVerb, shown_parts
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option, Positional
from robota.config.launch_options import LaunchOptions, workspace_root
from robota.config.settings.load import Settings, load_settings
from robota.config.trust.decision import is_trusted_by_user
from robota.engine.model.request import CHARACTERS_A_TOKEN
from robota.engine.runtime.options import DEFAULT_MODE
from robota.knowledge.instructions.loader import InstructionFile, Instructions
from robota.knowledge.instructions.paths import InstructionScope
from robota.protocol.views import SimpleView, TableView, TextView
from robota.text.visible import single_line

COLUMNS: Final = ("FILE", "OF", "TOKENS", "TOLD AS")
NONE: Final = "There are no instruction files here: no AGENTS.md, CLAUDE.md or rules."
UNTRUSTED: Final = "This workspace is not trusted, so its instructions are quoted as data. To review it: robota trust"


class ShowInstructions(msgspec.Struct, frozen=True, kw_only=True):
    """For which directory or file, and in which task mode."""

    path: Annotated[str | None, Positional("PATH", "working directory of the session, or a file it touches")] = None
    mode: Annotated[str, Option(f"the task mode (default: {DEFAULT_MODE})", "SLUG")] = DEFAULT_MODE


def _show(host: VerbHost, args: ShowInstructions) -> Answer:
    path = host.cwd if args.path is None else host.path(args.path)
    file = path.resolve() if path.is_file() else None
    is_here = file is not None and file.is_relative_to(host.cwd.resolve())
    root = workspace_root(host.cwd if is_here else path.parent if file else path)
    settings = load_settings(root, host.env)
    instructions = _instructions(host, settings, root, args.mode, file)
    is_trusted = is_trusted_by_user(settings.trust, host.env)
    here = host.cwd.resolve()
    return shown_parts(
        _file_views(instructions, here, is_trusted=is_trusted), _as_json(instructions, is_trusted=is_trusted)
    )


def _instructions(host: VerbHost, settings: Settings, root: Path, mode: str, file: Path | None) -> Instructions:
    """The instructions at the start of a session and, with a file, those loaded when it is accessed."""
    policy, _ = session_policy(LaunchOptions(cwd=root), settings, root, None, host.env)
    reader = instruction_files(settings, root, host.env, policy)
    at_start = reader.load(mode)
    if file is None:
        return at_start
    at_start_paths = {each.path for each in at_start.files}
    on_touch = reader.load_for(mode, (str(file),))
    later = tuple(each for each in on_touch.files if each.path not in at_start_paths)
    loaded = {each.path for each in later}
    left_out = dict.fromkeys(each for each in (*at_start.left_out, *on_touch.left_out) if each.path not in loaded)
    return Instructions(files=(*at_start.files, *later), left_out=tuple(left_out))


def _file_views(instructions: Instructions, here: Path, *, is_trusted: bool) -> list[SimpleView]:
    parts: list[SimpleView] = []
    lines = []
    if instructions.files:
        rows = tuple(_row(file, here, is_trusted=is_trusted) for file in instructions.files)
        parts.append(TableView(columns=COLUMNS, rows=rows))
        lines.append(f"About {sum(map(_tokens, instructions.files)):,} tokens in every request.")
    else:
        lines.append(NONE)
    if any(file.scope is InstructionScope.PROJECT for file in instructions.files) and not is_trusted:
        lines.append(UNTRUSTED)
    if instructions.left_out:
        lines.append("\nLeft out:")
    for each in instructions.left_out:
        why = each.why.replace(f"{here}/", "")
        lines.append(f"  {_short_path(each.path, here)}: {single_line(why, 1000)}")
    return [*parts, TextView(text="\n".join(lines))]


def _row(file: InstructionFile, here: Path, *, is_trusted: bool) -> tuple[str, ...]:
    by = "" if file.imported_by is None else f", imported by {_short_path(file.imported_by, here)}"
    told_as = _told_as(file, is_trusted=is_trusted)
    return (_short_path(file.path, here), file.scope, f"{_tokens(file):,}", f"{told_as}{by}")


def _short_path(path: str, here: Path) -> str:
    """The shortest form of a path, relative to the current directory."""
    file = Path(path)
    if file.is_relative_to(here):
        return single_line(str(file.relative_to(here)), 4096)
    if file.is_relative_to(Path.home()):
        return single_line(f"~/{file.relative_to(Path.home())}", 4096)
    return single_line(path, 4096)


def _told_as(file: InstructionFile, *, is_trusted: bool) -> str:
    return "instructions" if is_trusted or file.scope is InstructionScope.USER else "quoted data"


def _tokens(file: InstructionFile) -> int:
    return -(-len(file.text) // CHARACTERS_A_TOKEN)


def _as_json(instructions: Instructions, *, is_trusted: bool) -> dict[str, Any]:
    return {
        "files": [
            {
                "path": file.path,
                "scope": file.scope,
                "toldAs": _told_as(file, is_trusted=is_trusted),
                "tokens": _tokens(file),
                "importedBy": file.imported_by,
                "text": file.text,
            }
            for file in instructions.files
        ],
        "leftOut": [msgspec.structs.asdict(each) for each in instructions.left_out],
    }


FAMILY: Final = Family(
    name="instructions",
    about="Show which instruction files and rules a session loads, where they come from, and in which order.",
    description="show which instruction files are loaded, and why",
    main=ReadingVerb("instructions", "show which instruction files are loaded, and why", ShowInstructions, _show),
)
