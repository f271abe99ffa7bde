"""Showing and switching the model and the provider in a conversation."""

import json
from typing import Any

from tests.cli.scripts import script, write_settings
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal


def two_profiles(robota: Robota) -> None:
    def profile(model: str, answer: str) -> dict[str, Any]:
        return {"type": "scripted", "model": model, "options": {"turns": [{"text": answer}]}}

    providers = {"one": profile("small", "Small answer."), "two": profile("large", "Large answer.")}
    write_settings(robota, {"currentProvider": "one", "providers": providers})


def test_switching_the_model_continues_the_conversation(robota: Robota) -> None:
    two_profiles(robota)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("Small answer.")
        terminal.answer("> ", "/model")
        terminal.wait_for("Model small")
        terminal.answer("> ", "/model two words")
        terminal.wait_for("Usage: /model [NAME]")
        terminal.answer("> ", "/model medium")
        terminal.wait_for(", medium.")
        terminal.answer("> ", "/status")
        terminal.wait_for("model: medium")
        terminal.answer("> ", "go on")
        terminal.wait_for("Small answer.")


def test_another_provider_is_chosen_from_the_profiles(robota: Robota) -> None:
    two_profiles(robota)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("Small answer.")
        terminal.answer("> ", "/provider three")
        terminal.wait_for("There is no provider profile 'three'. Available: one, two.")
        terminal.answer("> ", "/provider")
        shown = terminal.wait_for("press Enter to cancel.")
        number = next(line.split()[0] for line in shown.splitlines() if "large" in line)
        terminal.answer("> ", number)
        terminal.wait_for(", large.")
        terminal.answer("> ", "go on")
        terminal.wait_for("Large answer.")
        assert terminal.screen.count("Small answer.") == 1, "what was said stands there already"


def test_switching_to_an_unusable_provider_leaves_the_session_unchanged(robota: Robota) -> None:
    working = {"type": "scripted", "model": "small", "options": {"turns": [{"text": "Small answer."}]}}
    keyless = {"type": "anthropic", "model": "large", "apiKey": "$ENV:NO_SUCH_KEY"}
    write_settings(robota, {"currentProvider": "one", "providers": {"one": working, "two": keyless}})
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("Small answer.")
        terminal.answer("> ", "/provider two")
        terminal.wait_for("Continuing in the current session.")
        terminal.wait_for(", small.")
        terminal.answer("> ", "go on")
        terminal.wait_for("Small answer.")


def test_print_mode_names_the_option_to_switch(robota: Robota) -> None:
    two_profiles(robota)
    assert "/provider two  scripted, large" in robota("-p", "/provider").stdout
    assert robota("-p", "/provider two").stdout.endswith(" --provider two\n")
    assert "--provider one --model medium" in robota("-p", "/model medium").stdout
    assert robota("-p", "/provider three").code == 2


def test_without_a_provider_the_set_up_command_is_named(robota: Robota) -> None:
    for typed in ("/provider", "/model", "/model large"):
        assert "robota --configure" in robota("-p", typed).stdout


def test_a_language_applies_at_once_and_in_later_sessions(robota: Robota) -> None:
    script(robota, {"text": "Ja."}, {"text": "Doch."})
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/language")
        terminal.wait_for("No language is set")
        terminal.answer("> ", "/language x9")
        terminal.wait_for("A language is required here")
        terminal.answer("> ", "Stimmt es?")
        terminal.wait_for("Ja.")
        terminal.answer("> ", "/language de")
        terminal.answer("> ", "/language")
        terminal.wait_for("Answer language: de.")
    assert json.loads((robota.home / ".robota/settings.json").read_text())["language"] == "de"
    assert "language: ko." in robota("-p", "/language", "--language", "ko").stdout


def test_print_mode_saves_the_language(robota: Robota) -> None:
    script(robota, {"text": "Ja."})
    assert robota("-p", "/language fr").stdout.endswith(" --language fr\n")
    assert "language: fr." in robota("-p", "/language").stdout
    refused = robota("-p", "/language x9")
    assert refused.code == 2 and "Nothing was changed" in refused.stderr
