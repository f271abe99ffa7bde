"""The origins of plugins and marketplaces (a directory, a git repository, a marketplace), and their parsing."""

import re
from pathlib import Path, PurePosixPath
from typing import Any, Final

import msgspec

from robota.extensions.plugins.manifest import InvalidPlugin
from robota.text.visible import single_line
from robota.workspace.git.remote_address import is_address, is_revision

GITHUB: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")
LOCAL_PREFIXES: Final = ("/", "./", "../", "~/")


class DirectoryOrigin(msgspec.Struct, frozen=True, kw_only=True, tag="directory", tag_field="kind"):
    """A directory of this machine."""

    path: str

    @property
    def label(self) -> str:
        return self.path


class GitOrigin(msgspec.Struct, frozen=True, kw_only=True, tag="git", tag_field="kind"):
    """A git repository, or the directory `path` in it. If `commit` is set, exactly that commit is used."""

    url: str
    ref: str = ""
    commit: str = ""
    path: str = ""

    @property
    def is_local(self) -> bool:
        """Whether the repository is on this machine."""
        return self.url.lower().startswith("file:")

    @property
    def label(self) -> str:
        return f"{self.url}{f'#{self.ref}' if self.ref else ''}{f' in {self.path}' if self.path else ''}"


class MarketplaceOrigin(msgspec.Struct, frozen=True, kw_only=True, tag="marketplace", tag_field="kind"):
    """An entry of a marketplace, which is read again for every update."""

    marketplace: str

    @property
    def label(self) -> str:
        return f"the marketplace {self.marketplace}"


Source = DirectoryOrigin | GitOrigin
Origin = DirectoryOrigin | GitOrigin | MarketplaceOrigin


def parse_typed_source(text: str, here: Path) -> Source | None:
    """Parse a typed path (`./x`), URL (`https://…#ref`) or `owner/name` of GitHub; None for anything else.

    Raises `InvalidPlugin` for a URL that git must not fetch.
    """
    if text in (".", "..", "~") or text.startswith(LOCAL_PREFIXES):
        return DirectoryOrigin(path=str((here / Path(text).expanduser()).resolve()))
    address, _, ref = text.partition("#")
    if GITHUB.fullmatch(address):
        return _git({"url": f"https://github.com/{address}.git", "ref": ref})
    if "://" in address or re.match(r"[\w.-]+@[\w.-]+:", address):
        return _git({"url": address, "ref": ref})
    return None


def parse_written_source(written: Any, here: Path) -> Source:
    """Parse a source in the format of Claude Code, from settings and marketplaces. Raises `InvalidPlugin`."""
    match written:
        case {"source": "github", "repo": str(repo)} if GITHUB.fullmatch(repo):
            return _git({**written, "url": f"https://github.com/{repo}.git"})
        case {"source": "git" | "url" | "git-subdir", "url": str()}:
            return _git(written)
        case {"source": "directory" | "local", "path": str(path)}:
            return DirectoryOrigin(path=str((here / Path(path).expanduser()).resolve()))
        case {"source": str(kind)}:
            raise InvalidPlugin(f"its source {single_line(kind)!r} is not supported, or not written as it should be")
    raise InvalidPlugin("its source is not written as one")


def contained_path(written: str) -> str:
    """A normalised relative path; empty for `.`. Raises `InvalidPlugin` if it could leave its directory."""
    path = PurePosixPath(written)
    if path.is_absolute() or ".." in path.parts or "\\" in written or not written.isprintable():
        raise InvalidPlugin(f"its path {single_line(written, 200)!r} is outside the allowed directory")
    return "" if str(path) == "." else str(path)


def _git(written: dict[str, Any]) -> GitOrigin:
    url, ref, commit, path = (written.get(key) or "" for key in ("url", "ref", "sha", "path"))
    if not all(isinstance(part, str) for part in (url, ref, commit, path)):
        raise InvalidPlugin("its source is not written as one")
    if not is_address(url):
        raise InvalidPlugin(f"{single_line(url, 200)!r} is not a URL that git may fetch from: https, ssh or file")
    if re.match(r"\w+://[^/]*:[^/]*@", url):
        raise InvalidPlugin("its address has a password in it; let git ask your credential helper instead")
    if not all(is_revision(part) for part in (ref, commit) if part):
        raise InvalidPlugin(f"{single_line(ref or commit)!r} is not a branch, tag or commit")
    return GitOrigin(url=url, ref=ref, commit=commit, path=contained_path(path))
