"""git has rules of its own for paths: what policy says that it writes is compared with what it does."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from robota.contracts.tool import Effect, Touches
from robota.contracts.verdict import Subject
from robota.policy.decide import SessionPolicy
from robota.policy.protected.path_resolver import PathResolver
from robota.policy.rules.sources import RuleSet
from robota.workspace.shell.expansion import files_matching

FILES = (
    "a.md", "x.py", "docs/a.md", "docs/b.txt", "docs/sub/c.md", "docs/sub/deep/d.md", "DOCS/e.md", "docs2/f.md", "[x]",
    "docs/[y]z", "docs/*", "docs/y", "src/docs/g.md", "src/a.md",
)  # fmt: skip
PIECES = st.sampled_from(
    ["docs", "src", "sub", "a", "x", "y", ".md", "*", "**", "?", "[x]", "[!a]", "[", "]", "\\", "/", "/", "..", "."]
)
MAGIC = st.sampled_from([""] * 6 + [":/", ":!", ":^", ":(top)", ":(glob)", ":(icase)", ":(literal)", ":(exclude)", ":"])
SPECS = st.builds(lambda magic, pieces: magic + "".join(pieces), MAGIC, st.lists(PIECES, min_size=1, max_size=6))


class Repository:
    """One in which all files are deleted before each command, so that what git writes is what is there afterwards."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in FILES:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("x")
        for words in (["init", "-q"], ["add", "-A"]):
            subprocess.run(["git", *words], cwd=root, check=True)

    def written(self, command: str) -> set[str]:
        for name in FILES:
            (self.root / name).unlink(missing_ok=True)
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["bash", "-c", command], cwd=self.root, capture_output=True, check=False)
        return {name for name in FILES if (self.root / name).exists()}

    def said(self, command: str) -> tuple[str, ...] | None:
        resolver = PathResolver(root=self.root, real=os.path.realpath, matching=files_matching)
        policy = SessionPolicy(rules=RuleSet(), resolver=resolver, names={})
        effects = frozenset({Effect.EXECUTE})
        subject = Subject(tool="t", label="Bash", effects=effects, touches=Touches(command=command), mode="code")
        return policy.written_by(subject)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return Repository(Path(os.path.realpath(tmp_path_factory.mktemp("repository"))))


def is_within(file: str, places: tuple[str, ...]) -> bool:
    return any(place in {".", file} or file.startswith(f"{place}/") for place in places)


@pytest.mark.parametrize(
    "spec",
    [
        "docs/*.md", "docs/[a-z]*", "docs/?*", "*.md", "docs/s*", "docs/*/d.md", ":/", ":(top)docs", ":!src", ":^src",
        ":(glob)docs/**/d.md", ":(icase)docs", "docs/\\*", "docs/*/../../x.py", "docs*", "docs/[y]z",
    ],
)  # fmt: skip
@pytest.mark.parametrize("head", ["git restore", "git restore --", "git checkout --", "cd docs && git restore"])
def test_git_writes_no_file_that_policy_did_not_name(repository: Repository, head: str, spec: str) -> None:
    command = f"{head} {shlex.quote(spec)}"
    said = repository.said(command)
    written = repository.written(command)
    assert said is None or all(is_within(file, said) for file in written), (said, written)


@settings(deadline=None, max_examples=40)
@given(specs=st.lists(SPECS, min_size=1, max_size=2), quoted=st.booleans())
@example(specs=["docs/*.md"], quoted=False)
@example(specs=["docs/*"], quoted=False)
def test_nor_for_any_other_words(repository: Repository, specs: list[str], quoted: bool) -> None:
    words = [shlex.quote(spec) if quoted or not set(spec).isdisjoint("\\!^(") else spec for spec in specs]
    command = f"git restore {' '.join(words)}"
    said = repository.said(command)
    if said is None:
        return
    written = repository.written(command)
    assert all(is_within(file, said) for file in written), (command, said, written)


def test_plain_names_are_still_known(repository: Repository) -> None:
    assert repository.said("git restore docs/a.md src") == ("docs/a.md", "src")
    assert repository.said("git checkout -- docs/a.md") == ("docs/a.md",)


@pytest.mark.parametrize(
    "command", ["git restore --pathspec-from-file=list", "git restore --pathspec-from-file list", "git restore '*.md'"]
)
def test_what_is_not_named_is_not_known(repository: Repository, command: str) -> None:
    assert repository.said(command) is None
