"""Exports a session as one file for another machine: the log, its artifacts, and digests."""

import zipfile
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from robota.log.artifacts import ARTIFACTS_NAME, artifact_name, artifact_path
from robota.log.chain.growth import LogPosition, records_since
from robota.log.chain.reader import LOG_NAME, open_log
from robota.log.errors import ArtifactMissing
from robota.log.kinds.session import OriginRecord
from robota.log.record import FIRST_PREV, Record, kind_of, seal
from robota.log.transfer.export_redaction import ExportRedactor, artifacts_named_in
from robota.secrets.stated_secrets import stated_secrets
from robota.version import VERSION

BUNDLE_FORMAT: Final = "robota-session"
BUNDLE_VERSION: Final = 1
MANIFEST_NAME: Final = "manifest.json"
READ_AT_ONCE: Final = 1024 * 1024
# A larger artifact is not searched for secrets and so not exported.
MAX_COVERED_BYTES: Final = 64 * 1024 * 1024
REDACTED_NOTE: Final = (
    "Paths, names and keys were covered when this bundle was made, so its log has a chain of its own; "
    "the hash of the original's last record is in `originalHead`."
)


class BundledFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the bundle, by its name in it."""

    name: str
    size: int
    sha256: str


class BundleManifest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The content of a bundle. Fields of a newer version are ignored."""

    format: str
    version: int
    session_id: str
    created_ms: int
    robota: str
    redacted: bool
    original_head: str
    files: tuple[BundledFile, ...]
    left_out: tuple[str, ...] = ()
    note: str = ""


def write_bundle(
    out: BinaryIO, directory: Path, cover: ExportRedactor | None, now_ms: int, part: Sequence[Record] | None = None
) -> BundleManifest:
    """Write the session in a directory, or only a part of it. With a cover, everything is redacted.

    A part is always redacted. Raises OSError and `LogError`.
    """
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as bundle:
        source = directory / ARTIFACTS_NAME
        names = artifact_names(source)
        names = names if part is None else artifacts_named_in(part, names)
        files, left_out = _write_artifacts(bundle, source, names, cover)
        if cover is None:
            log, head = _write_log_as_it_is(bundle, directory / LOG_NAME)
        else:
            log, head = _write_covered_log(bundle, directory, cover, now_ms, part)
        manifest = BundleManifest(
            format=BUNDLE_FORMAT,
            version=BUNDLE_VERSION,
            session_id=directory.name,
            created_ms=now_ms,
            robota=VERSION,
            redacted=cover is not None,
            original_head=head,
            files=(log, *files),
            left_out=tuple(left_out),
            note=REDACTED_NOTE if cover is not None else "",
        )
        bundle.writestr(MANIFEST_NAME, msgspec.json.format(msgspec.json.encode(manifest), indent=2))
    return manifest


def _write_artifacts(
    bundle: zipfile.ZipFile, source: Path, names: Iterable[str], cover: ExportRedactor | None
) -> tuple[list[BundledFile], list[str]]:
    files: list[BundledFile] = []
    left_out: list[str] = []
    for name in names:
        path = source / name
        if cover is None:
            files.append(_write(bundle, f"{ARTIFACTS_NAME}/{name}", _pieces(path)))
            continue
        data = cover.data(path.read_bytes()) if path.stat().st_size <= MAX_COVERED_BYTES else None
        if data is None:
            left_out.append(name)
            continue
        new_name = artifact_name(data)
        if new_name != name:
            cover.rename_artifact(name, new_name)
        # Two artifacts that differ only in redacted text are equal now.
        if f"{ARTIFACTS_NAME}/{new_name}" not in bundle.namelist():
            files.append(_write(bundle, f"{ARTIFACTS_NAME}/{new_name}", iter((data,))))
    return files, left_out


def artifact_names(source: Path) -> list[str]:
    """The artifacts of a log, ignoring anything that another program has put there."""
    if not source.is_dir() or source.is_symlink():
        return []
    names = []
    for path in sorted(source.iterdir()):
        try:
            artifact_path(source, path.name)
        except ArtifactMissing:
            continue
        if not path.is_symlink():
            names.append(path.name)
    return names


def _write_log_as_it_is(bundle: zipfile.ZipFile, log: Path) -> tuple[BundledFile, str]:
    """Write the log up to its last valid record; a running session may be in the middle of a line."""
    end = LogPosition()
    for grown in records_since(log, end):
        end = grown.position

    def pieces() -> Iterator[bytes]:
        left = end.offset
        with open_log(log) as stream:
            while left and (piece := stream.read(min(READ_AT_ONCE, left))):
                left -= len(piece)
                yield piece

    return _write(bundle, LOG_NAME, pieces()), end.hash


def _write_covered_log(
    bundle: zipfile.ZipFile, directory: Path, cover: ExportRedactor, now_ms: int, part: Sequence[Record] | None
) -> tuple[BundledFile, str]:
    """Write the records redacted, with the same times and a new chain, and a record about the redaction."""
    original = [""]
    everything = (grown.record for grown in records_since(directory / LOG_NAME, LogPosition()))

    def lines() -> Iterator[bytes]:
        head, seq, ts = FIRST_PREV, 0, 0
        for record in everything if part is None else part:
            original[0] = record.hash
            # A skipped line leaves no gap in the new chain, so numbers of rewinds are off by one for each.
            seq, ts = seq + 1, record.ts
            line, head = seal(seq, ts, record.kind, cover.payload(bytes(record.payload)), head)
            yield line
        origin = OriginRecord(source="bundle", session_id=directory.name, head=original[0], at_ms=now_ms, redacted=True)
        yield seal(seq + 1, max(now_ms, ts + 1), kind_of(origin), origin.to_json(), head)[0]

    return _write(bundle, LOG_NAME, lines()), original[0]


def _write(bundle: zipfile.ZipFile, name: str, pieces: Iterator[bytes]) -> BundledFile:
    digest, size = sha256(), 0
    with bundle.open(name, "w", force_zip64=True) as stream:
        for piece in pieces:
            stream.write(piece)
            digest.update(piece)
            size += len(piece)
    return BundledFile(name=name, size=size, sha256=digest.hexdigest())


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        while piece := stream.read(READ_AT_ONCE):
            yield piece


def secrets_stated_in(directory: Path) -> set[str]:
    """The values that records and artifacts label as a password, key or similar. Raises OSError and `LogError`."""
    secrets: set[str] = set()
    for grown in records_since(directory / LOG_NAME, LogPosition()):
        secrets.update(stated_secrets(msgspec.json.decode(grown.record.payload)))
    artifacts = directory / ARTIFACTS_NAME
    for name in artifact_names(artifacts):
        if (artifacts / name).stat().st_size <= MAX_COVERED_BYTES:
            secrets.update(stated_secrets((artifacts / name).read_text(errors="replace")))
    return secrets
