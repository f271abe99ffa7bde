"""Commands that once ran unasked and did more than look. Each is run for real, so that the danger is not made up."""

import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from robota.contracts.tool import Effect
from robota.contracts.verdict import Decision, Subject
from robota.policy.protected.path_resolver import PathResolver
from robota.workspace.shell.expansion import files_matching
from tests.policy.judging import fetching, judge, running, subject, writing

SECRET = "what lies outside"
RUN = "echo x > ran"
NUMBER = "9" * 20


class Attack(msgspec.Struct, frozen=True, kw_only=True):
    """A command, the files it needs (a text, or a link if it begins with ->), and the file it writes.

    Where none is named it shows a file outside the workspace.
    """

    command: str
    files: dict[str, str] = {}
    leaves: str = "."


ATTACKS = {
    "an optional value of git": Attack(command="git diff -U --output=ran", leaves="ran"),
    "a value that git wants attached": Attack(command="git log --format --output=ran", leaves="ran"),
    "a wrapper whose time is a pattern": Attack(
        command="cd sub && timeout * ls", files={"sub/5": "", "sub/sh": "", "sub/x.sh": RUN}, leaves="sub/ran"
    ),
    "a format that is the name of a file": Attack(
        command="printf a* PATH; ls b", files={"a%n": "", "1/ls": f"#!/bin/sh\n{RUN}\n", "b": ""}, leaves="ran"
    ),
    "a value that is a pattern": Attack(command="uniq -f 1*", files={"1": "", "1a": "x\n", "1b": ""}, leaves="1b"),
    "words from a file": Attack(command="strings @words", files={"words": "OUTSIDE"}),
    "above a link": Attack(command="cat link/../secret", files={"link": "->OUTER/inner"}),
    "above a link, after cd": Attack(command="cd link && cat ../secret", files={"link": "->OUTER/inner"}),
    "a link among many files": Attack(command="cat docs/*", files={"docs/a": "", "docs/b": "->OUTSIDE"}),
    "a link found by diff": Attack(command="diff -rN one two", files={"one/a": "->OUTSIDE", "two/b": ""}),
    "a link found by diff in plain directories": Attack(
        command="diff one two", files={"one/a": "->OUTSIDE", "two/a": ""}
    ),
    "files in place of a text": Attack(command="grep -hv OUTER/*"),
    "files of the workspace in place of a text": Attack(
        command="grep -hv docs/*", files={"docs/a": "", "docs/b": "->OUTSIDE"}
    ),
    "words from a file in place of a value": Attack(
        command="strings -n @words one", files={"words": "4 OUTSIDE", "one": ""}
    ),
    "numbers too large for descriptors": Attack(
        command=f"uniq {NUMBER}8>/dev/null {NUMBER}9>/dev/null", files={f"{NUMBER}8": "x\n"}, leaves=f"{NUMBER}9"
    ),
    "a quoted bracket in a pattern": Attack(command=r"cat \[a\]*", files={"[a]x": "->OUTSIDE"}),
    "a quoted sign in a set of characters": Attack(command="cat ['!'a]x", files={"ax": "->OUTSIDE"}),
    "a set of characters with a bracket in it": Attack(command="cat [a[^b]", files={"^": "->OUTSIDE"}),
    "a bracket that is never closed": Attack(command="cat [^ab*", files={"[^ab": "->OUTSIDE"}),
    "bytes in place of characters": Attack(command="cat ??x", files={"éx": "->OUTSIDE"}),
}


def prepared(attack: Attack, directory: Path) -> Path:
    outer, workspace = directory / "outer", directory / "workspace"
    (outer / "inner").mkdir(parents=True)
    (outer / "secret").write_text(SECRET)
    workspace.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=workspace, check=True)
    for name, text in attack.files.items():
        path = workspace / name
        path.parent.mkdir(exist_ok=True)
        content = text.replace("OUTSIDE", str(outer / "secret")).replace("OUTER", str(outer))
        if content.startswith("->"):
            path.symlink_to(content.removeprefix("->"))
        else:
            path.write_text(content)
            path.chmod(0o755)
    return workspace


@pytest.mark.parametrize("name", ATTACKS)
def test_what_does_more_than_look_is_asked_about(name: str, tmp_path: Path) -> None:
    attack = ATTACKS[name]
    workspace = prepared(attack, tmp_path)
    resolver = PathResolver(root=workspace, home=tmp_path, real=os.path.realpath, matching=files_matching)
    command = attack.command.replace("OUTER", str(tmp_path / "outer"))
    verdict = judge(command, resolver=resolver)
    assert verdict.decision is Decision.ASK, verdict.reason

    done = subprocess.run(
        ["/bin/bash", "-c", command],
        cwd=workspace,
        env={**os.environ, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if "not found" in done.stderr or (attack.command.startswith("git") and not (workspace / attack.leaves).exists()):
        pytest.skip("this machine has not the program, or a newer one that knows better")
    written = workspace / attack.leaves
    assert SECRET in done.stdout or (written.is_file() and (written.read_text() or written.name == "ran"))


@pytest.mark.parametrize(
    "command",
    ["echo x > -oran; sort *", "ls *; echo x > -oran\nsort *", "cd sub; echo x > -oran; sort *"],
)
def test_a_file_that_the_command_itself_brings_is_not_taken_for_a_flag(command: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a").write_text("x\n")
    (tmp_path / "a").write_text("x\n")
    resolver = PathResolver(root=tmp_path, real=os.path.realpath, matching=files_matching)
    assert judge(command, "acceptEdits", resolver=resolver).decision is Decision.ASK
    assert judge("sort * > out", "acceptEdits", resolver=resolver).decision is Decision.ALLOW
    assert judge("ls *; sort *", resolver=resolver).decision is Decision.ALLOW

    subprocess.run(["/bin/bash", "-c", command], cwd=tmp_path, capture_output=True, check=False)
    assert list(tmp_path.rglob("ran"))


@pytest.mark.parametrize("bringing", ["echo 'ref: refs/heads/main' > HEAD", "cp head HEAD"])
def test_a_repository_that_the_command_itself_completes_is_not_trusted(bringing: str, tmp_path: Path) -> None:
    """Whether git only looks was found out before; each of these files by itself is nothing special."""
    command = f"{bringing}; git status"
    assert judge(command, "acceptEdits", allow=["Bash(cp head HEAD)"]).decision is Decision.ASK
    assert judge("make test && git status", allow=["Bash(make *)"]).decision is Decision.ALLOW

    (tmp_path / "objects").mkdir()
    (tmp_path / "refs").mkdir()
    (tmp_path / "head").write_text("ref: refs/heads/main\n")
    (tmp_path / "config").write_text(
        f'[core]\nrepositoryformatversion = 0\nbare = false\nworktree = {tmp_path}\nfsmonitor = "touch ran; false"\n'
    )
    subprocess.run(["/bin/bash", "-c", command], cwd=tmp_path, capture_output=True, check=False)
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "name",
    [
        "git~1/config",
        "GIT~1/config",
        ".git::$INDEX_ALLOCATION/config",
        ".git:x",
        ".g\u200cit/config",
        ".git\ufeff/config",
        "claude~1/x",
        ".env:x",
        ".env\u200d",
    ],
)
def test_a_protected_name_is_known_in_the_spellings_of_other_file_systems(name: str) -> None:
    assert judge(writing(name), "acceptEdits").decision is Decision.DENY
    assert judge(writing("notes~1.txt", "a:b", "caf\u00e9"), "acceptEdits").decision is Decision.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        "find -- . -exec touch x ';'",
        "find -- . -delete",
        "find . -- -delete",
        "find -name x -- . -fls out",
        "find . -name x src",
        "find . -newer /etc/passwd",
        "find . -size x -delete",
        "column -t -n -s /etc/passwd",
        "column -n -s .env",
        "head -n /etc/passwd x",
        "grep -A /etc/passwd x",
        "realpath --relative-to /etc x",
        "git config core.hooksPath --local",
        "git config --global core.hooksPath --get",
        "git config core.fsmonitor -- --local",
        "git log --format=%+G?",
        "git log '--pretty=format:% GK'",
        "git log --pretty=verified",
        "git show --submodule=diff HEAD",
        "git log -p --submodule",
        "ls -w /etc",
        "git log --format=%GG",
        "git for-each-ref '--format=%(signature)'",
        "git symbolic-ref HEAD refs/heads/x",
        "git config --get http.extraheader",
        "git config user.name x",
        "git stash show --ext-diff",
        "git tag -l -d v1",
        "git branch --list -D x",
        "git remote get-url --upload-pack=x y",
        "git reflog expire --all",
        "git diff -U3 --no-index a b",
        "tree -Lo 2 out",
        "tree -aLo 2 out",
        "time -5 ls",
        "find . -follow",
        "ls -LR",
        "grep -R x .",
        "head -n --bytes=1 x",
        "sort -k -o x",
        "sed s/a/b/w x",
        "sed s/a/b/e x",
        "sed 's/a/b/;w x' y",
        "sed 's/a/b/\nw x' y",
        "sed s/a/b/ -i x",
        "awk '{print > $1}' x",
        "awk '{print | $1}' x",
        "awk '{system($1)}' x",
        "awk '{print $1; system($2)}' x",
        "awk -f prog x",
        "jq env x",
        "jq '$ENV.KEY' x",
        "jq '$ ENV' x",
        "echo /etc/*",
        "basename -a ~/*",
        "command -v /opt/*",
        "cat ''~/x",
        "jq -L . 'import \"a\" as a; .' x",
        "jq . --rawfile a /etc/passwd x",
        "xxd -r a",
        "xxd a b",
        "xxd -ps a b",
        "git blame -CL /etc/passwd a",
        "hexdump -f a b",
        "test -v 'a[$(id)]'",
        "test a -nt b",
        "sleep 1 2 x",
        "hostname evil",
        "make -V --version",
        "node -r ./evil.js --version",
        "diff -l a b",
        "date -f x",
        "wc --files0-from=x",
        "du --files0-from=x",
        "file -f x",
        "file -C -m x",
        "column -N x -o",
        "type -f x",
        "pwd x",
        "cut --outp=x y",
        "rg --ignore-file x y",
        "rg -f x y",
        "grep -f x y",
        "grep --file=x y",
    ],
)
def test_flags_that_are_not_known_to_be_harmless_are_asked_about(command: str) -> None:
    """Some are flags, or are none, only because of their position or the grammar of the program."""
    assert judge(command).decision is Decision.ASK
    assert judge(command, "plan").decision is Decision.DENY


@pytest.mark.parametrize(
    ("rule", "escaping", "meant"),
    [
        ("git diff *", "git diff --output=x", "git diff --stat"),
        ("git diff *", "git diff --outp x", "git diff -w -x"),
        ("git diff *", "git diff --ext-diff", "git diff -- --output=x"),
        ("git *", "git -c core.pager=./x log", "git commit -c HEAD"),
        ("git *", "git -ccore.pager=./x log", "git switch -c new"),
        ("git *", "git -C . -c core.pager=./x log", "git -C . log"),
        ("git *", "git -p -C . -c a.b=c", "git -C ."),
        ("git *", "git --exec-path=. log", "git cherry-pick -x HEAD"),
        ("git fetch *", "git fetch --upload-pack=./x .", "git fetch origin"),
        ("git push *", "git push --receive-p=./x .", "git push origin main"),
        ("git grep *", "git grep -Osh x", "git grep -n x"),
        ("git rebase *", "git rebase -x ./evil main", "git rebase main"),
        ("find *", "find . -exec rm x ;", "find . -name x"),
        ("find *", "find . -delete", "find . -print"),
        ("rg *", "rg --pre=./x y", "rg --pretty y"),
        ("sort *", "sort -uo x y", "sort -u y"),
        ("tar *", "tar -xf a --to-command=./x", "tar -xf a"),
        ("tree *", "tree -ao x", "tree -a"),
        ("go test *", "go test -exec ./x", "go test ./..."),
        ("git log * main", "git log --output=x main", "git log --oneline main"),
        ("sort -*", "sort -ox", "sort -u"),
        ("cat src/*", "cat src/../../x", "cat src/a/../b/..x"),
        ("rm build/*", "rm build/../src", "rm build/x"),
        ("tar *", "tar cIf ./x a b", "tar cf a b"),
        ("tar *", "tar xFf ./x a", "tar xf a"),
        ("git clone *", "git clone -u ./x a", "git clone a"),
        ("git clone *", "git clone -c core.fsmonitor=./x a", "git clone --depth 1 a"),
        ("git clone *", "git clone -qc core.fsmonitor=./x a", "git clone -q a"),
        ("git clone *", "git clone --template=x a", "git clone --bare a"),
        ("git clone *", "git clone --conf core.fsmonitor=./x a", "git clone --branch x a"),
        ("git rebase *", "git rebase -ix ./evil main", "git rebase -i main"),
        ("git archive *", "git archive -o x HEAD", "git archive HEAD"),
        ("git grep *", "git grep -nOsh x", "git grep -no x"),
        ("git format-patch *", "git format-patch -o /x HEAD", "git format-patch -1 HEAD"),
        ("cargo build *", "cargo build --config x", "cargo build --release"),
        ("ruff check *", "ruff check -o made", "ruff check --fix"),
        ("git whatchanged *", "git whatchanged --remerge-diff", "git whatchanged --stat"),
        ("git log *", "git log -p --diff-merges=remerge", "git log -p --diff-filter=A"),
        ("git fsck *", "git fsck --lost-found", "git fsck --full"),
        ("git cat-file *", "git cat-file --textconv HEAD:a", "git cat-file -p HEAD:a"),
        ("git log *", "git log --show-sig", "git log --shortstat"),
        ("gcc *", "gcc -wrapper touch a.c", "gcc -c a.c"),
        ("g++ *", "g++ -fplugin=x.so a.cc", "g++ -O2 a.cc"),
        ("clang *", "clang -fplugin=x.so a.c", "clang -c a.c"),
        ("rustc *", "rustc -C linker=touch a.rs", "rustc a.rs"),
        ("javac *", "javac --processor-path x A.java", "javac A.java"),
        ("cargo build *", "cargo build --manifest-path=x", "cargo build -p x"),
        ("npm test *", "npm test --script-shell=./x", "npm test -- --script-shell=./x"),
        ("npm test *", "npm test --script-s ./x", "npm test --silent"),
        ("shuf *", "shuf -o x a", "shuf -n 1 a"),
        ("sdiff *", "sdiff --diff-program=./x a b", "sdiff -l a b"),
        ("find *", "find -- . -delete", "find -- . -name x"),
        ("find *", "find -- src -fprint x", "find -- src -print"),
        ("find *", "find -- src -exec touch x ;", "find -- src -name x"),
    ],
)
def test_a_rule_with_a_star_does_not_mean_flags_that_run_or_write_something_else(
    rule: str, escaping: str, meant: str
) -> None:
    """In clusters, without a dash, abbreviated, and after a `--` that ends nothing."""
    allow = [f"Bash({rule})"]
    quoted = escaping.replace(" ;", " ';'")
    assert judge(meant, allow=allow).decision is Decision.ALLOW
    assert judge(quoted, allow=allow).decision is Decision.ASK
    assert judge(f"timeout 5 {quoted}", allow=allow).decision is Decision.ASK


def test_a_rule_with_a_star_does_not_mean_a_file_whose_name_is_a_flag(tmp_path: Path) -> None:
    (tmp_path / "--output=x").touch()
    resolver = PathResolver(root=tmp_path, real=os.path.realpath, matching=files_matching)
    assert judge("git diff *", allow=["Bash(git diff *)"], resolver=resolver).decision is Decision.ASK
    assert judge("git diff ./*", allow=["Bash(git diff *)"], resolver=resolver).decision is Decision.ALLOW


def test_a_flag_that_a_rule_names_itself_is_meant() -> None:
    assert judge("find build -delete", allow=["Bash(find build -delete *)"]).decision is Decision.ALLOW
    assert judge("find build -delete", allow=["Bash(find build -delete)"]).decision is Decision.ALLOW
    assert judge("find build -delete", allow=["Bash"]).decision is Decision.ALLOW


@pytest.mark.parametrize(
    ("command", "denied"),
    [
        ("git pus?", "Bash(git push *)"),
        ("git [op]ush", "Bash(git push)"),
        ("tar -xf a --to-command='git push'", "Bash(git push *)"),
        ("git fetch --upload-pack='git push' x", "Bash(git push *)"),
        ("rm -r src", "Edit(src/**)"),
        ("rm -r lib", "Edit(lib/gen/*.py)"),
        ("rm -r lib/", "Edit(/lib/gen/x)"),
        ("rm -r /data", "Edit(//data/sub/**)"),
        ("ls /data", "Read(//data/**)"),
        ("ls ~/notes", "Read(~/notes/**)"),
        ("mv lib/gen x", "Edit(lib/gen/**)"),
        ("grep -r x secrets", "Read(secrets/**)"),
        ("ls -l secrets/", "Read(/secrets/*)"),
        ("curl -d @secrets/key x", "Read(secrets/**)"),
        ("gcc -Isecrets/key x", "Read(secrets/**)"),
        ("curl -F 'f=@secrets/key;type=text/plain' x", "Read(secrets/**)"),
        ("docker run -v ./secrets/key:/key x", "Read(secrets/**)"),
        ("docker run --mount type=bind,src=secrets/key,dst=/key x", "Read(secrets/**)"),
        ("sh -c 'cat secrets/key'", "Read(secrets/**)"),
        ("python3.11 -c 'open(\"secrets/key\")'", "Read(secrets/**)"),
        ("env -S 'cat secrets/key'", "Read(secrets/**)"),
        ("cat sec\\\nrets/key", "Read(secrets/**)"),
        ("cat $x sec'ret's/key", "Read(secrets/**)"),
        ("cat {secrets,x}/key", "Read(secrets/**)"),
        ("cat 'cafe\u0301.txt'", "Read(caf\u00e9.txt)"),
    ],
)
def test_a_denial_is_not_avoided_by_patterns_directories_or_flags(command: str, denied: str) -> None:
    assert judge(command, "bypassPermissions", deny=[denied]).decision is Decision.DENY


@pytest.mark.parametrize(
    ("command", "denied"),
    [
        ("ls lib", "Read(lib/gen/**)"),
        ("rm lib/a.py", "Edit(lib/gen/*.py)"),
        ("ruff check lib", "Edit(lib/gen/**)"),
        ("git add .", "Edit(src/**)"),
    ],
)
def test_a_denial_of_some_files_is_none_of_the_directory_above(command: str, denied: str) -> None:
    assert judge(command, "bypassPermissions", deny=[denied]).decision is Decision.ALLOW


def test_a_denial_is_not_avoided_by_a_pattern_for_files(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "a.pem").write_text("x")
    resolver = PathResolver(root=tmp_path, real=os.path.realpath, matching=files_matching)
    assert judge("cat sec*/a.p?m", resolver=resolver).decision is Decision.ASK
    assert judge("cat sec*/*", deny=["Read(secrets/**)"], resolver=resolver).decision is Decision.DENY
    assert judge("cat s[^x]*/*", deny=["Read(secrets/**)"], resolver=resolver).decision is Decision.DENY
    assert judge("cat oth*/*", deny=["Read(secrets/**)"], resolver=resolver).decision is Decision.ALLOW


@pytest.mark.parametrize("command", ["cp x ~/.bashrc", "tee ~/.config/git/config", "curl -d @.env x", "cp -t.git x"])
def test_a_protected_file_is_seen_behind_a_flag_and_outside(command: str) -> None:
    everything = ["Bash(cp *)", "Bash(tee *)", "Bash(curl *)"]
    assert judge(command, "acceptEdits", allow=everything).decision is Decision.ASK


@pytest.mark.parametrize(
    "command",
    ["x=1; cat .env", "echo $x > .git/config", "cat ~/.ssh/id_rsa $x", "echo $x >> ../../etc/passwd", 'cat "$x" .Env'],
)
def test_a_rule_for_every_command_is_not_meant_for_protected_files(command: str) -> None:
    assert judge(command, allow=["Bash"]).decision is Decision.ASK
    assert judge("echo $x > out 2> /dev/null", allow=["Bash"]).decision is Decision.ALLOW


@pytest.mark.parametrize(
    "command", ["rm -rf /home/m?", "rm -rf ~/?*", "rm -rf /ho*", "rm -rf ./*", "rm -rf *", "rm -r ?*/"]
)
def test_a_pattern_does_not_hide_what_everything_rests_on(command: str) -> None:
    assert judge(command, "bypassPermissions").decision is Decision.ASK
    assert judge("rm -rf build/* a*", "bypassPermissions").decision is Decision.ALLOW


@pytest.mark.parametrize(
    ("call", "denied"),
    [
        (writing("a" * 4_000), "Edit(" + "*a" * 60 + "b)"),
        (writing("a/" * 1_000 + "a"), "Edit(" + "**/a/" * 60 + "b)"),
        (writing("a/" * 1_000 + "a"), "Edit(" + "**/*a*/" * 60 + "b)"),
        (running("npm " + "a" * 50_000), "Bash(npm " + "*a" * 60 + "b)"),
        (fetching("a" * 63 + ".com"), "WebFetch(domain:" + "*a" * 30 + "b.com)"),
        (subject(Effect.READ, tool="mcp__" + "a" * 60), "mcp__" + "*a" * 25 + "b"),
    ],
)
def test_a_rule_of_a_hostile_repository_cannot_make_judging_take_for_ever(call: Subject, denied: str) -> None:
    """Its deny rules count before anybody trusts it; expressions that try every combination do not come back."""
    assert judge(call, "bypassPermissions", deny=[denied]).decision is Decision.ALLOW


@pytest.mark.parametrize("command", ["git -x " * 14_000, "git -x git " * 9_000, "x=1; " + "git -x " * 14_000])
def test_many_words_cannot_make_judging_take_for_ever(command: str) -> None:
    assert judge(command, deny=["Bash(git push *)"]).decision is not Decision.ALLOW


@pytest.mark.parametrize("host", ["::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "::ffff:0:7f00:1", "fec0::1"])
def test_an_address_that_carries_another_one_is_denied(host: str) -> None:
    assert judge(fetching(host), "bypassPermissions").decision is Decision.DENY


@pytest.mark.parametrize("command", ["grep -rn key .", "grep --recursive key", "rg key", "git grep key"])
def test_a_file_that_must_not_be_read_is_not_read_by_searching_everything(command: str) -> None:
    assert judge(command).decision is Decision.ALLOW
    verdict = judge(command, deny=["Read(secrets/**)"])
    assert verdict.decision is Decision.ASK and "Read(secrets/**)" in verdict.reason
    assert judge("grep -n key README.md", deny=["Read(secrets/**)"]).decision is Decision.ALLOW


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("echo x > a", "Edit"),
        ("ls && cat b >> a", "Edit"),
        ("echo $x > a", "Edit"),
        ("cat a", "Read"),
        ("cat < a", "Read"),
        ("cat *", "Read"),
    ],
)
def test_a_rule_about_all_files_is_about_those_of_commands_too(command: str, rule: str) -> None:
    """Who forbids editing does not mean that the shell may do it instead."""
    assert judge(command, "acceptEdits", deny=[rule]).decision is Decision.DENY
    assert judge(command, "bypassPermissions", allow=["Bash"], deny=[rule]).decision is Decision.DENY
    assert judge(command, "acceptEdits", ask=[rule]).decision is Decision.ASK
    assert judge("echo x 2>/dev/null", "acceptEdits", deny=[rule]).decision is Decision.ALLOW


@pytest.mark.parametrize(
    "command", ["pip --version", "jq . a.json", "ls", "timeout 5 pip --version", "ls | pip --version"]
)
def test_a_program_of_the_workspace_is_not_known_to_only_read(tmp_path: Path, command: str) -> None:
    """Its code may have been edited without a question, where edits are accepted."""
    files = {name: str(tmp_path / ".venv/bin" / name) for name in ("pip", "jq", "ls")}
    resolver = PathResolver(root=tmp_path, matching=files_matching, program=files.get)
    verdict = judge(command, resolver=resolver)
    assert verdict.decision is Decision.ASK and "is a program of the workspace" in verdict.reason
    assert judge(command, "plan", resolver=resolver).decision is Decision.DENY
    elsewhere = PathResolver(root=tmp_path / "other", matching=files_matching, program=files.get)
    assert judge(command, resolver=elsewhere).decision is Decision.ALLOW


def test_an_interpreter_that_is_only_a_link_in_the_workspace_tells_its_version(tmp_path: Path) -> None:
    resolver = PathResolver(
        root=tmp_path, real=lambda path: "/usr/bin/python3", program=lambda name: str(tmp_path / ".venv/bin" / name)
    )
    assert judge("python3 --version", resolver=resolver).decision is Decision.ALLOW
