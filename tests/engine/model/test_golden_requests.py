"""First requests of every kind of session in every wire format: what they say, and what they cost.

`golden/tokens.json` has the tokens by section, tool, wire format and mode. `golden/sessions.txt` has the system prompt
of each mode and, for every kind of session, the lines in which its prompt differs from that. `golden/tools.json` has
the tools as they are described. To write them anew after a change, and see with git what it did:
`ROBOTA_UPDATE_GOLDEN=1 .venv/bin/python -m pytest tests/engine/model/test_golden_requests.py`
"""

import json
import os
import re
from collections.abc import Iterator
from difflib import ndiff
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest

from robota.config.settings.schema import Completion
from robota.engine.model.system_prompt import ModePrompt
from robota.protocol.permission_mode import PermissionMode
from robota.providers.chunks import EditFormat
from robota.providers.wire.gemini.schema import gemini_schema
from robota.tools.registry import BUILT_IN_IDS, builtin_tools
from tests.engine.model.bodies import DIALECTS, first_body, read_by_model, system_in, tokens_sent, tools_in
from tests.engine.model.prompts import DAY, MODES, REACHES, Kind, agents, prompt_of, real_runtime, sections_of, tokens
from tests.tools.test_tokens import MAX_TOGETHER, NUMBERS, numbers_in, words_in

GOLDEN = Path(__file__).parent / "golden"
MAX_REQUEST = 4_600
# Left of it for what the user and the environment say first.
FIRST_TURN = 100
PARAMETERS = {name for tool in builtin_tools() for name in tool.parameters}
# Words of ours that look like names of parameters: our own elements, and examples of values.
OWN_WORDS = {"environment_details", "node_modules", "start_line", "tool_name", "code", "symbols"}
SNAKE = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
QUOTED = re.compile(r"`([a-z_]+)`")


def kinds() -> Iterator[Kind]:
    """Every mode in every permission mode, attended or not, with every sandbox; and every agent."""
    for mode, permission_mode, attended, reach in product(MODES, PermissionMode, (True, False), REACHES):
        yield Kind(mode=mode, permission_mode=permission_mode, attended=attended, reach=reach)
    yield from agents()


def families() -> Iterator[Kind]:
    """Every mode for every family of models, with both ways to end a task, as a task and as a subtask."""
    for mode, form, completion, is_subtask, attended in product(
        MODES, EditFormat, Completion, (False, True), (True, False)
    ):
        yield Kind(mode=mode, edit_format=form, completion=completion, is_subtask=is_subtask, attended=attended)


def called(kind: Kind) -> str:
    is_attended = "attended" if kind.attended else "unattended"
    who = f"agent {kind.agent}" if kind.agent else kind.mode
    return f"{who}, {kind.permission_mode.value}, {is_attended}, {kind.reach}"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    workspace = tmp_path_factory.mktemp("golden") / "project"
    workspace.mkdir()
    return workspace


@cache
def head_of(place: Path, kind: Kind, dialect: str) -> ModePrompt:
    form = "xml" if dialect == "xml" else "native"
    return prompt_of(real_runtime(place), msgspec.structs.replace(kind, call_format=form))


def compared(name: str, found: str) -> None:
    """Compare with the golden file, or write it."""
    recorded = GOLDEN / name
    if os.environ.get("ROBOTA_UPDATE_GOLDEN"):
        recorded.parent.mkdir(exist_ok=True)
        recorded.write_text(found)
    assert found == recorded.read_text()


def golden_tokens(place: Path) -> dict[str, Any]:
    """By section and mode; by tool and wire format; of all tools and of the request by wire format and kind."""
    sections = {
        mode: {title: tokens(text) for title, text in sections_of(head_of(place, Kind(mode=mode), "").system).items()}
        for mode in MODES
    }
    by_tool: dict[str, dict[str, int]] = {}
    requests: dict[str, dict[str, list[int]]] = {}
    for dialect, mode, form, completion in product(DIALECTS, MODES, EditFormat, Completion):
        kind = Kind(mode=mode, edit_format=form, completion=completion)
        body = first_body(head_of(place, kind, dialect), dialect)
        for name, tool in tools_in(body).items():
            by_tool.setdefault(name, {})[dialect] = tokens_sent(tool.sent)
        costs = [tokens_sent(body.get("tools", [])), tokens_sent(read_by_model(body))]
        requests.setdefault(dialect, {})[f"{mode}, {form.value}, {completion.value}"] = costs
    return {"sections": sections, "tools": by_tool, "tools and request": requests}


def test_sections_tools_and_requests_cost_what_they_did(place: Path) -> None:
    text = json.dumps(golden_tokens(place), indent=1)
    compared("tokens.json", re.sub(r"\[\s+(\d+),\s+(\d+)\s+\]", r"[\1, \2]", text) + "\n")


def test_the_page_about_prompts_has_the_real_costs_of_tools() -> None:
    page = (Path(__file__).parents[3] / "docs/prompts.md").read_text()
    costs = json.loads((GOLDEN / "tokens.json").read_text())["tools and request"]
    dearest, dialect, kind = max(
        (tools, dialect, kind) for dialect in costs for kind, (tools, _) in costs[dialect].items()
    )
    assert f"which has {dearest:,};" in page and (dialect, kind) == ("responses", "debug, patch, explicit")
    assert f"in the format of Anthropic has {costs['anthropic']['code, replace, implicit'][0]:,}." in page


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_first_request_costs_more_than_its_budget(place: Path, dialect: str) -> None:
    for kind in (*kinds(), *families()):
        body = first_body(head_of(place, kind, dialect), dialect, prompt="")
        assert tokens_sent(body.get("tools", [])) <= MAX_TOGETHER, kind
        assert tokens_sent(read_by_model(body)) + FIRST_TURN <= MAX_REQUEST, kind


def differing(system: str, usual: str) -> list[str]:
    lines = ndiff(usual.split("\n"), system.split("\n"))
    return [line for line in lines if line.startswith(("- ", "+ "))]


def test_every_kind_of_session_reads_what_is_written_down(place: Path) -> None:
    parts = []
    for kind in kinds():
        usual = head_of(place, Kind(mode=kind.mode), "").system
        if kind == Kind(mode=kind.mode):
            parts.append(f"=== {called(kind)}\n{usual}")
        else:
            lines = differing(head_of(place, kind, "").system, usual)
            parts.append("\n".join([f"=== {called(kind)}: differs from {called(Kind(mode=kind.mode))}", *lines]))
    compared("sessions.txt", "\n\n".join(parts) + "\n")


def test_every_tool_is_described_as_is_written_down(place: Path) -> None:
    described: dict[str, Any] = {}
    for form, reach in product(EditFormat, ("sandbox", "off")):
        kind = Kind(reach=reach, edit_format=form, completion=Completion.EXPLICIT)
        for spec in head_of(place, kind, "").specs:
            told = {"description": spec.description.split("\n"), "schema": spec.schema}
            if reach == "sandbox":
                described[spec.name] = told
            elif described[spec.name] != told:
                described[f"{spec.name}, without a sandbox"] = told
    compared("tools.json", json.dumps(described, indent=1, ensure_ascii=False) + "\n")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_body_says_exactly_what_the_session_has(place: Path, dialect: str) -> None:
    """So what is written down for one wire format is what a model reads in each."""
    for kind in (*kinds(), *families()):
        head = head_of(place, kind, dialect)
        body = first_body(head, dialect)
        assert system_in(body) == head.system
        read = {name: (tool.description, tool.parameters) for name, tool in tools_in(body).items()}
        shaped = gemini_schema if dialect == "gemini" else dict
        assert read == (
            {} if dialect == "xml" else {spec.name: (spec.description, shaped(spec.schema)) for spec in head.specs}
        )


def named_wrongly(text: str, offered: frozenset[str], parameters: frozenset[str]) -> set[str]:
    """Names of tools and parameters in a text for a session that does not have them."""
    words = set(SNAKE.findall(text)) | (set(QUOTED.findall(text)) & PARAMETERS)
    words |= set(BUILT_IN_IDS) & set(re.findall(r"\w+", text))
    return words - offered - parameters - OWN_WORDS


@cache
def texts_in(place: Path, kind: Kind, dialect: str) -> dict[str, str]:
    """What a first request says of each tool; and under an empty name, everything else."""
    body = first_body(head_of(place, kind, dialect), dialect)
    own, _, described = system_in(body).partition("\n\n# Tools\n\n")
    told = {name: f"{tool.description}\n{words_in(tool.parameters)}" for name, tool in tools_in(body).items()}
    told |= {part.partition("\n")[0]: part for part in described.split("\n\n## ")[1:]}
    return {"": own, **told}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_body_names_a_tool_or_parameter_that_is_not_in_it(place: Path, dialect: str) -> None:
    checked = cache(named_wrongly)
    for kind in (*kinds(), *families()):
        shapes = {spec.name: spec.schema["properties"] for spec in head_of(place, kind, dialect).specs}
        inner = {name for shape in shapes.values() for each in shape.values() for name in inner_names(each)}
        offered, parameters = frozenset(shapes), frozenset(inner.union(*shapes.values()))
        texts = texts_in(place, kind, dialect)
        assert texts.keys() == {"", *offered}
        assert set().union(*(checked(text, offered, parameters) for text in texts.values())) == set(), kind


def inner_names(shape: dict[str, Any]) -> set[str]:
    """The names of the fields of a parameter that is a list of objects."""
    return set(shape.get("items", {}).get("properties", {}))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_number_in_a_body_is_the_constant_behind_it(place: Path, dialect: str) -> None:
    told = cache(numbers_in)
    for kind in (*kinds(), *families()):
        numbers = {name: told(text.replace(DAY, "")) for name, text in texts_in(place, kind, dialect).items()}
        assert numbers == {name: NUMBERS.get(name, set()) for name in numbers}, kind


def test_names_and_numbers_that_are_wrong_are_found() -> None:
    assert named_wrongly("Use edit_file with `opened`, in `path`.", frozenset({"glob"}), frozenset({"path"})) == {
        "edit_file",
        "opened",
    }
    assert numbers_in("Up to 2,000 lines of 127.0.0.1 in 1 s.") == {2_000}
