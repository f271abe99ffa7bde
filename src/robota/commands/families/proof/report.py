"""The verb `report`: pack a session so that others can replay it, with data of this machine redacted."""

from typing import Annotated, Final

import msgspec

from robota.commands.sessions.exporting import own_cover, write_export
from robota.commands.sessions.selection import named_or_newest_session, refuse_existing
from robota.commands.verb import CONFIGURATION, FAILED, Answer, Failure, Family, Verb, told
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option, Positional
from robota.config.errors import ConfigError
from robota.log.errors import SessionNotFound
from robota.log.transfer.part import PartWanted, part_of


class ReportSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session to pack, and how much of it."""

    session: Annotated[str | None, Positional("ID", "the session (default: the newest)")] = None
    output: Annotated[str | None, Option("default: robota-report-ID.zip", "FILE", ("-o",))] = None
    turns: Annotated[
        str | None, Option("only these turns, as `robota rewind list` numbers them; also N, N-", "N-M")
    ] = None
    until_call: Annotated[str | None, Option("leave out everything after this tool call", "ID")] = None
    cover: Annotated[tuple[str, ...], Option("an additional word to redact everywhere (repeatable)", "WORD")] = ()
    force: Annotated[bool, Option("overwrite an existing file")] = False


def _report(host: VerbHost, args: ReportSession) -> Answer:
    session = named_or_newest_session(host, args.session)
    path = host.path(args.output or f"robota-report-{session.id}.zip")
    refuse_existing(host, path, force=args.force)
    chosen = _part_wanted(args.turns, args.until_call)
    part = None if chosen.is_all else part_of(session.directory, chosen)
    left_out = write_export(path, "bundle", session, own_cover(session, host.env, args.cover), part)
    if left_out:
        host.tell(f"{len(left_out)} saved outputs are not text and were omitted.")
    what = "the session" if part is None else f"{len(part)} records of the session"
    lines = (
        f"{path} contains {what}, with home, user and host names, keys and passwords redacted.",
        f"Review it before you send it. Anyone can run it again with: robota replay {path}",
    )
    return told("\n".join(lines), {"id": session.id, "path": str(path.absolute()), "leftOut": left_out})


def _part_wanted(turns: str | None, until_call: str | None) -> PartWanted:
    if turns is None:
        return PartWanted(until_call=until_call)
    first, dash, last = turns.partition("-")
    if not first.isdecimal() or (last and not last.isdecimal()) or (last and int(last) < int(first)) or int(first) < 1:
        raise ConfigError(f"--turns is a number or a range such as 2-4, not {turns!r}. Nothing was written.")
    end = int(last) if last else None if dash else int(first)
    return PartWanted(first=int(first), last=end, until_call=until_call)


def _explain(error: Exception) -> Failure:
    return Failure(str(error), CONFIGURATION if isinstance(error, SessionNotFound) else FAILED)


FAMILY: Final = Family(
    name="report",
    about="Pack a session into one file that `robota replay` runs again on any machine, without a key.",
    description="pack this session, redacted, so that others can replay it",
    main=Verb("report", "pack a redacted session that others can replay", ReportSession, _report),
    explain=_explain,
)
