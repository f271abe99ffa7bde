"""Which files a command writes, told from its words alone; None where nobody can tell."""

from pathlib import Path

import pytest

from robota.contracts.tool import Effect, Touches
from robota.contracts.verdict import Subject
from robota.policy.decide import SessionPolicy
from robota.policy.protected.path_resolver import PathResolver
from robota.policy.rules.sources import RuleSet


def written(command: str) -> tuple[str, ...] | None:
    resolver = PathResolver(root=Path("/w"), matching=lambda directory, pattern: ())
    policy = SessionPolicy(rules=RuleSet(), resolver=resolver, names={})
    touches = Touches(command=command)
    subject = Subject(tool="t", label="Bash", effects=frozenset({Effect.EXECUTE}), touches=touches, mode="code")
    return policy.written_by(subject)


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("ls", ()),
        ("echo x > a", ("a",)),
        ("echo x >> /etc/b", ("/etc/b",)),
        ("touch a b/../c", ("a", "c")),
        ("rm -rf -- -x", ("-x",)),
        ("cp a b c", ("c",)),
        ("mv a b", ("a", "b")),
        ("chmod +x a", ("a",)),
        ("sed -i s/a/b/ f", ("f",)),
        ("git restore f g", ("f", "g")),
        ("echo a | tee -a x", ("x",)),
        ("cd d && touch x", ("x", "d/x")),
    ],
)
def test_known(command: str, files: tuple[str, ...]) -> None:
    assert written(command) == files


@pytest.mark.parametrize(
    "command",
    [
        "make", "touch -r a b", "cp -r a b", "cp -t d a", "mv a", "sed s/a/b/e f", "sed -i.bak s/a/b/ f",
        "sed -i s/a/b/e f", "ln -s a b", "git restore :/", "git restore -s x f", "git checkout f",
        "tee --output-error a", "/bin/rm a", "sudo rm a", "rm *", "cp *.py d", "cp .. a", "mv l m; echo > m",
        "X=1 touch a", "touch $x", "(touch a)", "touch a &", "rm -z a", "install a b", "dd of=a", "truncate -s 0 a",
    ],
)  # fmt: skip
def test_unknown(command: str) -> None:
    assert written(command) is None
