"""Imports a bundle. Nothing in it is trusted: names, sizes and digests are checked, and approvals are dropped."""

import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from robota.log.artifacts import ARTIFACTS_NAME, HEX_DIGITS, NAME_LENGTH
from robota.log.chain.growth import LogPosition, records_since
from robota.log.chain.head import ChainHead
from robota.log.chain.reader import LOG_NAME
from robota.log.chain.verify import verify
from robota.log.errors import ImportRefused
from robota.log.kinds.session import OriginRecord, SessionHeader
from robota.log.record import payload_of
from robota.log.transfer.bundle import (
    BUNDLE_FORMAT,
    BUNDLE_VERSION,
    MANIFEST_NAME,
    READ_AT_ONCE,
    BundledFile,
    BundleManifest,
)
from robota.log.transfer.draft import DraftSession, foreign_header
from robota.text.visible import single_line

MAX_MANIFEST_BYTES: Final = 4 * 1024 * 1024
MAX_BUNDLE_BYTES: Final = 4 * 1024 * 1024 * 1024
MAX_FILES: Final = 100_000


def read_manifest(path: Path) -> BundleManifest:
    """The manifest of a bundle. Raises `ImportRefused` if this version cannot read it."""
    try:
        with zipfile.ZipFile(path) as bundle:
            if bundle.getinfo(MANIFEST_NAME).file_size > MAX_MANIFEST_BYTES:
                raise _refused(path, "its manifest is too large")
            with bundle.open(MANIFEST_NAME) as stream:
                manifest = msgspec.json.decode(stream.read(MAX_MANIFEST_BYTES), type=BundleManifest)
    except (KeyError, zipfile.BadZipFile, msgspec.DecodeError, NotImplementedError, RuntimeError, EOFError) as error:
        raise _refused(path, f"it is not a session bundle ({single_line(str(error))})") from error
    if manifest.format != BUNDLE_FORMAT:
        raise _refused(path, "it is not a session bundle")
    if manifest.version > BUNDLE_VERSION:
        raise _refused(path, f"it was made by robota {single_line(manifest.robota)}, which is newer than this one")
    if len(manifest.files) > MAX_FILES or sum(max(file.size, 0) for file in manifest.files) > MAX_BUNDLE_BYTES:
        raise _refused(path, "it is too large")
    return manifest


def take_in(draft: DraftSession, path: Path, manifest: BundleManifest, new_id: str, root: Path, now_ms: int) -> str:
    """Put the content of a bundle into a draft. Returns a note for the user, or an empty text."""
    scratch = draft.directory / "bundled-log"
    (draft.directory / ARTIFACTS_NAME).mkdir(mode=0o700)
    try:
        with zipfile.ZipFile(path) as bundle:
            for file in manifest.files:
                _extract(path, bundle, file, _target_path(path, draft, file.name, scratch))
    except (KeyError, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise _refused(path, f"it is damaged ({single_line(str(error))})") from error
    if not scratch.exists():
        raise _refused(path, "there is no log in it")
    notice = _take_log(draft, scratch, manifest, new_id, root, now_ms)
    scratch.unlink()
    return notice


def _target_path(path: Path, draft: DraftSession, name: str, scratch: Path) -> Path:
    """The target of a file of the bundle; only a log and artifacts are accepted."""
    if name == LOG_NAME:
        return scratch
    folder, _, last = name.partition("/")
    if folder != ARTIFACTS_NAME or len(last) != NAME_LENGTH or not HEX_DIGITS.issuperset(last):
        raise _refused(path, f"it contains the unexpected file {single_line(name)!r}")
    return draft.directory / ARTIFACTS_NAME / last


def _extract(path: Path, bundle: zipfile.ZipFile, file: BundledFile, target: Path) -> None:
    digest, size = sha256(), 0
    with bundle.open(file.name) as stream, target.open("xb") as out:
        target.chmod(0o600)
        while piece := stream.read(READ_AT_ONCE):
            size += len(piece)
            if size > file.size:
                raise _refused(path, f"{file.name} in it is larger than it says")
            digest.update(piece)
            out.write(piece)
    if size != file.size or digest.hexdigest() != file.sha256:
        raise _refused(path, f"{file.name} in it is not what was put there")
    if file.name != LOG_NAME and not digest.hexdigest().startswith(target.name):
        raise _refused(path, f"{file.name} in it has the name of another content")


def _take_log(draft: DraftSession, log: Path, manifest: BundleManifest, new_id: str, root: Path, now_ms: int) -> str:
    report = verify(log)
    end, last_seq, last_ts = LogPosition(), 0, 0
    header: SessionHeader | None = None
    for grown in records_since(log, LogPosition()):
        end, last_seq, last_ts = grown.position, grown.record.seq, max(last_ts, grown.record.ts)
        payload = payload_of(grown.record) if grown.record.kind == "session" else None
        header = payload if isinstance(payload, SessionHeader) else header
    if header is None:
        raise _refused(log, "its log does not say which session it belongs to")
    draft.add_sealed_log(log, ChainHead(last_seq, end.hash), last_ts)
    origin = OriginRecord(
        source="bundle",
        session_id=manifest.session_id,
        cwd=header.cwd,
        head=manifest.original_head,
        at_ms=now_ms,
        redacted=manifest.redacted,
    )
    draft.append(origin, now_ms)
    draft.append(foreign_header(header, new_id, root))  # the newest header counts
    return "" if report.broken is None else f"The chain of its log was already broken: {report.broken.explanation}."


def _refused(path: Path, reason: str) -> ImportRefused:
    return ImportRefused(f"{path} cannot be imported: {reason}. Nothing was changed.")
