"""An intent as `.orchestration/active_intents.yaml` describes it, and how that file is read."""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from robota.config.yaml_document import YamlProblem, read_yaml_without_repeats
from robota.contracts.budget import DOLLAR, Limit
from robota.intents.scope import Scope, ScopeProblem

ID: Final = re.compile(r"[A-Z][A-Z0-9]*(-[A-Z0-9]+)+")
MAX_ID_LENGTH: Final = 64
MAX_TEXT_LENGTH: Final = 4_000
MAX_INTENTS: Final = 500
ROOT_KEY: Final = "active_intents"
RUN: Final = "run"
MINUTES: Final = ("milliseconds", 60_000)
MAX_BUDGET: Final = 1_000_000_000


class IntentStatus(StrEnum):
    """The status of an intent. Only one in progress can be selected."""

    PENDING = "PENDING"
    IN_PROGRESS = "IN_PROGRESS"
    BLOCKED = "BLOCKED"
    COMPLETED = "COMPLETED"
    ABANDONED = "ABANDONED"


# Synonyms that teams and other tools use.
SPELLINGS: Final = {
    "PLANNED": IntentStatus.PENDING,
    "DRAFT": IntentStatus.PENDING,
    "NOT_STARTED": IntentStatus.PENDING,
    "ACTIVE": IntentStatus.IN_PROGRESS,
    "COMPLETE": IntentStatus.COMPLETED,
    "DONE": IntentStatus.COMPLETED,
}


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """An agreed piece of work and the files that belong to it."""

    id: str
    name: str
    status: IntentStatus
    owned_scope: tuple[str, ...]
    scope: Scope
    description: str = ""
    constraints: tuple[str, ...] = ()
    acceptance_criteria: tuple[str, ...] = ()
    budget: Limit | None = None

    @property
    def commands(self) -> tuple[str, ...]:
        """The acceptance criteria that can be run."""
        return tuple(filter(None, map(command_of, self.acceptance_criteria)))


def command_of(criterion: str) -> str | None:
    """The command of a criterion that can be run: `run: pytest -q`."""
    head, colon, command = criterion.partition(":")
    return command.strip() or None if colon and head.strip().casefold() == RUN else None


class IntentProblem(Exception):
    """The file cannot be used. The message says what is wrong with it, without a full stop."""


def read_intents(text: str) -> tuple[Intent, ...]:
    """All intents of a file. One invalid intent makes the file unusable, because its scope would be a guess."""
    try:
        document = read_yaml_without_repeats(text)
    except YamlProblem as problem:
        raise IntentProblem(str(problem)) from problem
    listed = document.get(ROOT_KEY) if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise IntentProblem(f"it has no list {ROOT_KEY}")
    if len(listed) > MAX_INTENTS:
        raise IntentProblem(f"it lists more than {MAX_INTENTS} intents")
    intents = tuple(_intent(entry, number) for number, entry in enumerate(listed, 1))
    seen: set[str] = set()
    for intent in intents:
        if intent.id in seen:
            raise IntentProblem(f"it has two intents with the id {intent.id}")
        seen.add(intent.id)
    return intents


def _intent(entry: Any, number: int) -> Intent:
    if not isinstance(entry, dict):
        raise IntentProblem(f"intent number {number} is not a mapping with id, name, status and owned_scope")
    id = entry.get("id")
    if not isinstance(id, str) or len(id) > MAX_ID_LENGTH or not ID.fullmatch(id):
        raise IntentProblem(f"intent number {number} needs an id such as INT-001")
    patterns = _texts(entry, "owned_scope", id)
    if patterns is None:
        raise IntentProblem(f"{id} needs owned_scope, a list of patterns such as src/auth/**")
    try:
        scope = Scope(patterns)
    except ScopeProblem as problem:
        raise IntentProblem(f"the owned_scope of {id} cannot be used: {problem}") from problem
    return Intent(
        id=id,
        name=_text_field(entry, "name", id) or id,
        status=_status(entry.get("status"), id),
        owned_scope=patterns,
        scope=scope,
        description=_text_field(entry, "description", id),
        constraints=_texts(entry, "constraints", id) or (),
        acceptance_criteria=_criteria(entry, id),
        budget=_budget(entry, id),
    )


def _status(written: Any, id: str) -> IntentStatus:
    word = written.strip().upper().replace(" ", "_").replace("-", "_") if isinstance(written, str) else ""
    if word in SPELLINGS:
        return SPELLINGS[word]
    try:
        return IntentStatus(word)
    except ValueError:
        raise IntentProblem(f"the status of {id} is none of {', '.join(IntentStatus)}") from None


def _budget(entry: dict[Any, Any], id: str) -> Limit | None:
    """What all work for the intent together may use: `budget: {usd: 5, tokens: 1000000}`."""
    written = entry.get("budget")
    if written is None:
        return None
    units = {"usd": ("money", DOLLAR), "tokens": ("tokens", 1), "requests": ("requests", 1), "minutes": MINUTES}
    if not isinstance(written, dict) or not written or not written.keys() <= units.keys():
        raise IntentProblem(f"the budget of {id} is not a mapping of {', '.join(units)}")
    amounts: dict[str, int] = {}
    for name, value in written.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_BUDGET:
            raise IntentProblem(f"{name} in the budget of {id} is not a number from 0 to {MAX_BUDGET:,}")
        measure, unit = units[name]
        amounts[measure] = int(value * unit)
    return Limit(**amounts)


def _text_field(entry: dict[Any, Any], key: str, id: str) -> str:
    value = entry.get(key, "")
    if not isinstance(value, str) or len(value) > MAX_TEXT_LENGTH:
        raise IntentProblem(f"{key} of {id} is not a text of at most {MAX_TEXT_LENGTH:,} characters")
    return value


def _texts(entry: dict[Any, Any], key: str, id: str) -> tuple[str, ...] | None:
    """The texts of a list; None if it is missing. A single text is an error, not a list of one."""
    value = entry.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, str) and len(item) <= MAX_TEXT_LENGTH for item in value):
        raise IntentProblem(f"{key} of {id} is not a list of texts")
    return tuple(value)


def _criteria(entry: dict[Any, Any], id: str) -> tuple[str, ...]:
    """The acceptance criteria. Unquoted, `- run: pytest -q` is a mapping in YAML; it is read as the text."""
    listed = entry.get("acceptance_criteria")
    if isinstance(listed, list):
        written = [_of_mapping(criterion) if isinstance(criterion, dict) else criterion for criterion in listed]
        entry = {**entry, "acceptance_criteria": written}
    return _texts(entry, "acceptance_criteria", id) or ()


def _of_mapping(criterion: dict[Any, Any]) -> Any:
    command = criterion.get(RUN)
    return f"{RUN}: {command}" if len(criterion) == 1 and isinstance(command, str) else criterion


def selectable(intents: Sequence[Intent]) -> tuple[Intent, ...]:
    """The intents that can be selected now."""
    return tuple(intent for intent in intents if intent.status is IntentStatus.IN_PROGRESS)
