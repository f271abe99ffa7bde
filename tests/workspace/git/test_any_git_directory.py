"""Whatever lies in a git directory, and whatever a command does to its copy, only verified data comes back."""

import os
import re
import shutil
import stat
import subprocess
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robota.workspace.git.data_copy import GitDataCopy, NotCopied
from robota.workspace.git.git_directories import find_git_directories

SECRET = b"a key that must not be copied"
# The data of docs/security.md, written out again: a name that slips into the program's own list is noticed here.
DATA = re.compile(
    rb"(?:HEAD|index|packed-refs|(?:ORIG|FETCH|MERGE|CHERRY_PICK|REVERT|BISECT)_HEAD|MERGE_(?:MODE|MSG|AUTOSTASH)"
    rb"|AUTO_MERGE|SQUASH_MSG|(?:COMMIT|TAG|NOTES)_EDITMSG|BISECT_[A-Z_]+|(?:refs|logs)(?:/.*)?"
    rb"|objects/[0-9a-f]{2}(?:/.*)?|lfs(?:/.*)?)",
    re.DOTALL,
)
NAMES = [
    *(b"HEAD", b"index", b"packed-refs", b"ORIG_HEAD", b"MERGE_MSG", b"BISECT_LOG", b"BISECT_START", b"refs"),
    *(b"refs/heads", b"refs/heads/main", b"refs/heads/main/deep", b"refs/heads/-x", b"refs/tags/v1", b"refs/stash"),
    *(b"logs", b"logs/HEAD", b"logs/refs", b"logs/refs/heads/main", b"logs/config", b"refs/heads/caf\xe9"),
    *(b"config", b"config.worktree", b"hooks", b"hooks/post-commit", b"info", b"info/attributes", b"info/exclude"),
    *(b"objects", b"objects/info/alternates", b"objects/pack", b"objects/pack/pack-1.pack", b"objects/ab"),
    *(b"objects/ab/" + b"c" * 38, b"commondir", b"gitdir", b"worktrees/w/gitdir", b"modules/m/config", b"before"),
    *(b"rebase-merge/git-rebase-todo", b"rebase-apply", b"sequencer/todo", b"shallow", b"lfs", b"lfs/objects"),
    *(b"refs/heads/main.lock", b"index.lock", b"anything", b"a\nb", b"\xff"),
]
CONTENTS = [
    *(b"", b"\0", b"ref: refs/heads/main\n", b"ref: refs/heads/-x\n", b"ref: ../../config\n", b"[core]\n"),
    *(b"{commit}\n", b"{commit}", b"{blob}\n", b"0" * 40 + b"\n", b"{commit} refs/tags/packed\n", b"^{commit}\n"),
    *(b"# pack-refs with: peeled fully-peeled sorted \n{commit} refs/heads/--x\n", b"exec touch owned\n", b"x" * 5000),
    b"0" * 40 + b" {commit} A <a@b> 1 +0000\tcommit: one\n",
]
MAX_EXAMPLES = 60


class File(NamedTuple):
    content: bytes


class Link(NamedTuple):
    target: bytes


class Other(NamedTuple):
    kind: str


Entry = File | Link | Other
Changes = list[tuple[bytes, Entry]]
part = st.one_of(
    st.sampled_from([b"a", b"-x", b".", b"..", b"HEAD", b"@{", b"a.lock"]), st.binary(min_size=1, max_size=4)
).map(lambda name: name.replace(b"\0", b"_").replace(b"/", b"_"))
path = st.one_of(
    st.sampled_from(NAMES),
    st.builds(
        lambda top, parts: b"/".join((top, *parts)),
        st.sampled_from([b"refs", b"logs", b"objects", b"lfs"]),
        st.lists(part),
    ),
    st.lists(part, min_size=1, max_size=3).map(b"/".join),
).filter(lambda name: b".." not in name.split(b"/"))
content = st.one_of(
    st.sampled_from(CONTENTS), st.binary(max_size=60), st.lists(st.sampled_from(CONTENTS)).map(b"".join)
)
link = st.sampled_from(
    [
        b"{outside}",
        b"{outside}/key",
        b"{outside}/refs",
        b"../config",
        b"HEAD",
        b"config",
        b"{real}/config",
        b"/etc/passwd",
    ]
)
entry = st.one_of(
    st.builds(File, content), st.builds(Link, link), st.builds(Other, st.sampled_from(["nothing", "directory", "pipe"]))
)
change_of_one = st.tuples(st.one_of(st.sampled_from(NAMES), path), entry)
planted_changes: st.SearchStrategy[Changes] = st.one_of(st.just([]), st.lists(change_of_one, max_size=3))
commands = st.lists(st.lists(change_of_one, min_size=1, max_size=3), min_size=1, max_size=12)


class Repository(NamedTuple):
    """A repository that is copied for each example; the ids of a commit and of a file in it."""

    template: Path
    commit: bytes
    blob: bytes


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    top = tmp_path_factory.mktemp("template")
    git(top, "init", "-q", "-b", "main")
    (top / "a.txt").write_text("one\n")
    git(top, "add", ".")
    git(top, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "one")
    git(top, "tag", "v1")
    git(top, "pack-refs", "--all")
    git(top, "branch", "topic")
    return Repository(
        template=top, commit=git(top, "rev-parse", "HEAD").strip(), blob=git(top, "rev-parse", "HEAD:a.txt").strip()
    )


@pytest.mark.slow
@settings(max_examples=MAX_EXAMPLES)
@given(planted=planted_changes, done=commands)
def test_only_verified_data_comes_back(repository: Repository, planted: Changes, done: list[Changes]) -> None:
    with TemporaryDirectory() as temporary:
        base = Path(os.path.realpath(temporary))
        top, outside = base / "workspace", base / "outside"
        shutil.copytree(repository.template, top)
        (outside / "refs" / "heads").mkdir(parents=True)
        (outside / "key").write_bytes(SECRET)
        (outside / "refs" / "heads" / "main").write_bytes(repository.commit + b"\n")
        words = {
            b"{commit}": repository.commit,
            b"{blob}": repository.blob,
            b"{outside}": os.fsencode(outside),
            b"{real}": os.fsencode(top / ".git"),
        }
        change(top / ".git", planted, words)
        readable, before = objects_in(top), everything_in(base)
        for command in done:
            run_command(top, base / "user", command, words)
            after = everything_in(base)
            assert_only_data_changed(before, after)
            before = after
        assert objects_in(top) >= readable


def run_command(top: Path, user: Path, done: Changes, words: dict[bytes, bytes]) -> None:
    """What happens around a command: a copy is made, the command changes it, and it is written back."""
    directories = find_git_directories(top)
    if directories is None:
        return
    try:
        copy = GitDataCopy(directories, user)
    except NotCopied as problem:
        assert str(problem).isprintable()
        return
    try:
        change(copy.mounts[0].source, done, words)
        assert all(sentence.isprintable() for sentence in copy.keep())
    finally:
        copy.discard()


def change(top: Path, changes: Changes, words: dict[bytes, bytes]) -> None:
    for name, made in changes:
        place = top / os.fsdecode(name)
        # Through a link a command reaches only what the sandbox shows; here that is nothing.
        if any(parent.is_symlink() for parent in place.parents if parent.is_relative_to(top)):
            continue
        with suppress(OSError):
            put(place, made, words)


def put(place: Path, made: Entry, words: dict[bytes, bytes]) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    match made:
        case File(content=text):
            place.write_bytes(filled_in(text, words))
        case Link(target=target):
            place.symlink_to(os.fsdecode(filled_in(target, words)))
        case Other(kind="directory"):
            place.mkdir()
        case Other(kind="pipe"):
            os.mkfifo(place)


def filled_in(text: bytes, words: dict[bytes, bytes]) -> bytes:
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def everything_in(base: Path) -> dict[bytes, tuple[int, bytes]]:
    """Each entry below a directory, with its kind and content; what Robota keeps of its own is left out."""
    found: dict[bytes, tuple[int, bytes]] = {}
    for directory, directories, files in os.walk(base):
        if directory == str(base) and "user" in directories:
            directories.remove("user")
        for name in (*directories, *files):
            place = Path(directory, name)
            mode = place.lstat().st_mode
            data = os.fsencode(place.readlink()) if stat.S_ISLNK(mode) else b""
            if stat.S_ISREG(mode):
                data = place.read_bytes()
            found[os.fsencode(place.relative_to(base))] = (stat.S_IFMT(mode), data)
    return found


def assert_only_data_changed(before: dict[bytes, tuple[int, bytes]], after: dict[bytes, tuple[int, bytes]]) -> None:
    for name in before.keys() | after.keys():
        if before.get(name) == after.get(name):
            continue
        directory, _, within = name.partition(b"/.git/")
        assert directory == b"workspace" and DATA.fullmatch(within), f"{name!r} changed"
        kind, data = after.get(name, (stat.S_IFREG, b""))
        assert kind in (stat.S_IFREG, stat.S_IFDIR), f"{name!r} is neither a file nor a directory"
        assert SECRET not in data, f"{name!r} holds what a link led to"


def objects_in(top: Path) -> set[bytes]:
    """The objects that git reads; none if the directory is no repository for git."""
    listed = git(top, "cat-file", "--batch-all-objects", "--batch-check", check=False)
    return {line for line in listed.splitlines() if re.match(rb"[0-9a-f]+ (?:commit|tree|blob|tag) ", line)}


def git(top: Path, *words: str, check: bool = True) -> bytes:
    done = subprocess.run(["git", *words], cwd=top, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    assert not check or done.returncode == 0, done.stderr
    return done.stdout
