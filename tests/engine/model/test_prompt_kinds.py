"""The system prompt of every kind of session: within its budget, and true."""

import re
from pathlib import Path

import pytest

from robota.config.settings.schema import Completion
from robota.protocol.permission_mode import PermissionMode
from robota.providers.chunks import EditFormat
from tests.engine.model.prompts import Kind, kinds, prompt_of, real_runtime, sections_of, tokens

MOST_TOKENS = 850
# Of the sections in a session of the default kind; what differs in others is small.
BUDGETS = {
    "Identity": 50,
    "Harness": 120,
    "Working": 170,
    "Verifying": 110,
    "Safety": 180,
    "Tools and answers": 130,
    "Session": 190,
    "Agents": 110,
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    workspace = tmp_path_factory.mktemp("prompts") / "project"
    workspace.mkdir()
    return workspace


def own_part(system: str) -> str:
    """Without what another format of calls adds."""
    before, heading, session = system.partition("\n\n# Session\n\n")
    return before + heading + session.partition("\n\n")[0]


def test_every_kind_of_session_stays_within_the_budget(place: Path) -> None:
    sizes = {kind: tokens(own_part(prompt_of(real_runtime(place), kind).system)) for kind in kinds()}
    largest = max(sizes, key=lambda kind: sizes[kind])
    assert sizes[largest] <= MOST_TOKENS, (largest, sizes[largest])


def test_each_section_stays_within_its_budget(place: Path) -> None:
    sections = sections_of(prompt_of(real_runtime(place), Kind()).system)
    assert {title: tokens(text) for title, text in sections.items() if tokens(text) > BUDGETS[title]} == {}
    assert list(sections) == list(BUDGETS)


def test_the_page_about_prompts_has_the_real_numbers(place: Path) -> None:
    """`docs/prompts.md` is where somebody looks who wants to change the prompt."""
    page = (Path(__file__).parents[3] / "docs/prompts.md").read_text()
    sections = sections_of(prompt_of(real_runtime(place), Kind()).system)
    rows = re.findall(r"^\| ([A-Z][\w ]+) \| (\d+) \| (\d+) \|", page, re.MULTILINE)
    assert rows == [(title, str(tokens(text)), str(BUDGETS[title])) for title, text in sections.items()]


@pytest.mark.parametrize(
    ("kind", "told", "untold"),
    [
        (Kind(), ["needs the user's approval", "in a sandbox", "without network access"], ["Nobody is watching"]),
        (Kind(permission_mode=PermissionMode.PLAN), ["- Permission mode: plan. ", "is refused"], []),
        (Kind(attended=False), ["Nobody is watching this run", "sends something is refused"], ["the user's approval"]),
        (Kind(reach="off"), ["bash without a sandbox, with network access"], ["in a sandbox"]),
        (Kind(reach="none works"), ["because none works here"], ["in a sandbox"]),
        (
            Kind(permission_mode=PermissionMode.BYPASS, reach="none works"),
            ["Calls run without approval", "because none works here."],
            ["user's approval"],
        ),
        (Kind(permission_mode=PermissionMode.CONFINED), ["sandboxed commands", "installed packages"], []),
        (
            Kind(permission_mode=PermissionMode.CONFINED, reach="off"),
            ["Commands cannot be confined here"],
            ["sandboxed commands", "installed packages"],
        ),
        (Kind(agent="Explore"), [], ["web_fetch", "write_to_file"]),
        (Kind(mode="code", attended=False), ["Other modes for new_task: architect ("], ["switch_mode"]),
        (Kind(mode="architect", attended=False), ["Other modes for new_task: ask ("], ["switch_mode", "code ("]),
        (Kind(mode="ask", attended=False), [], ["Other modes", "switch_mode"]),
        (Kind(attended=False, permission_mode=PermissionMode.BYPASS), ["Other modes for switch_mode and new"], []),
        (Kind(reach="some hosts"), ["connect only to docs.example"], ["without network"]),
        (Kind(mode="ask"), ["Answer questions"], ["After a change", "commit, push", "bash", "edit_file"]),
        (Kind(mode="orchestrator"), ["Give each subtask"], ["file tools", "Read the code", "bash"]),
        (Kind(mode="architect"), ["Markdown files"], ["bash", "run the tests"]),
        (Kind(edit_format=EditFormat.PATCH), ["with apply_patch"], ["edit_file"]),
        (Kind(is_subtask=True), ["You are a subtask", "reads only your final result"], ["You cannot ask anybody"]),
        (Kind(is_subtask=True, attended=False), ["You cannot ask anybody"], []),
        (Kind(agent="general-purpose"), ["You are a subtask", "You write, change"], ["# Agent: "]),
        (
            Kind(agent="Explore", permission_mode=PermissionMode.BYPASS),
            ["You are a subtask", "plan. Read-only", "Report what you found", "# Agent: Explore\n\nYou explore"],
            ["You write, change", "Make changes only", "After a change", "edit_file", "present_plan"],
        ),
        (Kind(completion=Completion.EXPLICIT), ["call attempt_completion"], ["A reply without a tool call"]),
    ],
)
def test_a_session_is_told_how_it_really_is(place: Path, kind: Kind, told: list[str], untold: list[str]) -> None:
    system = prompt_of(real_runtime(place), kind).system
    assert [each for each in told if each not in system] == []
    assert [each for each in untold if each in system] == []


def test_the_root_of_the_repository_is_found_from_below(tmp_path: Path) -> None:
    below = tmp_path / "repository/src"
    below.mkdir(parents=True)
    (tmp_path / "repository/.git").mkdir()
    system = prompt_of(real_runtime(below), Kind()).system
    assert f"Git repository root: {tmp_path / 'repository'}." in system
