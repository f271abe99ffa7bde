"""Fetches plugins and marketplaces into a staging directory: regular files only, within limits."""

import asyncio
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.config.trust.sources import MAX_BYTES, MAX_FILES
from robota.extensions.plugins.manifest import InvalidPlugin
from robota.extensions.plugins.marketplace import MARKETPLACE_FILES, Marketplace, parse_marketplace
from robota.extensions.plugins.origins import DirectoryOrigin, GitOrigin, Source
from robota.workspace.git.remote_tree import MAX_DEPTH, FetchedCommit, fetch_commit
from robota.workspace.git.run import GitError

OPEN_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class OpenSource(msgspec.Struct, frozen=True, kw_only=True):
    """A source that can be read: a directory, or a fetched commit. It `is_local` if it was on this machine before."""

    directory: Path | None = None
    fetched: FetchedCommit | None = None
    is_local: bool

    @property
    def commit(self) -> str:
        return "" if self.fetched is None else self.fetched.commit

    async def marketplace(self) -> Marketplace:
        """Its `marketplace.json`. Raises `InvalidPlugin`."""
        for path in MARKETPLACE_FILES:
            data = await self._read(path)
            if data is not None:
                return parse_marketplace(data, is_local=self.is_local)
        raise InvalidPlugin(f"it has no {MARKETPLACE_FILES[-1]}")

    async def copy(self, path: str, into: Path) -> tuple[str, ...]:
        """Copy the files below a path into an empty directory; returns the paths that were left out.

        Raises `InvalidPlugin`.
        """
        if self.fetched is not None:
            try:
                return await self.fetched.write(path, into)
            except GitError as error:
                raise InvalidPlugin(f"its files cannot be taken from the repository: {error}") from error
        assert self.directory is not None
        return await asyncio.to_thread(_copy_files, self.directory, path, into)

    async def _read(self, path: str) -> bytes | None:
        if self.fetched is not None:
            try:
                return await self.fetched.read(path)
            except GitError as error:
                raise InvalidPlugin(f"the file {path} cannot be read from the repository: {error}") from error
        assert self.directory is not None
        with suppress(OSError):
            return _read_regular(self.directory / path, MAX_BYTES)
        return None


async def open_source(source: Source, staging: Path, env: Mapping[str, str]) -> OpenSource:
    """Open a directory, or fetch a repository. Raises `InvalidPlugin`."""
    match source:
        case DirectoryOrigin(path=path):
            if not await asyncio.to_thread(Path(path).is_dir):
                raise InvalidPlugin(f"there is no directory {path}")
            return OpenSource(directory=Path(path), is_local=True)
        case GitOrigin(url=url, ref=ref, commit=commit):
            try:
                bare = Path(tempfile.mkdtemp(dir=staging))
                fetched = await fetch_commit(url, commit or ref, bare, env)
                return OpenSource(fetched=fetched, is_local=source.is_local)
            except GitError as error:
                raise InvalidPlugin(f"the repository {source.label} cannot be fetched: {error}") from error


def _copy_files(root: Path, path: str, into: Path) -> tuple[str, ...]:
    """Copy the regular files below `root/path`, which must not lead out of `root`. Raises `InvalidPlugin`."""
    top = (root / path).resolve()
    if not top.is_relative_to(root.resolve()) or not top.is_dir():
        raise InvalidPlugin(f"there is no directory {path or root} in {root}")
    left_out: list[str] = []
    count, size = 0, 0
    for relative in _walk(top, "", left_out):
        try:
            data, mode = _read_regular(top / relative, MAX_BYTES), os.lstat(top / relative).st_mode
        except OSError:
            left_out.append(relative)
            continue
        count, size = count + 1, size + len(data)
        if count > MAX_FILES or size > MAX_BYTES:
            raise InvalidPlugin(f"it has more than {MAX_FILES:,} files or {MAX_BYTES >> 20} MiB")
        target = into / relative
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        target.write_bytes(data)
        target.chmod(0o700 if mode & stat.S_IXUSR else 0o600)
    return tuple(left_out)


def _walk(top: Path, directory: str, left_out: list[str]) -> Iterator[str]:
    for entry in sorted(os.scandir(top / directory), key=lambda item: item.name):
        relative = f"{directory}/{entry.name}".lstrip("/")
        if entry.name.lower() == ".git":
            continue
        if entry.is_symlink() or not entry.name.isprintable() or relative.count("/") >= MAX_DEPTH:
            left_out.append(relative)
        elif entry.is_dir(follow_symlinks=False):
            yield from _walk(top, relative, left_out)
        elif entry.is_file(follow_symlinks=False):
            yield relative
        else:
            left_out.append(relative)


def _read_regular(path: Path, limit: int) -> bytes:
    with os.fdopen(os.open(path, OPEN_FLAGS), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("not a plain file")
        return file.read(limit + 1)
