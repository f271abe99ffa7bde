"""git in the sandbox obeys the user's configuration, and finds no credential in it."""

import subprocess
from pathlib import Path

import pytest

from robota.workspace.process.git_settings import with_git_settings
from robota.workspace.sandbox.home.git_configuration import is_left_out, written
from tests.harness.programs import needs
from tests.workspace.sandbox.cells import KINDS, Cell
from tests.workspace.sandbox.home.planted import live_in, write

CONFIGURATION = """
[user]
    name = Ada \\"the first\\" \\\\ Lovelace
    email = ada@example.com
    signingKey = ABCD
[alias]
    st = status --short  ; a comment
[core]
    excludesFile = ~/ignored
[credential]
    helper = store --file ~/secret-store
[credential "https://example.com"]
    username = secret-user
[http "https://example.com/"]
    extraHeader = "Authorization: Basic secret"
[http]
    cookieFile = ~/secret-cookies
[url "https://me:secret@example.com/"]
    insteadOf = example:
[remote "a"]
    url = https://secret@example.com/a
[github]
    token = secret
[sendemail]
    smtpPass = secret
[include]
    path = ~/more
[includeIf "gitdir:~/**"]
    path = ~/secret-for-others
[branch]
    autoSetupMerge
"""


@pytest.fixture(params=KINDS)
def cell(request: pytest.FixtureRequest, tmp_path: Path) -> Cell:
    return Cell(request.param, tmp_path)


@pytest.fixture
def configured(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> Cell:
    write(cell.home, {".gitconfig": CONFIGURATION, "more": "[init]\n    defaultBranch = trunk\n", "ignored": "*.log\n"})
    write(cell.home, {".config/git/config": "[pull]\n    rebase = true\n", ".config/git/ignore": "*.tmp\n"})
    live_in(cell, monkeypatch)
    return cell


@needs("git")
def test_settings_without_credentials_are_in_force(configured: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped = configured.sandbox.wrap(["true"])
    wrapped.clean_up()
    for name, value in with_git_settings({}, wrapped.git_settings).items():
        monkeypatch.setenv(name, value)
    asked = ("user.name", "user.email", "user.signingkey", "alias.st", "init.defaultBranch", "pull.rebase")
    done = configured.run("; ".join(f"git config {name}" for name in asked))
    expected = ['Ada "the first" \\ Lovelace', "ada@example.com", "ABCD", "status --short", "trunk", "true"]
    assert done.stdout.splitlines() == expected, done.stderr


@needs("git")
def test_no_credential_is_left(configured: Cell) -> None:
    done = configured.run("git config --global --list; cat ~/.gitconfig ~/.config/git/config ~/more; git config --list")
    assert "secret" not in done.stdout + done.stderr


@needs("git")
def test_ignored_names_of_the_user_are_ignored(configured: Cell) -> None:
    subprocess.run(["git", "init", "-q", "inner"], cwd=configured.root, check=True)
    done = configured.run("cd inner && touch a.log c && git -c core.excludesFile=~/ignored status --porcelain")
    assert done.stdout == "?? c\n", done.stderr


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("credential.helper", "store"),
        ("credential.https://example.com.username", "me"),
        ("http.extraheader", "X: y"),
        ("http.https://example.com/.extraheader", "X: y"),
        ("http.https://example.com/.cookiefile", "a"),
        ("http.proxy", "http://me:word@proxy.example.com"),
        ("url.https://me:word@example.com/.insteadof", "a:"),
        ("remote.a.url", "https://token@example.com/a"),
        ("gitlab.token", "a"),
        ("sendemail.smtppass", "a"),
        ("some.apikey", "a"),
        ("include.path", "~/more"),
    ],
)
def test_settings_that_may_hold_credentials_are_left_out(key: str, value: str) -> None:
    assert is_left_out(key, value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("user.signingkey", "ABCD"),
        ("url.git@example.com:.insteadof", "https://example.com/"),
        ("remote.a.url", "ssh://git@example.com/a"),
        ("core.pager", "less"),
        ("branch.autosetupmerge", None),
    ],
)
def test_other_settings_are_kept(key: str, value: str | None) -> None:
    assert not is_left_out(key, value)


@needs("git")
def test_a_written_file_says_what_was_read(tmp_path: Path) -> None:
    settings = [
        ("user.name", 'A "quoted" \\ name  # no comment; '),
        ("alias.a", "!f() { echo\n\t'x'; }; f"),
        ('url.a"b\\c.d.insteadof', " spaces "),
        ("branch.autosetupmerge", None),
        ("remote.origin.fetch", "+a:b"),
        ("remote.origin.fetch", "+c:d"),
        ("core.empty", ""),
    ]
    file = tmp_path / "config"
    file.write_text(written(settings))
    done = subprocess.run(["git", "config", "--file", file, "--null", "--list"], capture_output=True, check=True)
    entries = [entry.partition("\n") for entry in done.stdout.decode().split("\0")[:-1]]
    assert [(key, value if sign else None) for key, sign, value in entries] == settings
