"""Files of a commit that somebody else made are written inside the directory, whatever their names say."""

import asyncio
import os
import subprocess
from pathlib import Path

import msgspec

from robota.workspace.git.remote_tree import FetchedCommit
from robota.workspace.git.run import open_git


def kept(repository: Path, kind: str, data: bytes) -> str:
    """The name of an object, kept as it is: git's own checks are left out."""
    words = ["git", "hash-object", "-t", kind, "-w", "--stdin", "--literally"]
    return subprocess.run(words, cwd=repository, input=data, capture_output=True, check=True).stdout.decode().strip()


def tree(repository: Path, mode: str, name: str, held: str) -> str:
    return kept(repository, "tree", f"{mode} {name}".encode() + b"\0" + bytes.fromhex(held))


def test_no_name_leads_out_of_the_directory(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "there"], check=True)
    there = tmp_path / "there"
    blob = kept(there, "blob", b"planted")
    up = tree(there, "40000", "..", tree(there, "100644", "planted.txt", blob))
    inside = tree(there, "40000", "docs", up)
    into = tmp_path / "above" / "into"
    into.mkdir(parents=True)

    async def write(top: str) -> tuple[str, ...]:
        commit = kept(there, "commit", f"tree {top}\nauthor a <b> 0 +0000\ncommitter a <b> 0 +0000\n\nx\n".encode())
        git = await open_git(there, os.environ)
        at_home = msgspec.structs.replace(git, environment={**git.environment, "GIT_DIR": str(there)})
        return await FetchedCommit(git=at_home, commit=commit).write("", into)

    assert asyncio.run(write(up)) == ("../planted.txt",)
    assert asyncio.run(write(inside)) == ("docs/../planted.txt",)
    assert list((tmp_path / "above").rglob("*")) == [into]
