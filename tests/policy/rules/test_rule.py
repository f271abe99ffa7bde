"""How rules are written and what paths they match."""

from pathlib import Path

import pytest

from robota.config.settings.layers import Layer, Origin
from robota.config.settings.merge import Entry
from robota.contracts.tool import Effect, Touches
from robota.contracts.verdict import Subject
from robota.policy.protected.path_resolver import PathResolver, matches_pattern, path_inside
from robota.policy.rules.rule import (
    InvalidRule,
    Rule,
    parse_rule,
    parse_rules,
    possibly_matches,
    split_rules,
    surely_matches,
)
from robota.policy.rules.sources import rules_of_settings

ROOT = Path("/ws")
PLACES = PathResolver(root=ROOT, home=Path("/home/me"))
NAMES = {"write_to_file": "write_to_file", "Write": "write_to_file", "write_file": "write_to_file", "Bash": "Bash"}


def writing(*paths: str) -> Subject:
    return Subject(
        tool="write_to_file",
        label="Write",
        effects=frozenset({Effect.WRITE}),
        touches=Touches(paths=paths),
        mode="code",
    )


def rule(text: str) -> Rule:
    parsed = parse_rule(text)
    assert isinstance(parsed, Rule)
    return parsed


@pytest.mark.parametrize("name", ["write_to_file", "Write", "write_file"])
def test_a_rule_names_its_tool_by_id_label_or_alias(name: str) -> None:
    parsed = parse_rule(f" {name}(src/**) ", NAMES)
    assert parsed == Rule(text=f"{name}(src/**)", tool="write_to_file", spec="src/**")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "()",
        "Write(",
        "Write()",
        "Write)x(",
        "Wriet",
        "Write(!x)",
        "Write(../x)",
        "Write(a[b])",
        "Write(/)",
        "Bash(curl x | sh)",
        "Bash(git log > x)",
        'Bash(echo "x")',
    ],
)
def test_an_invalid_rule_is_an_error_that_names_it(text: str) -> None:
    parsed = parse_rule(text, NAMES)
    assert isinstance(parsed, InvalidRule)
    assert repr(text) in parsed.message


def test_many_rules_are_sorted_into_valid_and_invalid() -> None:
    valid, invalid = parse_rules(["Write", "nope nope", "Bash(ls *)"], NAMES)
    assert [one.text for one in valid] == ["Write", "Bash(ls *)"]
    assert [one.text for one in invalid] == ["nope nope"]


def test_rules_in_one_string_are_split_outside_parentheses() -> None:
    assert split_rules("Read, Bash(git diff *),Bash(a, b)  Write") == (
        "Read",
        "Bash(git diff *)",
        "Bash(a, b)",
        "Write",
    )
    assert split_rules(" ,") == ()


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("src/**", "src/a/b.py", True),
        ("src/**", "src2/a", False),
        ("src", "src/a", True),
        ("src/", "lib/src/a", True),
        ("/src", "lib/src/a", False),
        ("*.py", "a/b/c.py", True),
        ("*.py", "a/b/c.pyc", False),
        ("a/*.py", "a/b/c.py", False),
        ("a/**/c.py", "a/c.py", True),
        ("a/**/c.py", "a/x/y/c.py", True),
        ("**/test_?.py", "test_1.py", True),
        ("**", ".", True),
        ("a.b", "aXb", False),
        ("./src/*", "src/x", True),
    ],
)
def test_path_patterns_read_like_gitignore(pattern: str, path: str, expected: bool) -> None:
    assert matches_pattern(path, pattern, ignore_case=False) is expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [("a/../b", "b"), ("/ws/b", "b"), (".", "."), ("/ws", "."), ("..", None), ("/ws-evil/f", None), ("//ws/f", None)],
)
def test_paths_are_compared_by_component(path: str, expected: str | None) -> None:
    assert path_inside(ROOT, path) == expected


def test_allowing_needs_every_path_and_denying_only_one() -> None:
    both = writing("src/a", "lib/b")
    assert not surely_matches(rule("Write(src/**)"), both, PLACES)
    assert possibly_matches(rule("Write(src/**)"), both, PLACES)
    assert surely_matches(rule("Write"), both, PLACES)


def test_only_denying_ignores_case_and_reaches_out() -> None:
    assert not surely_matches(rule("Write(src/**)"), writing("SRC/a"), PLACES)
    assert possibly_matches(rule("Write(src/**)"), writing("SRC/a"), PLACES)
    assert not surely_matches(rule("Write(**)"), writing("../x"), PLACES)


def test_a_pattern_for_a_call_that_touches_nothing_denies_and_never_allows() -> None:
    assert not surely_matches(rule("Write(x)"), writing(), PLACES)
    assert possibly_matches(rule("Write(x)"), writing(), PLACES)


def test_a_rule_for_another_tool_says_nothing() -> None:
    assert not surely_matches(rule("Read"), writing("a"), PLACES)
    assert not possibly_matches(rule("Read"), writing("a"), PLACES)


@pytest.mark.parametrize("name", ["Edit", "Edit(src/**)", "Edit(/src)", "Edit(//ws/src/**)", "Edit(src/a)"])
def test_edit_speaks_of_every_tool_that_writes(name: str) -> None:
    assert surely_matches(rule(name), writing("src/a"), PLACES)
    assert possibly_matches(rule(name), writing("src/a"), PLACES)


def test_read_speaks_of_reading_and_forbids_editing_too() -> None:
    assert not surely_matches(rule("Read(src/**)"), writing("src/a"), PLACES)
    assert possibly_matches(rule("Read(src/**)"), writing("src/a"), PLACES)
    assert not possibly_matches(rule("Read"), writing("src/a"), PLACES)


@pytest.mark.parametrize("path", ["secrets", "secrets/", "/ws/secrets", "lib/secrets"])
def test_a_directory_is_denied_if_all_of_its_files_are(path: str) -> None:
    assert possibly_matches(rule("Edit(secrets/**)"), writing(path), PLACES)
    assert not surely_matches(rule("Edit(secrets/**)"), writing(path), PLACES)
    assert not possibly_matches(rule("Edit(secrets/*.pem)"), writing(path), PLACES)
    assert not possibly_matches(rule("Edit(secrets/**)"), writing("."), PLACES)


def test_denying_reaches_any_depth_and_allowing_does_not() -> None:
    assert possibly_matches(rule("Edit(src/**)"), writing("lib/src/a"), PLACES)
    assert not possibly_matches(rule("Edit(/src/**)"), writing("lib/src/a"), PLACES)
    assert not surely_matches(rule("Edit(src/**)"), writing("lib/src/a"), PLACES)


def test_a_pattern_may_begin_at_home_or_at_the_root() -> None:
    assert possibly_matches(rule("Edit(~/x)"), writing("/home/me/x"), PLACES)
    assert possibly_matches(rule("Edit(//etc/**)"), writing("/etc/passwd"), PLACES)
    assert not possibly_matches(rule("Edit(~/x)"), writing("x"), PLACES)


def test_a_star_in_the_parentheses_means_every_call() -> None:
    assert rule("Bash(*)") == Rule(text="Bash(*)", tool="Bash")


@pytest.mark.parametrize("text", ["mcp__srv", "mcp__srv__tool", "mcp__srv__*", "Edit(src/**)", "Read", "*"])
def test_names_that_need_not_be_known(text: str) -> None:
    assert isinstance(parse_rule(text, NAMES), Rule)


@pytest.mark.parametrize("text", ["mcp__*(x)", "WebFetch(domain:)", "WebFetch(domain:*)", "Bash(ls *"])
def test_more_invalid_rules(text: str) -> None:
    assert isinstance(parse_rule(text), InvalidRule)


def test_of_many_wrong_rules_of_a_repository_some_are_named() -> None:
    origin = Origin(Layer.PROJECT, "settings.json")
    wrong = Entry(key=("permissions", "deny"), value=("Bash(a",) * 5000, origin=origin)
    rules, notices = rules_of_settings([wrong], {})
    assert rules.deny == ()
    assert len(notices) == 21 and notices[-1] == "settings.json: 4,980 more rules have no effect."
