"""Edits `active_intents.yaml` as text, so that everything else in it, comments included, is preserved."""

import json
import os
import re
from codecs import BOM_UTF8
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.config.transaction import Transaction, transaction
from robota.intents.intent import ROOT_KEY, Intent, IntentProblem, IntentStatus, read_intents
from robota.intents.intent_files import DIRECTORY, INTENTS, IntentFiles, open_plain

NUMBERED: Final = re.compile(r"(.*?)(\d+)")
HEADER: Final = f"# What agents may work on here. docs/intents.md of Robota explains it.\n{ROOT_KEY}:\n"
ATTRIBUTES_FILE: Final = ".gitattributes"
ATTRIBUTES: Final = (
    "# Both sides of a merge keep their records; `robota trace verify` knows them.\nagent_trace.jsonl merge=union\n"
)


class NewIntent(msgspec.Struct, frozen=True, kw_only=True):
    """An intent to be added."""

    name: str
    owned_scope: tuple[str, ...]
    constraints: tuple[str, ...] = ()
    acceptance_criteria: tuple[str, ...] = ()
    status: IntentStatus = IntentStatus.PENDING


def set_status(files: IntentFiles, id: str, status: IntentStatus) -> None:
    """Write the status of an intent. Raises `IntentProblem` or `OSError` and leaves the file unchanged."""
    with transaction(files.home / DIRECTORY) as changed:
        _write(files, changed, with_status(files.text(INTENTS), id, status))


def add_intent(files: IntentFiles, new: NewIntent) -> str:
    """Add an intent and return its id. Creates the file if it is missing."""
    (files.home / DIRECTORY).mkdir(exist_ok=True)
    _add_attributes(files.home / DIRECTORY)
    with transaction(files.home / DIRECTORY) as changed:
        path = files.home / INTENTS
        text = files.text(INTENTS) if path.exists() or path.is_symlink() else HEADER
        id = next_id([] if text is HEADER else read_intents(text))
        _write(files, changed, with_intent(text, id, new))
    return id


def _add_attributes(directory: Path) -> None:
    """Tell git how to merge traces, before there is an intent that leaves one."""
    attributes = directory / ATTRIBUTES_FILE
    with transaction(directory) as changed:
        if not attributes.exists() and not attributes.is_symlink():
            changed.write(ATTRIBUTES_FILE, ATTRIBUTES.encode(), mode=0o644)


def with_status(text: str, id: str, status: IntentStatus) -> str:
    """The text with another status for an intent, and nothing else changed."""
    before = read_intents(text)
    node = _value_of(_entry(text, id), "status")
    changed = f"{text[: node.start_mark.index]}{status}{text[node.end_mark.index :]}"
    expected = [msgspec.structs.replace(intent, status=status) if intent.id == id else intent for intent in before]
    return _checked(changed, expected)


def with_intent(text: str, id: str, new: NewIntent) -> str:
    """The text with one more intent at the end of the list."""
    before = [] if text is HEADER else list(read_intents(text))
    listed = None if text is HEADER else _value_of(_root(text), ROOT_KEY)
    if listed is None or not listed.value:
        head, tail, column = (text, "", 2) if listed is None else (text[: listed.start_mark.index], "", 2)
        tail = "" if listed is None else text[listed.end_mark.index :]
    elif listed.flow_style:
        raise IntentProblem("its list is written in brackets; add the intent by hand")
    else:
        head, tail, column = text[: listed.end_mark.index], text[listed.end_mark.index :], listed.start_mark.column
    changed = f"{head.rstrip()}\n{_block(id, new, ' ' * column)}{tail}"
    return _checked(changed, [*before, read_intents(HEADER + _block(id, new, "  "))[0]])


def next_id(intents: Sequence[Intent]) -> str:
    """The next free id."""
    matches = [match for intent in intents if (match := NUMBERED.fullmatch(intent.id))]
    if not matches:
        return "INT-001"
    prefix, digits = matches[-1][1], matches[-1][2]
    highest = max(int(match[2]) for match in matches if match[1] == prefix)
    return f"{prefix}{highest + 1:0{len(digits)}}"


def _write(files: IntentFiles, changed: Transaction, text: str) -> None:
    path = files.home / INTENTS
    if path.is_symlink():
        raise IntentProblem(f"{INTENTS} is a link")
    changed.write(path.name, _byte_order_mark(files.home) + text.encode(), mode=_mode(path))


def _byte_order_mark(home: Path) -> bytes:
    """The byte order mark of the file, which its text does not have."""
    try:
        with os.fdopen(open_plain(home, INTENTS), "rb") as file:
            return BOM_UTF8 if file.read(len(BOM_UTF8)) == BOM_UTF8 else b""
    except FileNotFoundError:
        return b""


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777 if path.exists() else 0o644


def _checked(text: str, expected: Sequence[Intent]) -> str:
    """The text, if it parses to the expected intents; otherwise raise, and leave the edit to the user."""
    try:
        is_right = [_facts(intent) for intent in read_intents(text)] == [_facts(intent) for intent in expected]
    except IntentProblem:
        is_right = False
    if not is_right:
        raise IntentProblem("it is written in a way that cannot be changed for you; change it by hand")
    return text


def _facts(intent: Intent) -> tuple[Any, ...]:
    return tuple(value for name, value in msgspec.structs.asdict(intent).items() if name != "scope")


def _root(text: str) -> Any:
    import yaml

    return yaml.compose(text, Loader=yaml.SafeLoader)


def _entry(text: str, id: str) -> Any:
    for node in _value_of(_root(text), ROOT_KEY).value:
        if _value_of(node, "id").value == id:
            return node
    raise IntentProblem(f"it has no intent {id}")


def _value_of(node: Any, key: str) -> Any:
    for name, value in node.value:
        if name.value == key:
            return value
    raise IntentProblem(f"it has no {key}")


def _block(id: str, new: NewIntent, indent: str) -> str:
    lines = [f"{indent}- id: {id}", f"{indent}  name: {_quoted(new.name)}", f"{indent}  status: {new.status}"]
    lists = (
        ("owned_scope", new.owned_scope),
        ("constraints", new.constraints),
        ("acceptance_criteria", new.acceptance_criteria),
    )
    for key, texts in lists:
        if texts:
            lines += [f"{indent}  {key}:", *(f"{indent}    - {_quoted(text)}" for text in texts)]
        elif key == "owned_scope":
            lines.append(f"{indent}  {key}: []")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A quoted YAML string; every JSON string is one."""
    return json.dumps(text, ensure_ascii=False)
