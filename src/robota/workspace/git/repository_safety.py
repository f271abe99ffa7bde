"""Whether looking at a repository with git only looks: a repository's own configuration can make git run programs.

It is not part of a clone, but an unpacked archive or a copied directory may bring one. Only what is known to be
harmless counts as harmless.
"""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

HARMLESS: Final = {
    "core": "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf "
    "eol longpaths safecrlf abbrev quotepath untrackedcache",
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
# git itself writes where the files of a submodule are.
OF_SUBMODULES: Final = {"core": ["worktree"]}
SECTION: Final = re.compile(r'\s*\[([A-Za-z0-9-]+)(?:[ \t]+"(?:[^"\\]|\\.)*")?\][ \t]*(.*)')
HEAD: Final = re.compile(r"ref: refs/|[0-9a-f]{40}")
SETTING: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=.*)?")
# Runs when git refreshes its list of files, as `git status` does.
LOOKING_HOOK: Final = "hooks/post-index-change"
MOST_BYTES: Final = 256 * 1024
MOST_BYTES_OF_INDEX: Final = 64 * 1024 * 1024
MODE_OF_SUBMODULE: Final = re.compile(rb"(?=\x00\x00\xe0\x00)")
# The versions of the index that write every name in full.
FULL_NAMES: Final = frozenset({2, 3})
DEEPEST: Final = 8


def is_safe_repository(root: Path) -> bool:
    """Whether no program is named by the repository that git would find from `root`. None at all is fine, too."""
    try:
        for place in (root, *root.parents):
            if _looks_like_a_repository(place):
                # The directory itself is a repository without a working tree; git would take its word too.
                return False
            if os.path.lexists(place / ".git"):
                if not _is_plain(place / ".git", 0):
                    return False
                if _is_surely_a_repository(place / ".git"):
                    return True
    except (OSError, ValueError):
        return False
    return True


def _looks_like_a_repository(directory: Path) -> bool:
    """Even a link that leads nowhere is a HEAD to git, and the objects may be in another directory."""
    names = {name for name in ("HEAD", "objects", "commondir") if os.path.lexists(directory / name)}
    return "HEAD" in names and len(names) > 1


def _is_surely_a_repository(git: Path) -> bool:
    """Whether git stops here; past a directory that is none it looks further, and further up."""
    if not git.is_dir():
        return True
    return (git / "objects").is_dir() and (git / "refs").is_dir() and HEAD.match(_text(git / "HEAD")) is not None


def _is_plain(git: Path, depth: int) -> bool:
    directory = git if git.is_dir() else git.parent / _after_word("gitdir:", _text(git))
    common = directory
    if os.path.lexists(directory / "commondir"):
        common = directory / _text(directory / "commondir").strip()
    files = [file for file in (common / "config", directory / "config.worktree") if os.path.lexists(file)]
    if os.path.lexists(common / LOOKING_HOOK) or not all(_names_nothing(_text(file), depth) for file in files):
        return False
    # git looks into submodules with a git of its own, which obeys their settings.
    within = (git.parent / name / ".git" for name in _possible_submodules(directory) if name.strip("./"))
    return depth < DEEPEST and all(_is_plain(each, depth + 1) for each in within if os.path.lexists(each))


def _possible_submodules(directory: Path) -> Iterator[str]:
    """Every name that could be a submodule's in the index; more than there are does no harm."""
    for file in (directory / "index", *directory.glob("sharedindex.*")):
        index = _data(file, MOST_BYTES_OF_INDEX) if os.path.lexists(file) else b""
        version = int.from_bytes(index[4:8], "big")
        for found in MODE_OF_SUBMODULE.finditer(index, 36):
            if version not in FULL_NAMES:
                raise ValueError("names in the index are cut short")
            # The name stands at the end of an entry, after the mode, ten more numbers and a hash.
            for start in (found.start() + 38, found.start() + 40, found.start() + 50, found.start() + 52):
                yield os.fsdecode(index[start : index.find(b"\0", start)])


def _after_word(word: str, text: str) -> str:
    if not text.startswith(word):
        raise ValueError(f"no {word}")
    return text.removeprefix(word).strip()


def _names_nothing(config: str, depth: int) -> bool:
    known: list[str] = []
    for line in config.split("\n"):
        rest = line
        if header := SECTION.fullmatch(line):
            section = header[1].lower()
            known, rest = HARMLESS.get(section, "").split(), header[2]
            known += OF_SUBMODULES.get(section, []) if depth else []
        if not rest.strip() or rest.lstrip()[0] in "#;":
            continue
        setting = SETTING.fullmatch(rest)
        if setting is None or setting[1].lower() not in known or rest.endswith("\\"):
            return False
    return True


def _text(file: Path) -> str:
    return _data(file, MOST_BYTES).decode("utf-8-sig")


def _data(file: Path, most: int) -> bytes:
    """A plain and short file; anything else is an error, and so is never taken for harmless."""
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ValueError("not a plain file")
        data = stream.read(most + 1)
    if len(data) > most:
        raise ValueError("too long")
    return data
