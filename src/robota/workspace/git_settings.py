"""Whether looking at a repository with git only looks: a repository's own configuration can make git run programs.

It is not part of a clone, but an unpacked archive or a copied directory may bring one. Only what is known to be
harmless counts as harmless.
"""

import os
import re
import stat
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
SECTION: Final = re.compile(r'\s*\[([A-Za-z0-9-]+)(?:[ \t]+"(?:[^"\\]|\\.)*")?\][ \t]*(.*)')
SETTING: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=.*)?")
# Runs when git refreshes its list of files, as `git status` does.
LOOKING_HOOK: Final = "hooks/post-index-change"
MOST_BYTES: Final = 256 * 1024


def git_only_looks(root: Path) -> bool:
    """Whether no program is named by the repository that git would find from `root`. None at all is fine, too."""
    try:
        for place in (root, *root.parents):
            if os.path.lexists(place / ".git"):
                return _is_plain(place / ".git")
            if (place / "HEAD").is_file() and (place / "objects").is_dir():
                # The directory itself is a repository without a working tree; git would take its word too.
                return False
    except (OSError, ValueError):
        return False
    return True


def _is_plain(git: Path) -> bool:
    directory = git if git.is_dir() else git.parent / _after_word("gitdir:", _text(git))
    common = directory
    if os.path.lexists(directory / "commondir"):
        common = directory / _text(directory / "commondir").strip()
    files = [file for file in (common / "config", directory / "config.worktree") if os.path.lexists(file)]
    return not os.path.lexists(common / LOOKING_HOOK) and all(_names_nothing(_text(file)) for file in files)


def _after_word(word: str, text: str) -> str:
    if not text.startswith(word):
        raise ValueError(f"no {word}")
    return text.removeprefix(word).strip()


def _names_nothing(config: str) -> bool:
    known: list[str] = []
    for line in config.split("\n"):
        rest = line
        if header := SECTION.fullmatch(line):
            known, rest = HARMLESS.get(header[1].lower(), "").split(), header[2]
        if not rest.strip() or rest.lstrip()[0] in "#;":
            continue
        setting = SETTING.fullmatch(rest)
        if setting is None or setting[1].lower() not in known or rest.endswith("\\"):
            return False
    return True


def _text(file: Path) -> str:
    """A plain and short file; anything else is an error, and so is never taken for harmless."""
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ValueError("not a plain file")
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError("too long")
    return data.decode("utf-8-sig")
