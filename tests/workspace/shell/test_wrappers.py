"""Finding the command behind wrappers."""

import pytest

from robota.workspace.shell.wrappers import MAX_DEPTH, TooDeep, Unwrapped, unwrap


@pytest.mark.parametrize(
    ("command", "inner", "faithful"),
    [
        ("ls -la", "ls -la", True),
        ("timeout 5 ls", "ls", True),
        ("timeout -k 1 -s KILL 5s ls -la", "ls -la", True),
        ("timeout --preserve-status 5 ls", "ls", True),
        ("nice ls", "ls", True),
        ("nice -n 5 ls", "ls", True),
        ("nice -n5 ls", "ls", True),
        ("nice -5 ls", "ls", True),
        ("nohup time nice ls", "ls", True),
        ("stdbuf -oL -e 0 ls", "ls", True),
        ("command ls", "ls", True),
        ("time -p ls", "ls", True),
        ("env ls", "ls", False),
        ("env -i A=1 B=2 ls", "ls", False),
        ("env -u A ls", "ls", False),
        ("sudo -u me -E ls", "ls", False),
        ("xargs -n 1 -I {} rm {}", "rm {}", False),
        ("xargs -0 rm", "rm", False),
        ("watch -n 1 ls", "ls", False),
        ("setsid -w ls", "ls", False),
        ("flock /tmp/x ls", "ls", False),
        ("/usr/bin/env ls", "ls", False),
        ("./timeout 5 ls", "ls", False),
        ("timeout -- 5 ls", "ls", True),
    ],
)
def test_the_command_within(command: str, inner: str, faithful: bool) -> None:
    unwrapped = unwrap(tuple(command.split()))
    assert isinstance(unwrapped, Unwrapped)
    assert (unwrapped.inner, unwrapped.faithful) == (tuple(inner.split()), faithful)


@pytest.mark.parametrize(
    "command",
    [
        "env",
        "timeout 5",
        "env -S ls",
        "timeout --what 5 ls",
        "command -p ls",
        "nohup export x",
        "env eval ls",
    ],
)
def test_what_cannot_be_found_is_not_guessed(command: str) -> None:
    unwrapped = unwrap(tuple(command.split()))
    assert isinstance(unwrapped, Unwrapped)
    assert unwrapped.inner is None and not unwrapped.faithful


def test_the_depth_is_limited() -> None:
    assert isinstance(unwrap(("nice",) * MAX_DEPTH + ("ls",)), Unwrapped)
    assert isinstance(unwrap(("nice",) * (MAX_DEPTH + 1) + ("ls",)), TooDeep)
