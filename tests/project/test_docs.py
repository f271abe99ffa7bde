"""The documentation says what the code says."""

import re
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import msgspec
import pytest

from robota.clients.headless import exit_codes
from robota.config.settings.schema import SettingsFile
from robota.log import kinds
from robota.log.record import registered_kinds
from robota.protocol.asks.kinds import KNOWN_ASKS
from robota.protocol.codec import COMMAND_TYPES, EVENT_TYPES
from robota.protocol.state import AgentState
from robota.providers.scripted.script import FAULT_KINDS, ScriptedTurn, load_script
from robota.tools.registry import builtin_tools
from tests.harness.cli import Robota

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text_of(page))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_protocol_page_names_every_word_of_the_protocol() -> None:
    words = {*KNOWN_ASKS, *COMMAND_TYPES, *EVENT_TYPES, *AgentState} - {"unknown"}
    assert missing_from("docs/protocol.md", words) == []


def known_kinds() -> list[str]:
    """Every kind that a module of the log registers."""
    for module in iter_modules(kinds.__path__):
        import_module(f"{kinds.__name__}.{module.name}")
    import_module("robota.intents.selection_record")
    import_module("robota.intents.recovery.traced_calls")
    import_module("robota.serving.doorkeeper")
    return [name for name, shape in registered_kinds().items() if shape.__module__.startswith("robota.")]


def test_the_log_page_names_every_kind() -> None:
    assert missing_from("docs/log.md", known_kinds()) == []


def test_the_page_on_the_scripted_model_names_every_key_and_every_fault() -> None:
    keys = {field.encode_name for field in msgspec.structs.fields(ScriptedTurn)}
    assert missing_from("docs/scripted-model.md", keys | FAULT_KINDS) == []


def test_the_script_of_that_page_is_valid(tmp_path: Path) -> None:
    script = tmp_path / "answers.yaml"
    script.write_text(block("docs/scripted-model.md", "yaml"), encoding="utf-8")
    assert len(load_script(script)) == 4


def test_every_exit_code_has_a_meaning() -> None:
    codes = {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}
    assert codes - {exit_codes.SIGNAL_BASE} == exit_codes.MEANINGS.keys()


def test_every_option_that_the_readme_names_exists(robota: Robota) -> None:
    described = set(re.findall(r"--[a-z][a-z-]+", robota("help", "options").stdout))
    named = set(re.findall(r"(?<!\w)--[a-z][a-z-]+", text_of(ROOT / "README.md")))
    assert named
    assert named <= described


def test_the_tests_that_the_threat_model_names_exist() -> None:
    section = (ROOT / "docs/security.md").read_text().partition("## Threat model")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(tests/[\w/.]+)`", section))
    assert len(named) > 10 and [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_every_make_target_that_the_pages_name_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", text_of(ROOT / "Makefile"), re.MULTILINE))
    named = {target for page in PAGES for target in re.findall(r"(?:`|\$ )make ([a-z-]+)", text_of(page))}
    assert named <= targets


def missing_from(page: str, words: Iterable[str]) -> list[str]:
    text = text_of(ROOT / page)
    return sorted(word for word in words if not re.search(rf"\b{re.escape(word)}\b", text))


def block(page: str, language: str) -> str:
    """The first code block in that language."""
    found = re.search(rf"```{language}\n(.*?)```", text_of(ROOT / page), re.DOTALL)
    assert found is not None
    return found[1]


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def test_the_page_on_tools_names_every_tool() -> None:
    page = text_of(ROOT / "docs" / "tools.md")
    assert [tool.name for tool in builtin_tools() if f"`{tool.name}`" not in page] == []


def test_every_setting_that_a_page_names_is_read() -> None:
    """A page must not promise a setting that has no effect."""
    sections = {
        field.encode_name: {inner.encode_name for inner in msgspec.structs.fields(field.type)}
        for field in msgspec.structs.fields(SettingsFile)
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct)
    }
    assert sections
    named = {
        (section, name)
        for page in PAGES
        for section, name in re.findall(r"`([a-z][A-Za-z]+)\.([a-z][A-Za-z]+)[`.=]", text_of(page))
        if section in sections
    }
    assert named and sorted((section, name) for section, name in named if name not in sections[section]) == []


def test_the_messages_that_troubleshooting_explains_are_said_by_the_program() -> None:
    page = text_of(ROOT / "docs" / "troubleshooting.md")
    messages = re.findall(r"^### `(.+)`$", page, re.MULTILINE)
    source = "".join(text_of(path) for path in (ROOT / "src").rglob("*.py"))
    # A long message stands in pieces on several lines.
    joined = re.sub(r'"\s*\n\s*f?"', "", source)
    assert len(messages) > 5
    assert [message for message in messages if message not in joined] == []
