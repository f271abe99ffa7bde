"""`robota sessions export`: as Markdown, HTML, stream-json, or a bundle for another machine."""

import argparse
import os
import pwd
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from platform import node
from typing import BinaryIO, Final

from robota.cli.commands.sessions.conversation import head_of
from robota.cli.commands.sessions.selection import named_or_newest_session, tell
from robota.cli.output import print_json
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

FORMATS: Final = ("markdown", "html", "stream-json", "bundle")
REFUSED: Final = 1


def run(options: argparse.Namespace) -> int:
    """Write the session in one of the formats."""
    session = named_or_newest_session(options)
    cover = own_cover(session) if options.redact else None
    if options.format != "bundle" and options.output is None and not options.json:
        for piece in _pieces(session, options.format, cover):
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return 0
    path: Path = options.output or Path(f"robota-{session.id}.{file_ending(options.format)}")
    if path.exists() and not options.force:
        raise ConfigError(f"{path} already exists and was left unchanged. Choose another --output, or use --force.")
    notes = write_export(path, options.format, session, cover)
    if options.json:
        print_json({"id": session.id, "path": str(path.absolute()), "redacted": cover is not None, **notes})
    else:
        covered = "Home, user and host names, keys and passwords are redacted." if cover else "Nothing is redacted."
        print(f"{session.id} was written to {path}. {covered}")
        if notes.get("leftOut"):
            tell(f"{len(notes['leftOut'])} saved outputs are not text and were omitted; --no-redact includes them.")
    return 0


def own_cover(session: CataloguedSession, words: Sequence[str] = ()) -> ExportRedactor:
    """The redaction of the names of this machine and its user, the session's secrets, and other given words."""
    from robota.log.transfer.session_secrets import secrets_stated_in

    homes = []
    with suppress(ConfigError):
        home = home_directory(os.environ)
        homes = [str(home), os.path.realpath(home)]
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = os.environ.get("USER", "")
    secret = {*words, *secrets_stated_in(session.directory)}
    return ExportRedactor(homes, user, node(), Redactor(secret_variables(os.environ)), secret)


def _pieces(session: CataloguedSession, format: str, cover: ExportRedactor | None) -> Iterator[bytes]:
    records = present_records(session.directory / LOG_NAME)
    head = head_of(session)
    if cover is not None:
        records = cover.records(records)
        head = _covered_head(head, cover)
    if format == "stream-json":
        from robota.cli.commands.sessions.stream_json_export import stream_json_of

        yield from (encode(line) + b"\n" for line in stream_json_of(head, records))
        return
    if format == "html":
        from robota.clients.render.transcript_html import html_of as document_of
    else:
        from robota.clients.render.transcript_markdown import markdown_of as document_of
    yield from (without_surrogates(piece).encode() for piece in document_of(head, transcript(records)))


def _covered_head(head: TranscriptHead, cover: ExportRedactor) -> TranscriptHead:
    import msgspec

    covered = cover.payload(msgspec.json.encode(head))
    return msgspec.json.decode(covered, type=TranscriptHead)


def write_export(
    path: Path,
    format: str,
    session: CataloguedSession,
    cover: ExportRedactor | None,
    part: Sequence[Record] | None = None,
) -> dict[str, list[str]]:
    """Write the file atomically, replacing an existing one. `part` is for bundles only."""
    notes: dict[str, list[str]] = {}

    def write(out: BinaryIO) -> None:
        if format == "bundle":
            from robota.log.transfer.bundle import write_bundle

            manifest = write_bundle(out, session.directory, cover, wall_clock_ms(), part)
            notes["leftOut"] = list(manifest.left_out)
        else:
            for piece in _pieces(session, format, cover):
                out.write(piece)

    _write_whole(path, write)
    return notes


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


def file_ending(format: str) -> str:
    """The suffix of the file name of an export."""
    return {"markdown": "md", "html": "html", "stream-json": "jsonl", "bundle": "zip"}[format]
