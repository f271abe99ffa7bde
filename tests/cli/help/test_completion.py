"""Completions, tried in the shells themselves; the man page, tried with man where there is one."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.harness.cli import Robota

ASK_BASH = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _robota; printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def bash_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("completion")
    file = place / "robota.bash"
    file.write_text(Robota(place, place)("completion", "bash").stdout)
    return file


@pytest.mark.parametrize(
    ("typed", "offered", "not_offered"),
    [
        (["robota", "sess"], {"sessions"}, {"doctor"}),
        (["robota", "sessions", ""], {"list", "show", "export"}, {"sessions"}),
        (["robota", "sessions", "list", "--js"], {"--json"}, {"--json-schema"}),
        (["robota", "--output-format", ""], {"text", "stream-json"}, {"sessions"}),
        (["robota", "-p", "--permission-mode", "acc"], {"acceptEdits"}, {"plan"}),
        (["robota", "completion", ""], {"bash", "zsh", "fish"}, {"sessions"}),
        (["robota", "--cwd", ""], {"a directory"}, {"a file"}),
        (["robota", "help", "s"], {"sessions", "security", "skills"}, {"list"}),
        (["robota", "mcp", "add", "--"], {"--help"}, {"--worktree"}),
    ],
)
def test_bash_offers_what_may_come_next(
    bash_file: Path, tmp_path: Path, typed: list[str], offered: set[str], not_offered: set[str]
) -> None:
    (tmp_path / "a directory").mkdir()
    (tmp_path / "a file").touch()
    command = ["bash", "-c", ASK_BASH, "bash", str(bash_file), *typed]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    words = set(done.stdout.splitlines())
    assert offered <= words and not (not_offered & words), done.stdout + done.stderr


ZSHRC = """
PS1=; fpath=($HOME $fpath); autoload -Uz compinit; compinit -u -D
show() { print -r -- "LINE[$BUFFER]" }
zle -N show; bindkey '^I' complete-word; bindkey '^P' show; print READY
"""
ASK_ZSH = """
zmodload zsh/zpty
zpty inside zsh -i
zpty -r inside line '*READY*'
zpty -w -n inside "$1"$'\\t\\x10'
zpty -r inside line '*LINE\\[*\\]*' && print -r -- "$line"
zpty -d inside
"""


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("robota sess", "sessions"),
        ("robota sessions verif", "verify"),
        ("robota -p --permission-mode acc", "acceptEdits"),
    ],
)
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_zsh_and_fish_offer_it_too(robota: Robota, shell: str, typed: str, offered: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    file = robota.home / "_robota"
    file.write_text(robota("completion", shell).stdout)
    (robota.home / ".zshrc").write_text(ZSHRC)
    asked = {
        "fish": [program, "-N", "-c", f"source {file}; complete -C '{typed}'"],
        "zsh": [program, "-f", "-c", ASK_ZSH, "zsh", typed],
    }
    environment = {"PATH": os.environ["PATH"], "HOME": str(robota.home), "TERM": "xterm", "LANG": "C.UTF-8"}
    done = subprocess.run(asked[shell], env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert offered in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_understands_its_file(robota: Robota, shell: str) -> None:
    text = robota("completion", shell).stdout
    assert "sessions" in text and "--json-schema".strip("-") in text
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    file = robota.home / f"completion.{shell}"
    file.write_text(text)
    done = subprocess.run([program, "-n", str(file)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_quotes_in_a_text_do_not_end_it(robota: Robota) -> None:
    """The help of an option holds apostrophes, which end a word in every shell."""
    lines = robota("completion", "fish").stdout.splitlines()[1:]
    assert all(shlex.split(line)[:3] == ["complete", "-c", "robota"] for line in lines)
    assert any("'\\''" in line for line in lines)


def test_an_unknown_shell_is_refused(robota: Robota) -> None:
    done = robota("completion", "tcsh")
    assert done.code == 2 and "not one of bash, zsh, fish" in done.stderr


def test_the_man_page_is_a_man_page(robota: Robota) -> None:
    page = robota("help", "--man").stdout
    assert page.startswith(".TH ROBOTA 1") and "\\-\\-json\\-schema" in page
    assert [line for line in page.splitlines() if line.startswith("'")] == []
    man = shutil.which("man")
    if man is None or shutil.which("groff") is None:
        return
    file = robota.home / "robota.1"
    file.write_text(page)
    env = {**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"}
    done = subprocess.run([man, "--warnings", str(file)], capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0 and done.stderr == ""
