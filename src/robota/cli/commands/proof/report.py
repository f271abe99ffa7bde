"""`robota report`: pack a session so that others can replay it, with data of this machine redacted."""

from collections.abc import Sequence
from pathlib import Path

from robota.cli.command_parser import CommandParser
from robota.cli.commands.sessions.exporting import own_cover, write_export
from robota.cli.commands.sessions.selection import named_or_newest_session, tell
from robota.config.errors import ConfigError
from robota.log.errors import LogError, SessionNotFound
from robota.log.transfer.part import PartWanted, part_of

WRITTEN = 0
NOT_WRITTEN = 1
NOT_FOUND = 3


def main(argv: Sequence[str]) -> int:
    """Run `robota report …`; the arguments begin after `report`."""
    options = parser().parse_args(argv)
    options.all = False
    try:
        session = named_or_newest_session(options)
        path: Path = options.output or Path(f"robota-report-{session.id}.zip")
        if path.exists() and not options.force:
            raise ConfigError(f"{path} already exists and was left unchanged. Choose another --output, or use --force.")
        wanted = _part(options.turns, options.until_call)
        part = None if wanted.is_all else part_of(session.directory, wanted)
        notes = write_export(path, "bundle", session, own_cover(session, options.cover), part)
    except SessionNotFound as error:
        tell(str(error))
        return NOT_FOUND
    except (ConfigError, LogError) as error:
        tell(str(error))
        return NOT_WRITTEN
    if notes.get("leftOut"):
        tell(f"{len(notes['leftOut'])} saved outputs are not text and were omitted.")
    what = "the session" if part is None else f"{len(part)} records of the session"
    print(f"{path} contains {what}, with home, user and host names, keys and passwords redacted.")
    print(f"Review it before you send it. Anyone can run it again with: robota replay {path}")
    return WRITTEN


def _part(turns: str | None, until_call: str | None) -> PartWanted:
    if turns is None:
        return PartWanted(until_call=until_call)
    first, dash, last = turns.partition("-")
    if not first.isdecimal() or (last and not last.isdecimal()) or (last and int(last) < int(first)) or int(first) < 1:
        raise ConfigError(f"--turns is a number or a range such as 2-4, not {turns!r}. Nothing was written.")
    end = int(last) if last else None if dash else int(first)
    return PartWanted(first=int(first), last=end, until_call=until_call)


def parser() -> CommandParser:
    """The argument parser of `robota report`."""
    about = "Pack a session into one file that `robota replay` runs again on any machine, without a key."
    parser = CommandParser(prog="robota report", description=about)
    parser.add_argument("session", nargs="?", metavar="ID", help="the session (default: the newest)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: robota-report-ID.zip")
    parser.add_argument(
        "--turns", metavar="N-M", help="only these turns, as `robota rewind list` numbers them; also N, N-"
    )
    parser.add_argument("--until-call", metavar="ID", help="leave out everything after this tool call")
    help_cover = "an additional word to redact everywhere (repeatable)"
    parser.add_argument("--cover", metavar="WORD", action="append", default=[], help=help_cover)
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    parser.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the project (default: here)")
    return parser
