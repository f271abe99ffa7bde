"""The file format of the scripted model: a list of turns, checked as a whole before the first is played."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.providers.fault import FaultKind, ProviderFault

# In addition to the common faults: a broken connection, an end without a closing chunk, an empty reply.
CUT: Final = "cut"
EOF: Final = "eof"
EMPTY: Final = "empty"
FAULT_KINDS: Final = frozenset({*FaultKind, CUT, EOF, EMPTY})

REPEAT_LIMIT: Final = 100_000


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A part of a script; an unknown key is an error."""


class Expect(_Part, frozen=True, kw_only=True):
    """What the request must look like. `user` is part of the newest user text, or a pattern between slashes."""

    user: str | None = None
    result: str | None = None
    error: bool | None = None
    tools: tuple[str, ...] | None = None
    turns: int | None = None


class ScriptedCall(_Part, frozen=True, kw_only=True):
    """A tool call. `arguments` given as a string is sent unchanged, valid or not."""

    name: str
    arguments: dict[str, Any] | str = {}
    id: str = ""


class ScriptedUsage(_Part, frozen=True, kw_only=True):
    """The tokens and the cost that a reply reports."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float | None = None


class ScriptedFault(_Part, frozen=True, kw_only=True):
    """A failure, and after how many chunks it occurs; without `after`, before the first."""

    kind: str
    status: int | None = None
    message: str | None = None
    retry_after: float | None = None
    after: int = 0


class ScriptedTurn(_Part, frozen=True, kw_only=True):
    """One reply. With `repeat` it is given that many times, and `{n}` in its strings counts from 1.

    With `task`, it is only for conversations whose first message contains this text, such as that of an agent.
    """

    task: str | None = None
    expect: Expect | None = None
    reasoning: str | None = None
    text: str | None = None
    calls: tuple[ScriptedCall, ...] = ()
    usage: ScriptedUsage | None = None
    delay_ms: float = 0
    chunk_delay_ms: float = 0
    chunk_size: int = 16
    finish: str | None = None
    fault: ScriptedFault | None = None
    repeat: int | None = None


def load_script(path: Path) -> Sequence[ScriptedTurn]:
    """The turns of a YAML or JSON file: a list, or an object with `turns`."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise script_fault(f"{path} cannot be read: {error}. Check options.script of the provider profile.") from error
    data = _yaml(text, path) if path.suffix in (".yaml", ".yml") else _json(text, path)
    return script_of(data, str(path))


def script_of(data: Any, source: str) -> Sequence[ScriptedTurn]:
    """The turns of parsed data, with repeats written out."""
    rows = data.get("turns") if isinstance(data, dict) else data
    if not isinstance(rows, list):
        raise script_fault(f"{source} must be a list of turns, or an object with a list under the key turns.")
    turns: list[ScriptedTurn] = []
    for index, row in enumerate(rows):
        where = f"{source}, turn {index + 1}"
        turn = _checked(_convert(row, where), where)
        turns.extend([turn] if turn.repeat is None else _repeated(row, turn.repeat, where))
    return turns


def script_fault(message: str) -> ProviderFault:
    """The fault of a script that cannot be played, or of a request that is not as the script expects."""
    return ProviderFault(FaultKind.SCRIPT, f"Scripted model: {message}")


def _repeated(row: Any, times: int, where: str) -> list[ScriptedTurn]:
    if not 0 <= times <= REPEAT_LIMIT:
        raise script_fault(f"{where}: repeat must be between 0 and {REPEAT_LIMIT}.")
    return [_convert(_with_number(row, str(number)), where) for number in range(1, times + 1)]


def _with_number(node: Any, number: str) -> Any:
    if isinstance(node, str):
        return node.replace("{n}", number)
    if isinstance(node, list):
        return [_with_number(item, number) for item in node]
    if isinstance(node, dict):
        return {key: _with_number(value, number) for key, value in node.items()}
    return node


def _convert(row: Any, where: str) -> ScriptedTurn:
    try:
        return msgspec.convert(row, ScriptedTurn)
    except msgspec.ValidationError as error:
        raise script_fault(f"{where}: {error}.") from error


def _checked(turn: ScriptedTurn, where: str) -> ScriptedTurn:
    if turn.chunk_size < 1:
        raise script_fault(f"{where}: chunkSize must be at least 1.")
    if min(turn.delay_ms, turn.chunk_delay_ms) < 0:
        raise script_fault(f"{where}: a delay cannot be negative.")
    if turn.fault is not None and turn.fault.kind not in FAULT_KINDS:
        kinds = ", ".join(sorted(FAULT_KINDS))
        raise script_fault(f"{where}: unknown fault kind {turn.fault.kind!r}; known are {kinds}.")
    return turn


def _json(text: str, path: Path) -> Any:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise script_fault(f"{path} is not JSON: {error}.") from error


def _yaml(text: str, path: Path) -> Any:
    # Most scripts are JSON.
    from robota.config.yaml_document import YamlProblem, read_yaml

    try:
        return read_yaml(text)
    except YamlProblem as problem:
        raise script_fault(f"{path} is not YAML: {problem}.") from problem
