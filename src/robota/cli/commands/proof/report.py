"""`robota report`: a session packed so that anybody can run it again, with what belongs to this machine covered."""

from collections.abc import Sequence
from pathlib import Path

from robota.cli.command_parser import CommandParser
from robota.cli.commands.sessions.exporting import own_cover, write_export
from robota.cli.commands.sessions.selection import chosen_session, tell
from robota.config.errors import ConfigError
from robota.log.errors import LogError, SessionNotFound

WRITTEN = 0
NOT_WRITTEN = 1
NOT_FOUND = 3


def main(argv: Sequence[str]) -> int:
    """Run `robota report …`; the arguments begin after `report`."""
    options = parser().read(argv)
    options.all = False
    try:
        session = chosen_session(options)
        path: Path = options.output or Path(f"robota-report-{session.id}.zip")
        if path.exists() and not options.force:
            raise ConfigError(f"{path} is there already. It was left as it is. Choose another --output, or --force.")
        notes = write_export(path, "bundle", session, own_cover())
    except SessionNotFound as error:
        tell(str(error))
        return NOT_FOUND
    except (ConfigError, LogError) as error:
        tell(str(error))
        return NOT_WRITTEN
    if notes.get("leftOut"):
        tell(f"{len(notes['leftOut'])} kept outputs are no text and were left out.")
    print(f"{path} holds the session with home, user and host names, keys and passwords covered.")
    print(f"Look through it before you send it. Anybody runs it again with: robota replay {path}")
    return WRITTEN


def parser() -> CommandParser:
    """What may stand behind `robota report`."""
    about = "Pack a session into one file that `robota replay` runs again on any machine, without a key."
    parser = CommandParser(prog="robota report", description=about)
    parser.add_argument("session", metavar="ID", help="the session")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: robota-report-ID.zip")
    parser.add_argument("--force", action="store_true", help="replace a file that is there")
    parser.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the project (default: here)")
    return parser
