"""What a user does all day runs without a question, and really changes nothing."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from robota.contracts.verdict import Decision
from robota.policy.protected.path_resolver import PathResolver
from robota.workspace.shell.expansion import files_matching
from tests.policy.judging import judge

GIT = """
git status
git status -sb
git status --porcelain=v2 --branch
git diff --stat HEAD~1..HEAD
git diff --cached --name-only
git diff -U10 -w -- src
git diff --word-diff --color=never | head -50
git diff -M90% --name-status main
git log --oneline --graph --decorate --all -20
git log -p -1 --no-color
git log --max-count=5 --since="2 weeks ago" --author=me --date=iso
git log -n 5 --format='%h %an %s'
git log --pretty=format:'%h %s' -10
git log main..HEAD --oneline --no-merges
git log --follow -- src/a.py
git log -S foo --regexp-ignore-case
git --no-pager log -3
git show --stat HEAD
git show HEAD:src/a.py
git show 'stash@{0}'
git blame -L 1,2 src/a.py
git branch -a
git branch -vv
git branch --show-current
git branch --list 'feat*'
git branch --merged main other
git branch --contains HEAD other
git remote -v
git remote get-url origin
git rev-parse --short HEAD
git rev-parse --abbrev-ref HEAD
git rev-parse --show-toplevel
git ls-files '*.py'
git ls-tree -r HEAD --name-only
git stash list
git stash show -p
git tag -l 'v1*'
git tag --sort=-creatordate
git describe --tags --always
git reflog -10
git shortlog -sn HEAD
git config --get user.name
git config user.email
git grep -n foo -- '*.py'
git rev-list --count HEAD
git merge-base main HEAD
git cat-file -p HEAD
git diff-tree --no-commit-id --name-only -r HEAD
git worktree list
git check-ignore -v x
git for-each-ref --sort=-committerdate refs/heads
git symbolic-ref --short HEAD
git --version
cd src && ls
""".strip().split("\n")
OTHERS = """
ls -lah src
ls *.py
ls -d */
cat -n src/a.py
cat *.md
head -50 src/a.py
tail -n 100 a.py
grep -rn "foo" --include="*.py" .
grep -rnE 'a|b' src | head -20
grep -n "def " src/*.py
grep -rn foo . --exclude-dir=node_modules
grep -v '^#' a.py | grep -v '^$'
rg -n --no-heading --ignore-case foo src | sort
rg --files -g '*.py'
rg -C 3 --max-count 5 foo
rg --hidden -g '!.git' --after-context 2 foo
find . -name "*.py" -not -path "*/node_modules/*"
find . -maxdepth 2 -type d
find . -type f \\( -name '*.a' -o -name '*.b' \\) 2>/dev/null
find src -type f | wc -l
wc -l *.py
sort a.py | uniq -c | sort -rn | head
cut -d: -f1 a.py
awk -F: '{print $1, $2}' a.py
awk 'NR>=1 && NR<=2' a.py
sed -n '1,2p' a.py
sed 's/a/b/g' a.py
tr a-z A-Z
tree -L 2 -I node_modules
du -sh * | sort -h
df -h
diff -u a.py src/a.py
date -u +%FT%TZ
date -Iseconds
command -v node
python3 -V
node -v
jq -r '.version' package.json
jq '.dependencies | keys' package.json
printf '%s\\n' a
test -d src && ls src
ls src || true
sleep 0
hexdump -C a.py | head
od -c a.py
sha256sum a.py src/a.py
realpath a.py
nl -ba a.py
strings a.py | head
paste a.py a.py
""".strip().split("\n")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("ordinary") / "project"
    (directory / "src").mkdir(parents=True)
    for name in ("a.py", "src/a.py", "README.md"):
        (directory / name).write_text("def foo():\n    pass\n")
    (directory / "package.json").write_text('{"version": "1", "dependencies": {}}')
    script = """
        git init -q -b main && git config user.name me && git config user.email me@example.com
        git add . && git commit -qm first && echo more >> a.py && git commit -qam second && git tag v1.0
        git remote add origin https://example.com/x.git && echo stashed >> a.py && git stash -q && echo new >> a.py
    """
    subprocess.run(["/bin/bash", "-ec", script], cwd=directory, check=True, stdin=subprocess.DEVNULL)
    return directory


@pytest.mark.parametrize("command", [*GIT, *OTHERS])
def test_an_ordinary_command_runs_unasked_and_changes_nothing(command: str, workspace: Path) -> None:
    resolver = PathResolver(root=workspace, home=workspace.parent, real=os.path.realpath, matching=files_matching)
    verdict = judge(command, resolver=resolver)
    assert verdict.decision is Decision.ALLOW, verdict.reason
    before = contents(workspace)
    subprocess.run(
        ["/bin/bash", "-c", command], cwd=workspace, check=False, stdin=subprocess.DEVNULL, capture_output=True
    )
    assert contents(workspace) == before


def test_the_workspace_by_its_full_name_is_the_workspace() -> None:
    assert judge("cd /ws && git status").decision is Decision.ALLOW
    assert judge("cd /ws/src && git status").decision is Decision.ASK
    assert judge("cd /ws/../etc && ls").decision is Decision.ASK


def test_a_pattern_is_allowed_as_long_as_no_file_looks_like_a_flag(tmp_path: Path) -> None:
    resolver = PathResolver(root=tmp_path, real=os.path.realpath, matching=files_matching)
    (tmp_path / "a.py").touch()
    assert judge("sort *.py", resolver=resolver).decision is Decision.ALLOW
    (tmp_path / "-o.py").touch()
    assert judge("sort *.py", resolver=resolver).decision is Decision.ASK
    assert judge("sort ./*.py", resolver=resolver).decision is Decision.ALLOW
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "--output=x").touch()
    assert judge("cd sub && sort *", resolver=resolver).decision is Decision.ASK
    assert judge("sort [!a]*", resolver=resolver).decision is Decision.ASK


def contents(directory: Path) -> dict[str, str]:
    """Every file with a hash of what it holds, but for the list that git refreshes when it looks."""
    files = (path for path in directory.rglob("*") if path.is_file() and path != directory / ".git" / "index")
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
