"""The files of a commit in a remote repository, fetched and written without checking it out.

Only objects are fetched, into a bare repository of our own: no hook, filter, submodule or setting of the remote can
run. Files are written from the objects: regular files only, within limits on their number and size.
"""

import asyncio
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from robota.config.trust.sources import MAX_BYTES, MAX_FILES
from robota.text.visible import single_line
from robota.workspace.git.remote_address import is_address, is_revision
from robota.workspace.git.run import Git, GitError, GitFailed, GitStopped, open_git

FETCH_LIMIT_S: Final = 120.0
MAX_FETCHED_BYTES: Final = 512 * 1024 * 1024
LOOK_S: Final = 0.5
MAX_DEPTH: Final = 12
# Half of what git may print; the headers are the rest.
BATCH_BYTES: Final = 8 * 1024 * 1024
MAX_FILE_BYTES: Final = 12 * 1024 * 1024
COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
PROTOCOLS: Final = "https:ssh:file"
SETTINGS: Final = (
    "http.followRedirects=false",
    "transfer.fsckObjects=true",
    "fetch.recurseSubmodules=false",
    "credential.interactive=false",
)
NOT_OURS: Final = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM")
PLAIN: Final = {"100644": 0o600, "100755": 0o700}


class TreeTooLarge(GitError):
    """The commit has more files or bytes than may be written."""


class _Entry(msgspec.Struct, frozen=True):
    mode: str
    object: str
    size: int
    path: str


class FetchedCommit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit whose objects have been fetched."""

    git: Git
    commit: str

    async def read(self, path: str) -> bytes | None:
        """A regular file of the commit; None if it does not exist or is too large."""
        listed = await self.git.run("ls-tree", "-z", "-l", "--full-tree", self.commit, "--", path)
        entries = [_entry(line) for line in listed.split("\0") if line]
        if len(entries) != 1 or entries[0].mode not in PLAIN or entries[0].size > MAX_FILE_BYTES:
            return None
        return next(await self._contents(entries))

    async def write(self, path: str, into: Path) -> tuple[str, ...]:
        """Write the files below a path of the commit into an empty directory; returns what was left out, and why."""
        entries = await self._entries(path)
        plain = [each for each in entries if each.mode in PLAIN and _is_writable(each.path)]
        if len(plain) > MAX_FILES or sum(each.size for each in plain) > MAX_BYTES:
            raise TreeTooLarge(f"there are more than {MAX_FILES:,} files or {MAX_BYTES >> 20} MiB")
        large = next((each for each in plain if each.size > MAX_FILE_BYTES), None)
        if large is not None:
            raise TreeTooLarge(f"{single_line(large.path, 200)} is larger than {MAX_FILE_BYTES >> 20} MiB")
        for batch in _batches(plain):
            for entry, data in zip(batch, await self._contents(batch), strict=True):
                target = into / entry.path
                target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, PLAIN[entry.mode])
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
        written = {each.path for each in plain}
        return tuple(each.path for each in entries if each.path not in written)

    async def _entries(self, path: str) -> list[_Entry]:
        try:
            listed = await self.git.run("ls-tree", "-r", "-z", "-l", "--full-tree", f"{self.commit}:{path}")
        except GitFailed as error:
            raise GitFailed(f"there is no directory {path or '.'} in the commit {self.commit[:12]}", 1) from error
        return [_entry(line) for line in listed.split("\0") if line]

    async def _contents(self, entries: list[_Entry]) -> Iterator[bytes]:
        object_names = "".join(f"{entry.object}\n" for entry in entries).encode()
        printed = os.fsencode(await self.git.run("cat-file", "--batch", stdin=object_names))
        return _blobs(printed, entries)


def _batches(entries: Iterable[_Entry]) -> Iterator[list[_Entry]]:
    """The entries in groups whose content git may print at once."""
    batch: list[_Entry] = []
    size = 0
    for entry in entries:
        if batch and size + entry.size > BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += entry.size
    if batch:
        yield batch


async def fetch_commit(address: str, revision: str, directory: Path, env: Mapping[str, str]) -> FetchedCommit:
    """Fetch one commit into an empty directory; `revision` may be empty for the default branch. Raises `GitError`."""
    if not is_address(address) or (revision and not is_revision(revision)):
        raise GitFailed(f"{address!r} {revision!r} is not an address (https, ssh, file) and a revision", 1)
    git = await open_git(directory, env, workspace=_workspace_here(env) or directory)
    await git.run("init", "--quiet", "--bare", "--template=", str(directory))
    at_home = {**git.environment, "GIT_DIR": str(directory)}
    git = msgspec.structs.replace(git, environment=at_home, settings=(*git.settings, *SETTINGS))
    # The user's own settings have their proxies and credentials.
    outward = {name: value for name, value in at_home.items() if name not in NOT_OURS}
    fetching = msgspec.structs.replace(git, environment={**outward, "GIT_ALLOW_PROTOCOL": PROTOCOLS})
    await _fetch_within_limits(fetching, address, revision or "HEAD", directory)
    commit = await git.line("rev-parse", "--verify", "FETCH_HEAD^{commit}")
    if COMMIT.fullmatch(revision) and commit != revision:
        raise GitFailed(f"the repository gave the commit {commit} instead of {revision}", 1)
    return FetchedCommit(git=git, commit=commit)


async def _fetch_within_limits(git: Git, address: str, revision: str, directory: Path) -> None:
    fetch = asyncio.ensure_future(
        git.run("fetch", "--quiet", "--depth=1", "--no-tags", "--", address, revision, timeout_s=FETCH_LIMIT_S)
    )
    try:
        while not fetch.done():
            await asyncio.wait((fetch,), timeout=LOOK_S)
            if await asyncio.to_thread(_size_of, directory) > MAX_FETCHED_BYTES:
                raise GitStopped(f"the repository is larger than {MAX_FETCHED_BYTES >> 20} MiB")
        await fetch
    finally:
        if not fetch.done():
            fetch.cancel()
            with suppress(asyncio.CancelledError):
                await fetch


def _size_of(directory: Path) -> int:
    total = 0
    for top, _, names in os.walk(directory):
        for name in names:
            with suppress(OSError):
                total += os.lstat(f"{top}/{name}").st_size
    return total


def _entry(line: str) -> _Entry:
    head, _, path = line.partition("\t")
    mode, _, name, size = head.split()
    return _Entry(mode, name, int(size) if size.isdecimal() else 0, path)


def _is_writable(path: str) -> bool:
    """Whether the path stays inside the directory, is printable, not too deep, and not part of a git directory."""
    steps = PurePosixPath(path).parts
    is_inside = not path.startswith("/") and ".." not in steps
    return is_inside and path.isprintable() and len(steps) <= MAX_DEPTH and ".git" not in map(str.lower, steps)


def _blobs(printed: bytes, entries: list[_Entry]) -> Iterator[bytes]:
    offset = 0
    for entry in entries:
        begin = printed.index(b"\n", offset) + 1
        offset = begin + entry.size + 1
        yield printed[begin : begin + entry.size]


def _workspace_here(env: Mapping[str, str]) -> Path | None:
    """The directory that Robota was started in, unless it holds all programs of the user."""
    here = Path.cwd()
    return None if here in (Path("/"), Path(env.get("HOME", "/"))) else here
