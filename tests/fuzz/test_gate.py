"""Policy's promise, kept by really running it: what runs unasked only looks. `make fuzz FUZZ=--gate` tries more."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz.gate.arguments import is_installed_or_built_in
from tests.fuzz.gate.batch import missing_tools, run_all
from tests.fuzz.gate.gate import Gate
from tests.fuzz.gate.judging import Case, described_options
from tests.fuzz.gate.known_holes import KNOWN_HOLES, KNOWN_HOLES_OF_RULES, no_longer_seen, unexplained
from tests.fuzz.gate.trace import Executed, Wrote

SEED = 1
JUDGED = 1_200
EACH_RULE = 1
FEWEST_RUN = 100
# Hundreds of processes each: on a busy machine the usual limit of a test is too short.
SECONDS = 900


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gate]:
    missing = missing_tools()
    if missing is not None:
        pytest.skip(f"Commands cannot be watched: {missing}.")
    yield Gate(tmp_path_factory.mktemp("gate"))


@pytest.mark.timeout(SECONDS)
def test_commands_that_were_interesting_once_only_look_when_they_run_unasked(gate: Gate) -> None:
    outcome = gate.try_unasked(gate.corpus())
    assert len(outcome.ran) > FEWEST_RUN
    assert "\n".join(map(str, unexplained(outcome.findings, KNOWN_HOLES))) == ""
    assert no_longer_seen(outcome.findings, KNOWN_HOLES) == [], "fixed: remove them from KNOWN_HOLES"


@pytest.mark.timeout(SECONDS)
def test_commands_that_are_made_up_only_look_when_they_run_unasked(gate: Gate) -> None:
    outcome = gate.try_unasked(gate.made_up(SEED, JUDGED))
    assert len(outcome.ran) > FEWEST_RUN
    assert "\n".join(map(str, unexplained(outcome.findings, KNOWN_HOLES))) == ""


@pytest.mark.timeout(SECONDS)
def test_suggested_rules_for_commands_that_look_write_and_run_nothing_else(gate: Gate) -> None:
    outcome = gate.try_suggested_rules(SEED, EACH_RULE)
    assert outcome.ran
    assert "\n".join(map(str, unexplained(outcome.findings, KNOWN_HOLES_OF_RULES))) == ""
    assert no_longer_seen(outcome.findings, KNOWN_HOLES_OF_RULES) == [], "fixed: remove them from KNOWN_HOLES_OF_RULES"


def test_the_same_seed_makes_up_the_same_commands(gate: Gate) -> None:
    assert gate.made_up(7, 200) == gate.made_up(7, 200)
    assert gate.made_up(7, 200) != gate.made_up(8, 200)


def test_every_described_option_is_tried(gate: Gate) -> None:
    texts = [case.text.rpartition("&& ")[2] for case in gate.spellings(SEED)]
    words = {(text.split()[0], word) for text in texts for word in text.split()}
    for name, options in described_options().items():
        if is_installed_or_built_in(name):
            missing = [option for option in options if (name.split()[0], option.rstrip("=?")) not in words]
            assert missing == [], name


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("touch made", "writes"),
        ("cat a.txt > made", "writes"),
        ("sort -o made a.txt", "writes"),
        ("mkdir made", "writes"),
        ("chmod 600 a.txt", "writes"),
        ("rm a.txt", "writes"),
        ("ln -s a.txt made", "writes"),
        ("mv a.txt made", "writes"),
        ("touch -r a.txt b.txt", "writes"),
        ("truncate -s 0 a.txt", "writes"),
        ("find a.txt -exec cat {} +", "runs"),
        ("git -c core.fsmonitor=../../planted status", "runs"),
        ("git -c alias.x='!id' x", "runs"),
        ("cat ../../outside/secret.txt", "reads outside"),
        ("cat link-out", "reads outside"),
        ("ls link-dir/", "reads outside"),
        ("cat .env", "reads a secret"),
        ("cat src/link-secret", "reads a secret"),
        ("bash -c 'exec 3<>/dev/tcp/127.0.0.1/9'", "connects"),
    ],
)
def test_the_gate_sees_what_a_command_does(gate: Gate, text: str, kind: str) -> None:
    """Whatever policy would say: these are run as if it had allowed them."""
    assert kind in {finding.kind for finding in gate.run([Case(text=text, tree="ordinary")])}


def test_a_trace_is_told_apart_by_command(tmp_path: Path) -> None:
    missing = missing_tools()
    if missing is not None:
        pytest.skip(f"Commands cannot be watched: {missing}.")
    environment = {"PATH": "/usr/bin:/bin"}
    commands = [["true", "x"], ["echo x > made"], ["cat", "-n", "/dev/null"]]
    nothing, wrote, read = run_all([(str(tmp_path), environment, words) for words in commands], tmp_path)
    assert [effect for effect in nothing.effects if isinstance(effect, Wrote)] == []
    assert Wrote("made", "openat") in wrote.effects
    assert [effect.path for effect in read.effects if isinstance(effect, Executed)] == ["/usr/bin/cat"]
