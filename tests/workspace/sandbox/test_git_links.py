"""An unpacked archive may bring a `.git` with links, pipes and odd names in it: nothing outside is read or written."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from tests.workspace.sandbox.git_place import Place

SECRET = "a key that commands do not see"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "ws")


@pytest.fixture
def hidden(tmp_path: Path) -> Path:
    """A directory of the user's home that commands do not see, with a file that commands would like to read."""
    directory = tmp_path / "home" / ".ssh"
    (directory / "refs" / "heads").mkdir(parents=True)
    (directory / "id").write_text(SECRET)
    (directory / "HEAD").write_text(SECRET)
    return directory


def contents(directory: Path) -> dict[str, bytes]:
    return {str(file.relative_to(directory)): file.read_bytes() for file in directory.rglob("*") if file.is_file()}


def link_in_place_of(entry: Path, target: Path) -> None:
    if entry.is_dir():
        subprocess.run(["rm", "-rf", str(entry)], check=True)
    entry.unlink(missing_ok=True)
    entry.parent.mkdir(parents=True, exist_ok=True)
    entry.symlink_to(target)


LINKED = [
    *("logs", "logs/refs", "logs/refs/heads", "lfs", "lfs/objects", "lfs/tmp", "refs/heads", "refs/tags", "hooks"),
    *("info", "modules", "branches", "anything", "objects/pack", "objects/info", "objects/ab", "objects"),
]


@pytest.mark.parametrize("name", LINKED)
def test_a_directory_of_git_that_is_a_link_brings_nothing_in_and_lets_nothing_out(
    place: Place, hidden: Path, name: str
) -> None:
    link_in_place_of(place.root / ".git" / name, hidden)
    before = contents(hidden)
    look = "cat .git/*/id .git/*/*/id .git/*/HEAD .git/before/*/*/id 2>/dev/null"
    write = f"echo mine > .git/{name}/authorized_keys; git add -A; git commit --allow-empty -m two; git branch two"
    _, output, left_out = place.inside(f"{look}; ({write}) 2>/dev/null; {look}; true", secrets=(hidden,))
    assert SECRET not in output
    assert contents(hidden) == before
    assert any("is a link" in each for each in left_out), left_out
    assert any("git data" in each for each in left_out), left_out


@pytest.mark.parametrize("name", ["index", "packed-refs", "ORIG_HEAD", "logs/HEAD", "refs/heads/x", "config", "other"])
def test_a_file_of_git_that_is_a_link_is_not_read(place: Place, hidden: Path, name: str) -> None:
    link_in_place_of(place.root / ".git" / name, hidden / "id")
    _, output, left_out = place.inside(f"cat .git/{name}; git branch two", secrets=(hidden,))
    assert SECRET not in output and (hidden / "id").read_text() == SECRET
    assert any("is a link" in each for each in left_out), left_out


@pytest.mark.parametrize("name", ["ORIG_HEAD", "refs/heads/x", "logs/refs/y", "anything", "objects/ab"])
def test_a_pipe_in_a_git_directory_is_refused_and_nothing_waits_for_it(place: Place, name: str) -> None:
    (place.root / ".git" / name).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(place.root / ".git" / name)
    _, _, left_out = place.inside("git branch two")
    assert any("neither a file nor a directory" in each for each in left_out), left_out


@pytest.mark.parametrize("name", ["objects", "objects/pack", "refs", "refs/heads", "logs", "lfs", "lfs/objects"])
def test_a_command_that_leaves_links_in_its_copy_gets_nothing_from_elsewhere(
    place: Place, hidden: Path, name: str
) -> None:
    """The copy is read outside of the sandbox, where the link would lead to what is hidden inside."""
    (hidden / "main").write_text(place.git("rev-parse", "HEAD"))
    subprocess.run(["git", "init", "-q", str(hidden / "theirs")], check=True)
    (hidden / "theirs" / "k").write_text(SECRET)
    subprocess.run(["git", "-C", str(hidden / "theirs"), "add", "."], check=True)
    linked = {"objects": hidden / "theirs" / ".git" / "objects"}.get(name, hidden)
    before = contents(place.root / ".git")
    swap = f"mkdir -p .git/{name}; mv .git/{name} .git/gone; ln -s {linked} .git/{name}"
    place.inside(f"git config --list >/dev/null; {swap}; true", secrets=(hidden,))
    assert contents(place.root / ".git") == before


def test_a_git_directory_that_was_replaced_while_the_command_ran_is_left_alone(place: Place, tmp_path: Path) -> None:
    other = Place(tmp_path / "other")
    head, before = other.git("rev-parse", "HEAD"), contents(other.root / ".git")
    with place.started("git branch two") as running:
        running.wait()
        (place.root / ".git").rename(tmp_path / "aside")
        (other.root / ".git").rename(place.root / ".git")
    assert any("replaced" in each for each in running.left_out), running.left_out
    assert contents(place.root / ".git") == before
    assert place.git("rev-parse", "HEAD") == head


def test_git_lfs_reads_its_files_and_new_ones_are_taken_over_by_content(place: Place) -> None:
    """git-lfs keeps files under the SHA-256 of their content, and looks for existing ones beside the alternates."""
    kept = place.root / ".git" / "lfs" / "objects"
    old, new = lfs_name(b"old"), lfs_name(b"new")
    (kept / old).parent.mkdir(parents=True)
    (kept / old).write_bytes(b"old")
    read = 'cat "$(dirname $(cat .git/objects/info/alternates))"/lfs/objects/*/*/*'
    mine = f".git/lfs/objects/{new}"
    code, output, left_out = place.inside(f"{read} && mkdir -p $(dirname {mine}) && printf new > {mine}")
    assert (code, output, left_out) == (0, "old", ())
    assert (kept / new).read_bytes() == b"new"
    wrong = f"00/00/{'0' * 64}"
    _, _, left_out = place.inside(f"mkdir -p .git/lfs/objects/00/00; echo x > .git/lfs/objects/{wrong}")
    assert any("not what its name says" in each for each in left_out)
    assert not (kept / wrong).exists()


def lfs_name(data: bytes) -> str:
    name = hashlib.sha256(data).hexdigest()
    return f"{name[:2]}/{name[2:4]}/{name}"


def test_what_git_lfs_has_stored_cannot_be_changed_from_inside(place: Place) -> None:
    file = place.root / ".git" / "lfs" / "objects" / "aa" / "bb" / ("aabb" + "0" * 60)
    file.parent.mkdir(parents=True)
    file.write_text("large")
    attack = "find .git -name 'aabb*' -exec sh -c 'echo x > {}' ';'; mkdir -p .git/lfs; echo x > .git/lfs/more"
    place.inside(f"({attack}) 2>/dev/null; git branch two")
    assert contents(place.root / ".git" / "lfs") == {f"objects/aa/bb/{file.name}": b"large"}


@pytest.mark.parametrize("name", ["refs/heads/../../x", "refs/heads/--output=x", "refs/heads/a.lock", "refs/heads/a?b"])
def test_a_list_of_refs_with_a_name_that_git_refuses_does_not_come_back(place: Place, name: str) -> None:
    """git would stop at such a list whenever the user looks at a branch, or read the name as an option."""
    before = contents(place.root / ".git")
    _, _, left_out = place.inside(f'echo "$(git rev-parse HEAD) {name}" >> .git/packed-refs')
    assert any("packed-refs" in each for each in left_out), left_out
    assert contents(place.root / ".git") == before


@pytest.mark.parametrize("name", ["-x", "a/-x", "a//b", "a.lock", "a/.b", "a..b", "a@{1}", "a.", "HEAD"])
@pytest.mark.parametrize("file", ["HEAD", "refs/heads/new", "packed-refs"])
def test_no_ref_leads_to_a_name_that_git_refuses(place: Place, file: str, name: str) -> None:
    """Whoever runs `git log $(git branch --show-current)` would hand git an option."""
    before = contents(place.root / ".git")
    written = f"$(git rev-parse HEAD) refs/heads/{name}" if file == "packed-refs" else f"ref: refs/heads/{name}"
    _, _, left_out = place.inside(f'echo "{written}" > .git/{file}')
    assert any(file in each for each in left_out), left_out
    assert contents(place.root / ".git") == before


@pytest.mark.parametrize("name", [b"refs/heads/caf\xe9", b"refs/heads/\x1b]0;owned\x07", b"logs/caf\xe9"])
def test_what_is_said_about_a_ref_can_always_be_printed(place: Place, name: bytes) -> None:
    """Its name comes from the command, with bytes that no UTF-8 stream takes and sequences that a terminal obeys."""
    spelled = "".join(f"\\x{byte:02x}" for byte in name)
    _, _, left_out = place.inside(f"printf 'nonsense\\n' > \"$(printf '.git/{spelled}')\"")
    assert left_out and all(each.isprintable() for each in left_out), left_out
    _, _, left_out = place.inside(f"ln -s HEAD \"$(printf '.git/{spelled}')\"")
    assert left_out and all(each.isprintable() for each in left_out), left_out
