"""Throw-away workspaces in which commands are really run, each with something that git or a link could be led to.

All of them stand below one directory, beside a home, a directory outside of every workspace, and a program that no
command may run. Files that must not be read hold a word by which their content is known.
"""

import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

OUTSIDE_WORD: Final = "words-from-outside"
SECRET_WORD: Final = "words-of-a-secret"
DENIED_WORD: Final = "words-that-a-rule-denies"
IGNORED_WORD: Final = "words-that-are-ignored"
DENIED: Final = "secret.txt"
IDENTITY: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "A"), ("EMAIL", "a@example.invalid"), ("DATE", "2024-01-01T00:00:00Z"))
}
SIGNED: Final = """tree {tree}
author A <a@example.invalid> 1704067200 +0000
committer A <a@example.invalid> 1704067200 +0000
gpgsig -----BEGIN PGP SIGNATURE-----
 
 iQ==
 -----END PGP SIGNATURE-----

signed
"""  # noqa: W293
# As a user may have it: none of it comes from the workspace, and all of it would run something.
HOME_CONFIG: Final = """
[user]
    name = A
    email = a@example.invalid
[core]
    pager = {planted} pager
    editor = {planted} editor
[alias]
    st = !{planted} alias
    status = !{planted} alias
[gpg]
    program = {planted}
[pretty]
    verified = %G?
[credential]
    helper = !{planted} credential
"""
TOOLS: Final = """
[diff "picture"]
    textconv = {planted} textconv
[filter "large"]
    clean = {planted} clean
    smudge = {planted} smudge
    process = {planted} process
[diff]
    external = {planted} external
[log]
    showSignature = true
[submodule]
    recurse = true
[status]
    submoduleSummary = true
"""
HOSTILE_CONFIG: Final = """
[core]
    fsmonitor = {planted} fsmonitor
    hooksPath = hooks
    sshCommand = {planted} ssh
[diff]
    external = {planted} external
[interactive]
    diffFilter = {planted} filter
"""


class Tree(msgspec.Struct, frozen=True, kw_only=True):
    """A workspace, whether a user trusts it, and the home of that person."""

    name: str
    root: Path
    home: Path
    base: Path
    trusted: bool = True

    @property
    def planted(self) -> Path:
        """The program that nothing may run."""
        return self.base / "planted"


def make_trees(base: Path) -> list[Tree]:
    """Every workspace, made anew. The first one is where programs other than git are tried."""
    base = base.resolve()
    planted = base / "planted"
    planted.write_text("#!/bin/sh\necho planted\n")
    planted.chmod(0o755)
    _write(base / "outside", {"secret.txt": OUTSIDE_WORD, "dir/more.txt": OUTSIDE_WORD, "id_rsa": OUTSIDE_WORD})
    for name, config in (("home", HOME_CONFIG), ("home-with-tools", HOME_CONFIG + TOOLS)):
        _write(base / name, {".gitconfig": config.format(planted=planted), ".ssh/id_rsa": OUTSIDE_WORD})
    _repository(base / "outside" / "repository", {"theirs.txt": OUTSIDE_WORD})
    trees = []
    for name, change in CHANGES.items():
        root = base / name / "workspace"
        home = base / ("home-with-tools" if name == "tools" else "home")
        tree = Tree(name=name, root=root, home=home, base=base, trusted=name != "untrusted")
        _workspace(tree)
        change(tree)
        _fill_in_secrets(tree.root)
        trees.append(tree)
    return trees


def _workspace(tree: Tree) -> None:
    """An ordinary repository with names that are easily taken for something else."""
    files = {
        **{"a.txt": "one\ntwo\n", "b.txt": "two\none\n", "src/c.py": "print(1)\n", "-n": "dash\n", "-exec": "dash\n"},
        **{".env": SECRET_WORD, "key.pem": SECRET_WORD, "src/.env": SECRET_WORD, "src/list.jq": '"x"\n'},
        # To rg it is not hidden then.
        **{"src/.ignore": "!.env\n"},
        **{DENIED: DENIED_WORD, "ignored/k.txt": IGNORED_WORD, ".robotaignore": "ignored/\n"},
        **{"data.json": '{"a": [1, 2]}\n', "5": "five\n", "%n": "percent\n", "--output=made": "dash\n"},
        **{".gitattributes": "*.txt diff=picture filter=large\n", "list.txt": f"{tree.base}/outside/secret.txt\n"},
    }
    _write(tree.root, {**files, "@list": f"{tree.base}/outside/secret.txt\n"})
    with zipfile.ZipFile(tree.root / "data.zip", "w") as archive:
        archive.writestr("inside.txt", "zipped\n")
    links = {"link-out": "outside/secret.txt", "link-dir": "outside/dir", "link-nowhere": "outside/nothing"}
    for name, target in links.items():
        (tree.root / name).symlink_to(tree.base / target)
    (tree.root / "link-in").symlink_to("a.txt")
    (tree.root / "src" / "link-secret").symlink_to("../.env")
    _repository(tree.root, {})
    _history(tree.root)
    _bare_repository(tree, tree.root / "docs")


def _fill_in_secrets(root: Path) -> None:
    """What git has of them is published, and so no secret; what the user wrote there since is one."""
    for name in (".env", "key.pem", "src/.env"):
        if (root / name).is_file():
            (root / name).write_text(f"{SECRET_WORD}, filled in\n")


def _history(root: Path) -> None:
    """A second commit, a tag, a stash, a signed commit, and a file that was changed since."""
    (root / "a.txt").write_text("one\ntwo\nthree\n")
    _git(root, "commit", "-qam", "second")
    _git(root, "tag", "-a", "v1", "-m", "first version")
    _git(root, "branch", "other", "HEAD~1")
    # A tag may stand for a file, and not only for a commit.
    _git(root, "tag", "blob", f"HEAD:{DENIED}")
    (root / "b.txt").write_text("stashed\n")
    _git(root, "stash", "push", "-q")
    tree = _git(root, "rev-parse", "HEAD^{tree}").strip()
    signed = _git(root, "hash-object", "-t", "commit", "-w", "--stdin", text=SIGNED.format(tree=tree)).strip()
    _git(root, "update-ref", "refs/heads/signed", signed)
    (root / DENIED).write_text(f"{DENIED_WORD} changed\n")
    (root / "src" / "c.py").write_text("print(2)\n")
    # Another time than the index knows, so that looking at it would bring it up to date.
    os.utime(root / "b.txt", (1, 1))


def _bare_repository(tree: Tree, place: Path) -> None:
    """A directory of plain files that git takes for a repository without a working tree."""
    config = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n"
    config += f"\tfsmonitor = {tree.planted} fsmonitor\n[diff]\n\texternal = {tree.planted} external\n"
    _write(place, {"HEAD": "ref: refs/heads/main\n", "config": config, "read.txt": "docs\n"})
    (place / "refs").mkdir()
    (place / "objects").mkdir()


def _nothing(tree: Tree) -> None:
    """The workspace as it is."""


def _hostile(tree: Tree) -> None:
    """A repository whose own configuration and hooks name programs."""
    with (tree.root / ".git" / "config").open("a") as config:
        config.write(HOSTILE_CONFIG.format(planted=tree.planted))
    for hook in ("post-index-change", "post-checkout", "fsmonitor-watchman"):
        for place in (tree.root / ".git" / "hooks", tree.root / "hooks"):
            place.mkdir(exist_ok=True)
            (place / hook).symlink_to(tree.planted)


def _submodule_elsewhere(tree: Tree) -> None:
    """A submodule whose files, by `core.worktree`, are elsewhere, where its own submodule names a program."""
    _repository(tree.root / "elsewhere", {"p.txt": "part\n"})
    inner = tree.root / "elsewhere" / "inner"
    _repository(inner, {"i.txt": "inner\n"})
    _link(tree.root / "elsewhere", "inner", _git(inner, "rev-parse", "HEAD").strip())
    module = tree.root / ".git" / "modules" / "part"
    module.parent.mkdir()
    (tree.root / "elsewhere" / ".git").rename(module)
    _write(tree.root, {"part/.git": "gitdir: ../.git/modules/part\n"})
    _git(module, "config", "core.worktree", "../../../elsewhere")
    _link(tree.root, "part", _git(module, "rev-parse", "HEAD").strip())
    with (inner / ".git" / "config").open("a") as config:
        config.write(HOSTILE_CONFIG.format(planted=tree.planted))


def _submodule_in_history(tree: Tree) -> None:
    """A gitlink that only old commits have; a repository that was put in its place names an external diff."""
    _repository(tree.root / "gone", {"g.txt": "gone\n"})
    first = _git(tree.root / "gone", "rev-parse", "HEAD").strip()
    (tree.root / "gone" / "g.txt").write_text("changed\n")
    _git(tree.root / "gone", "commit", "-qam", "changed")
    second = _git(tree.root / "gone", "rev-parse", "HEAD").strip()
    for commit in (first, second):
        _link(tree.root, "gone", commit)
    _git(tree.root, "update-index", "--force-remove", "gone")
    _git(tree.root, "commit", "-qm", "unlink")
    with (tree.root / "gone" / ".git" / "config").open("a") as config:
        config.write(HOSTILE_CONFIG.format(planted=tree.planted))


def _git_file(tree: Tree) -> None:
    """`.git` is a file that leads to a repository outside of the workspace."""
    (tree.root / ".git").rename(tree.root.parent / "own-git")
    (tree.root / ".git").write_text(f"gitdir: {tree.base}/outside/repository/.git\n")


def _common_directory(tree: Tree) -> None:
    """`.git` is a directory, but `commondir` in it leads to a repository outside of the workspace."""
    (tree.root / ".git" / "commondir").write_text(f"{tree.base}/outside/repository/.git\n")


def _alternates(tree: Tree) -> None:
    """Objects are also looked for outside of the workspace, and a branch stands for a commit there."""
    theirs = tree.base / "outside" / "repository" / ".git"
    (tree.root / ".git" / "objects" / "info" / "alternates").write_text(f"{theirs}/objects\n")
    _git(tree.root, "update-ref", "refs/heads/theirs", _git(theirs, "rev-parse", "HEAD").strip())


def _linked_git(tree: Tree) -> None:
    """Single files of the git directory are links that lead out."""
    outside = tree.base / "outside"
    for name in ("info/exclude", "info/attributes", "refs/heads/linked", "description", "logs/refs/heads/linked"):
        file = tree.root / ".git" / name
        file.unlink(missing_ok=True)
        file.symlink_to(outside / "secret.txt")
    (tree.root / ".mailmap").symlink_to(outside / "secret.txt")
    (tree.root / "src" / ".gitignore").symlink_to(outside / "secret.txt")


CHANGES: Final[dict[str, Callable[[Tree], None]]] = {
    "ordinary": _nothing,
    "tools": _nothing,
    "untrusted": _hostile,
    "hostile": _hostile,
    "submodule-elsewhere": _submodule_elsewhere,
    "submodule-in-history": _submodule_in_history,
    "git-file": _git_file,
    "common-directory": _common_directory,
    "alternates": _alternates,
    "linked-git": _linked_git,
}


def _write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _repository(root: Path, files: dict[str, str]) -> None:
    _write(root, files)
    _git(root, "init", "-q", "--initial-branch=main", ".")
    _git(root, "add", "--all", "--force")
    _git(root, "commit", "-qm", "first")


def _link(root: Path, name: str, commit: str) -> None:
    """Commit a submodule of that name."""
    _git(root, "update-index", "--add", "--cacheinfo", f"160000,{commit},{name}")
    _git(root, "commit", "-qm", name)


def _git(root: Path, *words: str, text: str = "") -> str:
    """Runs git as nobody in particular, with no hooks and no configuration but the repository's."""
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    done = subprocess.run(
        ["git", *words],
        cwd=root,
        env={**environment, **IDENTITY},
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
