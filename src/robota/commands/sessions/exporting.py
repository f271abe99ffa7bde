"""Exports a stored session as Markdown, HTML, stream-json, or a bundle for another machine."""

import os
import pwd
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from platform import node
from typing import BinaryIO, Final

import msgspec

from robota.commands.families.sessions import ExportSession
from robota.commands.sessions.reading import head_of
from robota.commands.sessions.selection import named_or_newest_session, refuse_existing
from robota.commands.verb import Answer, RawOutput, printed, told
from robota.commands.verb_host import VerbHost
from robota.config.errors import ConfigError
from robota.config.paths import home_directory
from robota.log.catalogue.catalogue import CataloguedSession
from robota.log.chain.reader import LOG_NAME
from robota.log.chain.writer import wall_clock_ms
from robota.log.errors import LogWriteError
from robota.log.record import Record
from robota.log.replay.branches import present_records
from robota.log.replay.transcript import transcript
from robota.log.transfer.export_redaction import ExportRedactor
from robota.protocol.codec import encode
from robota.protocol.transcript import TranscriptHead
from robota.secrets.named_values import secret_variables
from robota.secrets.redaction import Redactor
from robota.text.visible import without_surrogates

SUFFIXES: Final = {"markdown": "md", "html": "html", "stream-json": "jsonl", "bundle": "zip"}


def export_session(host: VerbHost, args: ExportSession) -> Answer:
    """Write the session in one of the formats to a file or to standard output."""
    session = named_or_newest_session(host, args.session, everywhere=args.all)
    cover = own_cover(session, host.env) if args.redact else None
    is_file = args.output is not None or args.format == "bundle" or host.wants_all
    if not is_file:
        return printed(RawOutput(_pieces(session, args.format, cover)))
    path = host.path(args.output or f"robota-{session.id}.{SUFFIXES[args.format]}")
    refuse_existing(host, path, force=args.force)
    left_out = write_export(path, args.format, session, cover)
    if left_out:
        host.tell(f"{len(left_out)} saved outputs are not text and were omitted; --no-redact includes them.")
    covered = "Home, user and host names, keys and passwords are redacted." if cover else "Nothing is redacted."
    data = {"id": session.id, "path": str(path.absolute()), "redacted": cover is not None}
    if args.format == "bundle":
        data["leftOut"] = left_out
    name = session.id if host.opened is None else "The session"
    return told(f"{name} was written to {path}. {covered}", data)


def own_cover(session: CataloguedSession, env: Mapping[str, str], words: Sequence[str] = ()) -> ExportRedactor:
    """The redaction of the names of this machine and its user, the session's secrets, and other given words."""
    from robota.log.transfer.bundle import secrets_stated_in

    homes = []
    with suppress(ConfigError):
        home = home_directory(env)
        homes = [str(home), os.path.realpath(home)]
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = env.get("USER", "")
    secret = {*words, *secrets_stated_in(session.directory)}
    return ExportRedactor(homes, user, node(), Redactor(secret_variables(env)), secret)


def _pieces(session: CataloguedSession, format: str, cover: ExportRedactor | None) -> Iterator[bytes]:
    records = present_records(session.directory / LOG_NAME)
    head = head_of(session)
    if cover is not None:
        records = cover.records(records)
        head = _covered_head(head, cover)
    if format == "stream-json":
        from robota.commands.sessions.stream_json_export import stream_json_of

        yield from (encode(line) + b"\n" for line in stream_json_of(head, records))
        return
    if format == "html":
        from robota.clients.render.transcript_html import html_of as document_of
    else:
        from robota.clients.render.transcript_markdown import markdown_of as document_of
    yield from (without_surrogates(piece).encode() for piece in document_of(head, transcript(records)))


def _covered_head(head: TranscriptHead, cover: ExportRedactor) -> TranscriptHead:
    covered = cover.payload(msgspec.json.encode(head))
    return msgspec.json.decode(covered, type=TranscriptHead)


def write_export(
    path: Path,
    format: str,
    session: CataloguedSession,
    cover: ExportRedactor | None,
    part: Sequence[Record] | None = None,
) -> list[str]:
    """Write the file atomically, replacing an existing one; returns what a bundle omits. `part` is for bundles only."""
    left_out: list[str] = []

    def write(out: BinaryIO) -> None:
        if format == "bundle":
            from robota.log.transfer.bundle import write_bundle

            manifest = write_bundle(out, session.directory, cover, wall_clock_ms(), part)
            left_out.extend(manifest.left_out)
        else:
            for piece in _pieces(session, format, cover):
                out.write(piece)

    _write_whole(path, write)
    return left_out


def _write_whole(path: Path, write: Callable[[BinaryIO], None]) -> None:
    if path.exists() and not path.is_file():  # a device or a pipe would be replaced
        raise LogWriteError(f"{path} is not a regular file and was left unchanged. Choose another --output.")
    draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with os.fdopen(os.open(draft, flags, 0o600), "w+b") as out:
            write(out)
            out.flush()
            os.fsync(out.fileno())
        draft.replace(path)
    except OSError as error:
        raise LogWriteError(
            f"{path} could not be written: {error.strerror}. The session is untouched. "
            "Free some space or choose another --output."
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
