"""Which files in a git directory are data, and what they may contain: nothing that git would execute or obey.

An allow list. Everything else (configuration, hooks, attributes, links to other repositories and worktrees, modules,
alternates, the todo list of a rebase with its `exec` lines, names that a later git invents) is never written back
from a command's copy.
"""

import re
from typing import Final

from robota.workspace.git.index_gitlinks import GITLINK, read_index

INDEX: Final = "index"
HEAD: Final = "HEAD"
PACKED_REFS: Final = "packed-refs"
OBJECTS: Final = "objects"
REFS: Final = "refs"
LOGS: Final = "logs"
LFS: Final = "lfs"

# Of a working tree: the current commit, what is staged, and a merge, pick or bisection in progress.
OF_WORKING_TREE: Final = frozenset(
    """
    HEAD index ORIG_HEAD FETCH_HEAD MERGE_HEAD MERGE_MODE MERGE_MSG MERGE_AUTOSTASH AUTO_MERGE SQUASH_MSG
    COMMIT_EDITMSG TAG_EDITMSG NOTES_EDITMSG CHERRY_PICK_HEAD REVERT_HEAD
    BISECT_LOG BISECT_NAMES BISECT_START BISECT_TERMS BISECT_EXPECTED_REV BISECT_ANCESTORS_OK BISECT_FIRST_PARENT
    BISECT_HEAD
    """.split()
)
# Of the repository as a whole.
OF_REPOSITORY: Final = frozenset({PACKED_REFS})
# Directories that contain only data.
TREES: Final = (REFS, LOGS)

MAX_BYTES: Final = 256 << 20
OBJECT_ID: Final = rb"(?:[0-9a-f]{40}|[0-9a-f]{64})"
# With any other HEAD git does not take the directory for a repository, and looks for one elsewhere.
HEAD_FILE: Final = re.compile(rb"(?:" + OBJECT_ID + rb"|ref: (refs/[^\x00-\x20]+))\n")
PACKED_LINE: Final = rb"#[^\n]*|" + OBJECT_ID + rb" refs/[^\x00-\x20]+|\^" + OBJECT_ID
PACKED_NAME: Final = re.compile(rb"(?m)^" + OBJECT_ID + rb" (.*)$")
PACKED_FILE: Final = re.compile(rb"(?:(?:" + PACKED_LINE + rb")\n)*")
# Two commits, who, when, and a message, which `git stash` and `git commit` take from anywhere.
REFLOG: Final = re.compile(rb"(?:" + OBJECT_ID + rb" " + OBJECT_ID + rb" [^\n\x00]*\n)*")
LOGGED: Final = re.compile(r"logs/(?:[A-Z_]+|refs/.+)")
NOTHING: Final = re.compile(rb"(?!)")
COMMITS: Final = re.compile(rb"(?:" + OBJECT_ID + rb"\n?)*")
# A word as git quotes it for a shell: until 2.30 `git bisect` was a script that evaluates the content of these files.
QUOTED: Final = rb"'(?:[^'\n]|'\\['!]')*'"
BISECT_LINE: Final = rb"#[^\n]*|git bisect [A-Za-z0-9._-]+(?: (?:" + QUOTED + rb"|[0-9a-f]+))*"
CONTENTS: Final = {
    HEAD: HEAD_FILE,
    PACKED_REFS: PACKED_FILE,
    **dict.fromkeys(
        "ORIG_HEAD MERGE_HEAD MERGE_AUTOSTASH AUTO_MERGE CHERRY_PICK_HEAD REVERT_HEAD BISECT_HEAD "
        "BISECT_EXPECTED_REV".split(),
        COMMITS,
    ),
    "BISECT_NAMES": re.compile(rb"(?: " + QUOTED + rb")*\n?"),
    "BISECT_LOG": re.compile(rb"(?:(?:" + BISECT_LINE + rb")\n)*"),
    "BISECT_START": re.compile(rb"[^\x00-\x20-][^\x00-\x20]*\n?"),
    "BISECT_TERMS": re.compile(rb"(?:[A-Za-z0-9][A-Za-z0-9._-]*\n)*"),
    "BISECT_ANCESTORS_OK": re.compile(rb"\s*"),
    "BISECT_FIRST_PARENT": re.compile(rb"\s*"),
}


# Names that git does not accept as refs (git-check-ref-format). One that begins with a dash would be read as an option,
# and a branch named HEAD makes every command that says HEAD ambiguous; git itself no longer creates either.
NO_REF: Final = re.compile(
    r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|/[./-]|\.lock(?:/|\Z)|[./]\Z|\A(?:logs/)?refs/heads/HEAD\Z"
)
# Such a ref makes git show another object instead of the one that was committed, to everybody who looks.
REPLACEMENT: Final = re.compile(r"(?:logs/)?refs/replace/")
REPLACES: Final = "{} would make git show something else than what was committed"
SYMLINK: Final = 0o120000


def problem_with(name: str, data: bytes) -> str | None:
    """Why a file with this content must not be written back; None if it may be. Submodules are not judged here."""
    if name.startswith((f"{REFS}/", f"{LOGS}/")) and NO_REF.search(name):
        return f"{name!r} is not the name of a branch or tag"
    if REPLACEMENT.match(name):
        return REPLACES.format(repr(name))
    if name == INDEX:
        return _problem_with_index(data)
    if name == PACKED_REFS and (odd := next(filter(_is_no_ref, PACKED_NAME.findall(data)), None)) is not None:
        return f"{PACKED_REFS} names {odd!r}, which is not the name of a branch or tag"
    if name == PACKED_REFS and b" refs/replace/" in data:
        return REPLACES.format("'refs/replace' in packed-refs")
    if name.startswith(f"{LOGS}/"):
        pattern: re.Pattern[bytes] | None = REFLOG if LOGGED.fullmatch(name) else NOTHING
    else:
        pattern = HEAD_FILE if name.startswith(f"{REFS}/") else CONTENTS.get(name)
    if pattern is not None and (written := pattern.fullmatch(data)) is None:
        return f"{name} does not hold what git writes there"
    if pattern is HEAD_FILE and written is not None and (target := written[1]) is not None and _is_no_ref(target):
        return f"{name} leads to {target!r}, which is not the name of a branch or tag"
    return None


def _is_no_ref(name: bytes) -> bool:
    return NO_REF.search(name.decode("utf-8", "surrogateescape")) is not None


def _problem_with_index(data: bytes) -> str | None:
    """git trusts the names in its index, so a name that git would not have written itself could lead anywhere."""
    entries = read_index(data).entries
    links = {entry.name for entry in entries if entry.mode in (SYMLINK, GITLINK)}
    for _, name, _ in entries:
        parts = name.split(b"/")
        if any(part in (b"", b".", b"..") or part.lower() == b".git" for part in parts):
            return f"the index names {name!r}"
        if links and any(b"/".join(parts[:end]) in links for end in range(1, len(parts))):
            return f"in the index {name!r} lies behind a link"
    return None
