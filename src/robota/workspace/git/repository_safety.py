"""Whether read-only git commands in a repository really only read, and only files of the workspace.

A repository's own configuration can make git run programs, and its files can lead git elsewhere. A clone brings none of
that, but an unpacked archive or a copied directory may. Only what is known to be harmless counts as harmless.
"""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from robota.config.trust.linked_worktree import proven_repository
from robota.workspace.files.path_status import Presence, presence_of
from robota.workspace.git.git_safety import GitSafety

# With the settings that `process.git_settings` adds to every command, none of these makes a read-only git run anything.
HARMLESS: Final = {
    "core": "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf "
    "eol longpaths safecrlf abbrev quotepath untrackedcache hookspath",
    "remote": "url pushurl fetch push tagopt prune gh-resolved",
    "branch": "remote merge rebase description vscode-merge-base",
    "user": "name email signingkey useconfigonly",
    "submodule": "active url branch ignore path recurse",
    "init": "defaultbranch",
    "pull": "rebase ff",
    "push": "default autosetupremote followtags",
    "fetch": "prune prunetags",
    "merge": "conflictstyle ff",
    "rebase": "autosquash autostash updaterefs",
    "commit": "gpgsign",
    "extensions": "worktreeconfig objectformat refstorage",
    "color": "ui",
    "advice": "detachedhead addignoredfile",
}
SECTION: Final = re.compile(r'\s*\[([A-Za-z0-9-]+)(?:[ \t]+"(?:[^"\\]|\\.)*")?\][ \t]*(.*)')
HEAD: Final = re.compile(r"ref: refs/|[0-9a-f]{40}")
SETTING: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=(.*))?")
# git itself writes this setting for submodules.
WORKTREE: Final = "core.worktree"
# Runs when git refreshes its index, as `git status` does.
LOOKING_HOOK: Final = "hooks/post-index-change"
MAX_BYTES: Final = 256 * 1024
MAX_INDEX_BYTES: Final = 64 * 1024 * 1024
MODE_OF_SUBMODULE: Final = re.compile(rb"(?=\x00\x00\xe0\x00)")
# The index versions that store every name in full.
FULL_NAMES: Final = frozenset({2, 3})
MAX_DEPTH: Final = 8
MAX_ENTRIES: Final = 20_000
# These hold only objects, or repositories that are checked separately.
NOT_WALKED: Final = frozenset({"modules", "worktrees", "lfs", "annex"})


class _Problem(Exception):
    """Why a repository is not plain, as the end of a sentence about it."""


def git_safety(root: Path, directory: str = ".") -> GitSafety:
    """The repository that git would find from a directory of the workspace upwards. Finding none is fine."""
    root = Path(os.path.realpath(root))
    start = Path(os.path.realpath(root / directory))
    if not start.is_relative_to(root):
        return GitSafety(problem=f"{directory!r} is outside the workspace")
    try:
        top = _top(start, root)
    except _Problem as problem:
        return GitSafety(problem=str(problem))
    except (OSError, ValueError):
        return GitSafety(problem="its files are not in the format that git writes")
    return GitSafety(reaches_above=top is not None and not top.is_relative_to(root))


def _top(start: Path, root: Path) -> Path | None:
    """The directory of the repository that git would find; `_Problem` if it is not plain."""
    for directory in (start, *start.parents):
        if _looks_like_a_repository(directory):
            # The directory itself looks like a bare repository, whose configuration git would obey too.
            raise _Problem(f"{directory.name!r} looks like a bare repository")
        if _is_there(directory / ".git"):
            boundary = root if directory.is_relative_to(root) else directory
            _require_plain(directory / ".git", (boundary,), 0)
            if _is_surely_a_repository(directory / ".git"):
                return directory
    return None


def _is_there(path: Path) -> bool:
    """Whether git would find something. Raises `_Problem` if that cannot be told."""
    presence = presence_of(path)
    if presence is Presence.UNKNOWN:
        raise _Problem(f"{str(path)!r} cannot be looked at")
    return presence is Presence.PRESENT


def _looks_like_a_repository(directory: Path) -> bool:
    """A dangling link counts as HEAD for git, and the objects may be in another directory."""
    names = {name for name in ("HEAD", "objects", "commondir") if _is_there(directory / name)}
    return "HEAD" in names and len(names) > 1


def _is_surely_a_repository(git: Path) -> bool:
    """Whether git stops its search here; it passes over an invalid `.git` and searches further up."""
    if not git.is_dir():
        return True
    return (git / "objects").is_dir() and (git / "refs").is_dir() and HEAD.match(_read_text(git / "HEAD")) is not None


def _require_plain(git: Path, boundaries: tuple[Path, ...], depth: int) -> None:
    """Raise `_Problem` unless everything that git reads is inside the directories in `boundaries`."""
    if depth > MAX_DEPTH:
        raise _Problem("its submodules are nested too deeply to check")
    directory, common = _directories(git, boundaries)
    if not _is_within(common, boundaries):
        # A worktree that both sides know: its repository is elsewhere, and so are its submodules.
        boundaries = (*boundaries, common)
    _require_no_alternates(common, boundaries)
    for each in dict.fromkeys((common, directory)):
        _require_no_links(each)
    if _is_there(common / LOOKING_HOOK):
        raise _Problem("it has the hook post-index-change")
    for file in (common / "config", directory / "config.worktree"):
        if _is_there(file):
            _require_harmless(_read_text(file), git, directory if depth else None)
    # git starts another git in each submodule, which obeys the configuration there.
    for name in _possible_submodules(directory):
        within = git.parent / name / ".git"
        if name.strip("./") and _is_there(within):
            _require_plain(within, boundaries, depth + 1)


def _directories(git: Path, boundaries: tuple[Path, ...]) -> tuple[Path, Path]:
    """The git directory and the common directory of its worktrees, both proven to belong here."""
    if git.is_symlink():
        raise _Problem(f"{git.name} is a symbolic link")
    if not git.is_dir():
        proven = proven_repository(git.parent)
        own = git.parent / _after_word("gitdir:", _read_text(git))
        if proven is not None:
            return own, proven
        if not _is_within(own, boundaries):
            raise _Problem("its .git file points to a repository outside the workspace")
        git = own
    common = git
    if _is_there(git / "commondir"):
        common = git / _read_text(git / "commondir").strip()
        if not _is_within(common, boundaries):
            raise _Problem("its commondir file points to a repository outside the workspace")
    return git, common


def _is_within(path: Path, boundaries: tuple[Path, ...]) -> bool:
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(boundary) for boundary in boundaries)


def _require_no_alternates(common: Path, boundaries: tuple[Path, ...]) -> None:
    file = common / "objects" / "info" / "alternates"
    if not _is_there(file):
        return
    if not all(_is_within(common / "objects" / line, boundaries) for line in _read_text(file).splitlines() if line):
        raise _Problem("it also uses objects outside the workspace (objects/info/alternates)")


def _require_no_links(directory: Path) -> None:
    """Raise `_Problem` for a link in a git directory: it can lead to any file, which git would then read."""
    waiting, seen = [directory], 0
    while waiting:
        parent = waiting.pop()
        with os.scandir(parent) as entries:
            for entry in entries:
                seen += 1
                if seen > MAX_ENTRIES:
                    raise _Problem(f"its git directory contains more than {MAX_ENTRIES:,} files")
                if entry.is_symlink():
                    raise _Problem(f"in its git directory, {os.path.relpath(entry.path, directory)!r} is a link")
                path = Path(entry.path)
                if entry.is_dir() and not _is_looked_at_elsewhere(path.relative_to(directory).parts):
                    waiting.append(path)


def _is_looked_at_elsewhere(parts: tuple[str, ...]) -> bool:
    return parts[0] in NOT_WALKED or (len(parts) == 2 and parts[0] == "objects" and parts[1] not in {"info", "pack"})


def _possible_submodules(directory: Path) -> Iterator[str]:
    """Every name in the index that could be a submodule; false positives are harmless."""
    for file in (directory / "index", *directory.glob("sharedindex.*")):
        index = _read_small_file(file, MAX_INDEX_BYTES) if _is_there(file) else b""
        version = int.from_bytes(index[4:8], "big")
        for match in MODE_OF_SUBMODULE.finditer(index, 36):
            if version not in FULL_NAMES:
                raise ValueError("names in the index are truncated")
            # The name is at the end of an entry, after the mode, ten more numbers and a hash.
            for start in (match.start() + 38, match.start() + 40, match.start() + 50, match.start() + 52):
                yield os.fsdecode(index[start : index.find(b"\0", start)])


def _after_word(word: str, text: str) -> str:
    if not text.startswith(word):
        raise ValueError(f"no {word}")
    return text.removeprefix(word).strip()


def _require_harmless(config: str, git: Path, of_submodule: Path | None) -> None:
    """`of_submodule` is the git directory of a submodule, whose work tree must be where its `.git` is; else None."""
    for setting, value in _settings(config):
        section, _, name = setting.partition(".")
        if of_submodule is not None and setting == WORKTREE:
            if os.path.realpath(of_submodule / value.strip()) != os.path.realpath(git.parent):
                raise _Problem(f"the submodule {git.parent.name!r} has its working tree elsewhere ({WORKTREE})")
        elif name not in HARMLESS.get(section, "").split():
            raise _Problem(f"its configuration sets {setting}, which may name a program")


def _settings(config: str) -> Iterator[tuple[str, str]]:
    """Each setting as lower-case `section.name`, with its value as written."""
    section = ""
    for line in config.split("\n"):
        rest = line
        if header := SECTION.fullmatch(line):
            section, rest = header[1].lower(), header[2]
        if not rest.strip() or rest.lstrip()[0] in "#;":
            continue
        setting = SETTING.fullmatch(rest)
        if setting is None or rest.endswith("\\"):
            raise ValueError("not a line in the format that git writes")
        yield f"{section}.{setting[1].lower()}", setting[2] or ""


def _read_text(file: Path) -> str:
    return _read_small_file(file, MAX_BYTES).decode("utf-8-sig")


def _read_small_file(file: Path, max_bytes: int) -> bytes:
    """The content of a small regular file; anything else raises, and so never counts as harmless."""
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ValueError("not a plain file")
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise ValueError("too long")
    return data
