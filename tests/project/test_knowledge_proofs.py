"""Which test proves what of files that bring knowledge: each format has a property test, each attack an example."""

from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
# Whatever a file holds, reading it raises nothing and loses no text.
FORMATS = {
    "instruction files and their imports": "knowledge/instructions/test_markdown_parts.py",
    "front matter": "knowledge/test_front_matter.py",
    "`paths:` of rules": "knowledge/instructions/test_instructions_on_touch.py",
    "SKILL.md, command files, Gemini commands": "knowledge/skills/test_skill_files.py",
    "the text of a skill as a template": "knowledge/skills/test_template.py",
    "output styles": "knowledge/test_output_styles.py",
    "entries of MEMORY.md": "knowledge/memory/test_entry.py",
    "pending.json and checks.json of a memory": "knowledge/memory/test_store.py",
    "mentions in prompts": "knowledge/mentions/test_parsing.py",
    "pyproject.toml and package.json for @problems": "knowledge/mentions/test_project_checks.py",
    "plugin.json, marketplace.json, hooks.json, agents": "extensions/plugins/test_reading.py",
    ".mcp.json": "extensions/mcp/test_definitions.py",
    "MCP servers of other agents": "commands/mcp/test_importing.py",
    "robota.lock": "config/trust/test_lock_file.py",
    "YAML": "config/test_yaml_document.py",
    "settings": "config/settings/test_settings.py",
    "lines with a slash": "commands/test_registry.py",
}
HOSTILE = {
    "YAML bombs": ("config/test_yaml_document.py", "test_what_is_too_much_or_no_yaml_is_refused_in_time"),
    "bombs in plugins": ("extensions/plugins/test_reading.py", "test_bombs_are_refused"),
    "loops of imports": (
        "knowledge/instructions/test_loader.py",
        "test_an_imported_file_follows_its_importer_and_is_loaded_once",
    ),
    "loops of links": (
        "knowledge/instructions/test_loader.py",
        "test_special_files_and_link_loops_are_reported_and_not_opened",
    ),
    "10,000 skills": (
        "knowledge/skills/test_skill_files.py",
        "test_very_many_skills_are_bounded_in_number_and_in_the_system_prompt",
    ),
    "megabyte descriptions": (
        "knowledge/skills/test_skill_files.py",
        "test_a_very_long_description_is_cut",
    ),
    "control characters in names": (
        "knowledge/skills/test_skill_files.py",
        "test_control_characters_in_names_and_descriptions_reach_no_terminal",
    ),
    "a skill that shadows a built-in command": (
        "knowledge/skills/test_skill_files.py",
        "test_a_skill_that_shadows_a_built_in_command_does_not_replace_it",
    ),
    "a plugin whose update changes a hook": (
        "extensions/plugins/test_installing.py",
        "test_an_update_with_a_changed_hook_shows_the_diff",
    ),
    "a repository that agrees for the user": (
        "knowledge/instructions/test_outside_files.py",
        "test_a_repository_cannot_agree_for_the_user_nor_import_secrets",
    ),
}


@pytest.mark.parametrize("file", FORMATS.values(), ids=FORMATS)
def test_every_format_has_a_property_test(file: str) -> None:
    assert "\n@given(" in (TESTS / file).read_text(encoding="utf-8")


@pytest.mark.parametrize(("file", "name"), HOSTILE.values(), ids=HOSTILE)
def test_every_attack_has_an_example(file: str, name: str) -> None:
    assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8")
