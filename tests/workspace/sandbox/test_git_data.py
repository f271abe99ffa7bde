"""git at work inside the sandbox: its data changes, and nothing that a later git would execute or obey."""

import resource
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from robota.workspace.git.abandoned_copies import take_over_abandoned
from robota.workspace.git.data_copy import GitDataCopy
from robota.workspace.git.git_directories import find_git_directories
from tests.workspace.sandbox.git_place import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "ws")


def test_the_ordinary_work_of_a_day(place: Place) -> None:
    """Add, commit, switch, stash, merge, tag, branch and reset work in the sandbox."""
    for command in (
        "echo two >> a.txt && git add -A && git commit -qm two",
        'git switch -qc topic/new && echo three >> a.txt && git stash -q && test -z "$(git status --short)"',
        "git stash pop -q && git commit -qam three && git switch -q main && git merge -q topic/new",
        "git branch -d topic/new && git tag v1 && git switch -qc topic && git switch -q -",
    ):
        code, output, left_out = place.inside(command)
        assert (code, left_out) == (0, ()), output
    assert place.git("log", "--format=%s", "main").split() == ["three", "two", "one"]
    assert place.git("branch", "--format=%(refname:short)").split() == ["main", "topic"]
    assert place.git("status", "--porcelain") == "" and place.git("stash", "list") == ""
    assert place.git("tag").split() == ["v1"] and place.git("rev-parse", "--abbrev-ref", "HEAD").strip() == "main"
    place.git("fsck", "--strict")
    assert "three" in place.git("reflog")


def test_a_stash_list_of_several_and_a_merge_with_a_conflict_go_on_in_the_next_command(place: Place) -> None:
    place.inside("echo x >> a.txt; git stash -q; echo y >> a.txt; git stash -q")
    assert len(place.git("stash", "list").splitlines()) == 2
    place.inside("git stash drop -q && git stash pop -q && git commit -qam mine")
    assert place.git("show", "HEAD:a.txt") == "one\nx\n"
    place.inside("git switch -qc other HEAD~1 && echo z >> a.txt && git commit -qam theirs && git switch -q main")
    code, output, _ = place.inside("git merge other")
    assert code == 1 and "CONFLICT" in output
    assert (place.root / ".git" / "MERGE_HEAD").exists()
    assert place.inside("echo both > a.txt && git commit -qam merged")[0] == 0
    assert not (place.root / ".git" / "MERGE_HEAD").exists()
    assert place.git("log", "-1", "--format=%p").split(" ")[1]


def test_a_bisection_continues_in_the_next_command(place: Place) -> None:
    for number in range(4):
        place.inside(f'echo {number} >> a.txt; git commit -qam "it\'s {number}"')
    started = place.inside('git bisect start --term-new=broken --term-old=fine HEAD HEAD~4 -- a.txt "it\'s!"')
    for code, output, left_out in (started, place.inside("git bisect fine"), place.inside("git bisect broken")):
        assert (code, left_out) == (0, ()), output
    assert "# first broken commit" in place.git("bisect", "log")
    assert place.inside("git bisect reset")[2] == () and place.git("branch", "--show-current") == "main\n"


# Until 2.30 `git bisect` was a script of the shell, which evaluates these.
BISECTIONS = [
    ("BISECT_NAMES", b" 'a'; touch /tmp/evil\n"),
    ("BISECT_NAMES", b" $(touch /tmp/evil)\n"),
    ("BISECT_NAMES", b" 'a'\\''b'$(touch evil)\n"),
    ("BISECT_LOG", b"git bisect start 'HEAD'; touch /tmp/evil\n"),
    ("BISECT_LOG", b"# fine\ntouch /tmp/evil\n"),
    ("BISECT_LOG", b"git bisect `touch evil`\n"),
    ("BISECT_START", b"--orphan\n"),
    ("BISECT_TERMS", b"good\n$(touch evil)\n"),
    ("BISECT_EXPECTED_REV", b"--all\n"),
    ("ORIG_HEAD", b"ref: refs/../../x\n"),
    ("MERGE_HEAD", b"--exec=touch evil\n"),
]


@pytest.mark.parametrize(("name", "data"), BISECTIONS)
def test_a_file_of_git_with_words_that_git_does_not_write_there_is_not_taken_over(
    place: Place, name: str, data: bytes
) -> None:
    (place.root / "data").write_bytes(data)
    _, _, left_out = place.inside(f"git bisect start -q; cp data .git/{name}; git status")
    assert any(name in each for each in left_out)
    taken = place.root / ".git" / name
    assert not taken.exists() or taken.read_bytes() != data


@pytest.mark.parametrize("attack", ["git replace HEAD HEAD~1", "git replace HEAD HEAD~1; git pack-refs --all"])
def test_a_command_cannot_make_git_show_something_else_than_what_was_committed(place: Place, attack: str) -> None:
    place.inside("echo two >> a.txt; git commit -qam two")
    place.hook("post-commit", attack)
    _, _, left_out = place.inside("echo three >> a.txt; git commit -qam three")
    assert any("show something else than what was committed" in each for each in left_out)
    assert place.git("replace", "--list") == "" and "refs/replace" not in place.git("for-each-ref")


ATTACKS = (
    "echo '[core] fsmonitor = ./evil' >> .git/config",
    "git config core.fsmonitor ./evil",
    "cp .git/config x; echo '[core] fsmonitor = ./evil' >> x; mv -f x .git/config",
    "rm -f .git/config; echo '[core] fsmonitor = ./evil' > .git/config",
    "mv .git/hooks .git/gone; mkdir .git/hooks; echo evil > .git/hooks/pre-commit",
    "echo evil > .git/hooks/post-index-change; chmod +x .git/hooks/post-index-change",
    "mkdir -p .git/info; echo '* filter=evil' > .git/info/attributes; echo '*' > .git/info/exclude",
    "echo /elsewhere > .git/commondir",
    "echo '[core] fsmonitor = ./evil' > .git/config.worktree",
    "mkdir -p .git/worktrees/w; echo /elsewhere/.git > .git/worktrees/w/gitdir",
    "mkdir -p .git/modules/m; echo '[core] fsmonitor = ./evil' > .git/modules/m/config",
    "mkdir -p .git/objects/info; echo /elsewhere > .git/objects/info/alternates",
    "mkdir -p .git/rebase-merge; echo 'exec ./evil' > .git/rebase-merge/git-rebase-todo",
    "rm -rf .git/*",
    "chmod 000 .git .git/objects .git/refs",
    "rm -f .git/HEAD; echo nonsense > .git/HEAD",
    "ln -sf /etc/passwd .git/ORIG_HEAD",
    "rm -f .git/index; mkfifo .git/index",
    "ln -s / .git/refs/heads/root",
    "mkdir -p .git/refs/heads; echo $(git rev-parse HEAD) > '.git/refs/heads/-x'",
)


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_hook_cannot_change_what_a_later_git_obeys(place: Place, attack: str) -> None:
    """Hooks run in the sandbox with access to git's data, and anything else they leave there is discarded."""
    place.hook("pre-commit", f"({attack}) 2>/dev/null; exit 0")
    before = place.control()
    mode = (place.root / ".git").stat().st_mode
    place.inside("echo two >> a.txt; git commit -qam two")
    assert place.control() == before
    assert (place.root / ".git").stat().st_mode == mode
    # It is still this very repository, and nothing in it asks for another one.
    assert place.git("rev-parse", "--absolute-git-dir").strip() == str(place.root / ".git")
    assert place.git("log", "--format=%s").split()[-1] == "one"
    assert not (place.root / ".git" / "refs" / "heads" / "-x").exists()


@pytest.mark.parametrize("name", [".git/hooks/post-commit", "../outside", "link/inside"])
def test_an_index_that_git_would_not_have_written_is_not_taken_over(place: Place, name: str, tmp_path: Path) -> None:
    """git believes its index: `git restore .` would write a hook that stands in there."""
    (tmp_path / "make.py").write_text(
        "import hashlib, os, struct, sys\n"
        "blob = bytes.fromhex(os.popen('git hash-object -w a.txt').read().strip())\n"
        "def entry(mode, name):\n"
        "    body = bytes(24) + struct.pack('>I', mode) + bytes(12) + blob + struct.pack('>H', len(name)) + name\n"
        "    return body + bytes(8 - len(body) % 8)\n"
        "names = [(0o120000, b'link'), (0o100644, sys.argv[1].encode())]\n"
        "data = b'DIRC' + struct.pack('>II', 2, 2) + b''.join(entry(*each) for each in names)\n"
        "open('.git/index', 'wb').write(data + hashlib.sha1(data).digest())\n"
    )
    (place.root / "make.py").write_bytes((tmp_path / "make.py").read_bytes())
    before = (place.root / ".git" / "index").read_bytes()
    _, output, left_out = place.inside(f"python3 make.py {name} && git ls-files")
    assert name in output and left_out and "were discarded" in left_out[0]
    assert (place.root / ".git" / "index").read_bytes() == before


def test_a_repository_made_inside_does_not_become_a_submodule(place: Place) -> None:
    """Git enters submodules by itself, and runs what their configuration names."""
    evil = "git init -q sub && git -C sub -c user.name=x -c user.email=x commit -q --allow-empty -m x"
    _, _, left_out = place.inside(
        f"{evil} && git -C sub config core.fsmonitor 'touch {place.root}/ran; :' && git add sub"
    )
    assert "submodule" in left_out[0]
    place.git("status")
    assert "sub" not in place.git("ls-files") and not (place.root / "ran").exists()


def test_an_object_under_a_wrong_name_is_not_taken_over(place: Place) -> None:
    """Otherwise it would replace what the user fetches later."""
    name = "1" * 40
    any_object = "$(ls -d .git/before/objects/??/* | head -1)"
    poison = f"mkdir -p .git/objects/11; cp {any_object} .git/objects/11/{name[2:]}"
    _, _, left_out = place.inside(f"{poison}; git branch two")
    assert "not what its name says" in left_out[0]
    assert not (place.root / ".git" / "objects" / "11" / name[2:]).exists()


def test_what_another_git_did_meanwhile_is_not_overwritten(place: Place) -> None:
    directories = find_git_directories(place.root)
    assert directories is not None
    copy = GitDataCopy(directories, place.user)
    place.git("commit", "-q", "--allow-empty", "-m", "of the user")
    head = place.git("rev-parse", "HEAD")
    (copy.mounts[0].source / "refs" / "heads" / "main").write_text("2" * 40 + "\n")
    assert "another git" in copy.keep()[0]
    copy.discard()
    assert place.git("rev-parse", "HEAD") == head


def test_giving_up_while_it_is_taken_over_takes_over_all_of_it_or_nothing(place: Place) -> None:
    """Ctrl+C after the command has ended: the copy is not removed under the one who reads it."""
    directories = find_git_directories(place.root)
    assert directories is not None
    head, names = place.git("rev-parse", "HEAD"), [f"b{number}" for number in range(50)]
    copy = GitDataCopy(directories, place.user)
    for name in names:
        (copy.mounts[0].source / "refs" / "heads" / name).write_text(head)
    keeping = threading.Thread(target=copy.keep)
    keeping.start()
    copy.discard()
    keeping.join()
    found = place.git("branch", "--format=%(refname:short)").split()
    assert sorted(found) in (["main"], sorted([*names, "main"]))
    assert copy.keep() == () and not copy.mounts[0].source.exists()


def test_a_killed_robota_loses_no_stash(place: Place) -> None:
    """What a command did to its copy is taken over by the next session."""
    directories = find_git_directories(place.root)
    assert directories is not None
    script = (
        "import os, subprocess, sys; from pathlib import Path\n"
        "from robota.workspace.git.data_copy import GitDataCopy\n"
        "from robota.workspace.git.git_directories import find_git_directories\n"
        "copy = GitDataCopy(find_git_directories(Path(sys.argv[1])), Path(sys.argv[3]))\n"
        "(copy.mounts[0].source / 'refs/heads/kept').write_text(sys.argv[2])\n"
        "os.kill(os.getpid(), 9)\n"
    )
    head = place.git("rev-parse", "HEAD")
    subprocess.run([sys.executable, "-c", script, str(place.root), head, str(place.user)], check=False)
    assert "kept" not in place.git("branch")
    take_over_abandoned(directories, place.user)
    assert "kept" in place.git("branch")


def test_the_worktree_of_a_session_commits_into_its_repository(place: Place, tmp_path: Path) -> None:
    """`robota -w` works in a worktree, whose data is in the repository elsewhere."""
    place.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Place(tmp_path / "side")
    place.hook(
        "pre-commit", 'git config core.fsmonitor ./evil; echo x > "$(git rev-parse --git-common-dir)/hooks/y"; true'
    )
    before = side.control()
    code, output, left_out = side.inside("echo two >> a.txt && git commit -qam two && git tag t && git switch -qc more")
    assert (code, left_out) == (0, ()), output
    assert side.control() == before
    assert side.git("log", "--format=%s").split() == ["two", "one"] and place.git("tag").split() == ["t"]
    assert side.git("rev-parse", "--abbrev-ref", "HEAD").strip() == "more"
    assert place.git("rev-parse", "--abbrev-ref", "HEAD").strip() == "main" and place.git("status", "--short") == ""


def test_a_copied_git_file_gives_no_access_to_its_repository(place: Place, tmp_path: Path) -> None:
    """The repository must know the worktree, too."""
    thief = tmp_path / "thief"
    thief.mkdir()
    place.git("worktree", "add", "-q", str(tmp_path / "honest"))
    (thief / ".git").write_bytes((tmp_path / "honest" / ".git").read_bytes())
    assert find_git_directories(thief) is None
    assert find_git_directories(tmp_path / "honest") is not None


def test_a_git_directory_that_shares_the_data_of_another_repository_gives_no_access(
    place: Place, tmp_path: Path
) -> None:
    """The target of `commondir` does not belong to the workspace."""
    assert find_git_directories(place.root) is not None
    (place.root / ".git" / "commondir").write_text(f"{tmp_path / 'other' / '.git'}\n")
    assert find_git_directories(place.root) is None


def test_a_rebase_that_stops_is_not_half_taken_over_in_silence(place: Place) -> None:
    place.inside("git switch -qc other && echo x > a.txt && git commit -qam x && git switch -q main")
    place.inside("echo y > a.txt && git commit -qam y")
    _, _, left_out = place.inside("git rebase other")
    assert "rebase-merge" in left_out[0]


def test_where_links_lead_out_of_the_git_directory_there_is_no_access(place: Place, tmp_path: Path) -> None:
    heads = place.root / ".git" / "refs" / "heads"
    heads.rename(tmp_path / "heads")
    heads.symlink_to(tmp_path / "heads")
    assert "refs/heads is a link" in place.inside("git branch two")[2][0]
    assert not (tmp_path / "heads" / "two").exists()


def test_what_is_kept_from_commands_is_not_committed_as_gone(place: Place) -> None:
    """In the sandbox, a hidden file looks empty or deleted, and `git add -A` would commit that."""
    (place.root / "secret").mkdir()
    (place.root / "secret" / "k").write_text("key\n")
    (place.root / "b.pem").write_text("key\n")
    place.git("add", ".")
    place.git("commit", "-qm", "two")
    hidden = (place.root / "secret", place.root / "b.pem")
    work = "echo more >> a.txt && git add -A && git commit -qm three && git switch -qc side"
    code, output, left_out = place.inside(f"{work} && (cat b.pem || true)", hidden)
    assert (code, left_out) == (0, ()) and "key" not in output, output
    assert place.git("show", "--name-only", "--format=", "HEAD").split() == ["a.txt"]
    assert place.git("ls-files", "-v").split()[::2] == ["H", "H", "H"]
    assert place.git("status", "--short") == "" and (place.root / "b.pem").read_text() == "key\n"


def test_a_submodule_whose_repository_has_too_long_a_path_to_be_looked_at_is_not_added(place: Place) -> None:
    """git enters a submodule step by step, so that it reads there what nobody else can name."""
    seen = place.root.parent / "seen"
    left = 4092 - len(str(place.root))
    parts = [*("x" * 199 for _ in range(left // 200)), "y" * (left % 200 - 1)]
    name = "/".join(part for part in parts if part)
    script = (
        f"set -e; git init -q r; git -C r config core.fsmonitor 'touch {seen}; false'; "
        "git -C r -c user.name=a -c user.email=b commit -q --allow-empty -m x; commit=$(git -C r rev-parse HEAD); "
        f"mv r/.git g; rm -r r; for part in {name.replace('/', ' ')}; do mkdir $part; mv g $part; cd $part; done; "
        f"mv g .git; cd {place.root}; git update-index --add --cacheinfo 160000,$commit,{name}; echo added"
    )
    code, output, left_out = place.inside(script)
    assert (code, output) == (0, "added\n")
    assert any("as a submodule" in each for each in left_out)
    place.git("status", check=False)
    assert not seen.exists() and "160000" not in place.git("ls-files", "-s")


def test_a_submodule_with_too_long_a_path_to_be_looked_at_makes_the_workspace_read_only(place: Place) -> None:
    left = 4092 - len(str(place.root))
    name = "/".join(("x" * 199,) * (left // 200) + (("y" * (left % 200 - 1),) if left % 200 > 1 else ()))
    (place.root / name).mkdir(parents=True)
    place.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},{name}")
    _, output, _ = place.inside("echo x > ordinary")
    assert "Read-only" in output and not (place.root / "ordinary").exists()


def test_a_stash_survives_an_editor_that_refreshes_the_index(place: Place) -> None:
    """Editors run `git status` whenever a file changes, and it writes the new times of files into the index."""
    (place.root / "a.txt").write_text("the work of a day\n")
    with place.started("git stash -q") as running:
        running.wait()
        place.git("update-index", "--refresh", "-q", check=False)
        place.git("status")
    assert running.left_out == ()
    assert place.git("stash", "list").count("\n") == 1 and place.git("status", "--porcelain") == ""
    place.git("stash", "pop", "-q")
    assert (place.root / "a.txt").read_text() == "the work of a day\n"


def test_a_stash_survives_another_git_that_stages_something_meanwhile(place: Place) -> None:
    (place.root / "a.txt").write_text("the work of a day\n")
    (place.root / "b.txt").write_text("of the user\n")
    with place.started("git stash -q") as running:
        running.wait()
        place.git("add", "b.txt")
    assert "another git process has changed index" in running.left_out[0]
    assert "stash that it made is kept" in running.left_out[0]
    assert place.git("diff", "--cached", "--name-only") == "b.txt\n"
    assert place.git("stash", "show", "-p").endswith("+the work of a day\n")


def test_of_commits_that_another_git_was_in_the_way_of_the_names_are_told(place: Place) -> None:
    with place.started("git commit -q --allow-empty -m two") as running:
        running.wait()
        place.git("commit", "-q", "--allow-empty", "-m", "of the user")
    assert "refs/heads/main is " in running.left_out[0]
    commit = running.left_out[0].partition("refs/heads/main is ")[2][:12]
    assert place.git("log", "-1", "--format=%s", commit) == "two\n"


def test_a_lock_that_another_git_holds_for_a_moment_is_waited_for(place: Place) -> None:
    lock = place.root / ".git/index.lock"

    def release() -> None:
        while not list(lock.parent.glob("tmp_*")):
            pass  # the drafts are written before the lock is wanted
        lock.unlink()

    with place.started("git rm -q --cached a.txt") as running:
        running.wait()
        lock.touch()
        releasing = threading.Thread(target=release)
        releasing.start()
    releasing.join()
    assert running.left_out == () and place.git("ls-files") == ""


@contextmanager
def full_disk() -> Iterator[None]:
    """Here no file can grow beyond a few bytes, as on a disk with hardly any room."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_what_does_not_fit_on_the_disk_is_written_back_by_the_next_command(place: Place) -> None:
    (place.root / "a.txt").write_text("the work of a day\n")
    place.git("branch", "old")
    directories = find_git_directories(place.root)
    assert directories is not None
    copy = GitDataCopy(directories, place.user)
    inside = copy.mounts[0].source
    shutil.copytree(place.root / ".git/objects", inside / "objects", dirs_exist_ok=True)
    subprocess.run(["git", f"--git-dir={inside}", "--work-tree=.", "stash", "-q"], cwd=place.root, check=True)
    (inside / "refs/heads/old").rename(inside / "refs/heads/new")
    with full_disk():
        told = copy.keep()
        copy.discard()
    assert "not in the repository yet: File too large" in told[0] and str(inside.parent) in told[0]
    assert place.git("branch", "--format=%(refname:short)").split() == ["main", "old"]
    assert place.inside("git branch later") == (0, "", ())
    assert place.git("branch", "--format=%(refname:short)").split() == ["later", "main", "new"]
    assert place.git("stash", "show", "-p").endswith("+the work of a day\n") and not inside.exists()
