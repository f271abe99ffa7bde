"""Which paths a pattern of a rule names, and which directories hold them."""

import pytest

from robota.policy.protected.path_resolver import KeptFiles, secrets_among
from tests.policy.judging import PLACES, says


@pytest.mark.parametrize(
    ("path", "pattern", "named", "named_broadly"),
    [
        ("/home/me/notes/a", "~/notes/**", True, True),
        ("/home/me/NOTES/a", "~/notes/**", False, True),
        ("/home/menotes/a", "~/notes/**", False, False),
        ("notes/a", "~/notes/**", False, False),
        ("/etc/hosts", "//etc/*", True, True),
        ("/ws/a/b", "//ws/a/*", True, True),
        ("a/b.pem", "a/*.pem", True, True),
        ("x/a/b.pem", "a/*.pem", False, True),
        ("x/a/b.pem", "/a/*.pem", False, False),
        ("/other/a/b.pem", "a/*.pem", False, True),
    ],
)
def test_a_rule_that_denies_names_paths_more_broadly(path: str, pattern: str, named: bool, named_broadly: bool) -> None:
    assert PLACES.matches(path, pattern, broadly=False) is named
    assert PLACES.matches(path, pattern, broadly=True) is named_broadly


@pytest.mark.parametrize(
    ("rule", "directory", "expected"),
    [
        ("secrets/*.pem", "secrets", "deny"),
        ("secrets/*.pem", "SECRETS", "deny"),
        ("secrets/*.pem", "deep/secrets", "deny"),
        ("secrets/*.pem", "SECRETS/inner", "allow"),
        ("secrets/inner/*.pem", "deep/secrets", "deny"),
        ("/secrets/*.pem", "secrets", "deny"),
        ("/secrets/*.pem", "deep/secrets", "allow"),
        ("./secrets/*.pem", "secrets", "deny"),
        ("./secrets/*.pem", "deep/secrets", "allow"),
        ("secrets/**", "deep/secrets", "deny"),
        ("secrets/**/a.pem", "deep/secrets", "deny"),
        ("~/secrets/*.pem", "/home/me/secrets", "deny"),
        ("~/secrets/*.pem", "/home/me/other", "allow"),
        ("*.pem", "secrets", "allow"),
    ],
)
def test_moving_a_directory_is_denied_like_the_files_in_it(rule: str, directory: str, expected: str) -> None:
    """A pattern that denies files at any depth denies the directories at any depth that hold them."""
    assert says(f"mv {directory} /ws/x", "bypassPermissions", deny=[f"Edit({rule})"]) == expected


def test_secrets_are_found_among_many_files_unless_the_project_publishes_them() -> None:
    places = ["a.py", ".env", "deep/ID_RSA", "b.md", "certs/server.pem", ".env.example"]
    found = list(secrets_among(places))
    assert found == [".env", "deep/ID_RSA", "certs/server.pem"]
    assert list(secrets_among(["a.py", "b.md"])) == []
    assert list(KeptFiles(published=lambda place: place == ".env").secrets_among(places)) == found[1:]
    many = [f"{number}/.env" for number in range(101)]
    assert list(KeptFiles(published=lambda _: True).secrets_among(many)) == many
    assert list(KeptFiles(published=lambda _: True).secrets_among(many[1:])) == []
