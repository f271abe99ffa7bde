"""Showing and switching the model and the provider in a conversation."""

import json
from typing import Any

from tests.cli.scripts import script, write_settings
from tests.fakellm.server import Server, running
from tests.harness.cli import Robota
from tests.harness.conversation import typed
from tests.harness.screen import ScreenTerminal
from tests.harness.terminal import Terminal


def settings(robota: Robota) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((robota.home / ".robota/settings.json").read_text())
    return values


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
        terminal.wait_for("The model is small of one")
        terminal.answer("> ", "")
        terminal.answer("> ", "/model two words")
        terminal.wait_for("Usage: /model [NAME [--default]]")
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


def on_a_server(robota: Robota, server: Server, model: str) -> None:
    profile = {"type": "openai-compatible", "baseURL": f"{server.url}/v1", "model": model}
    write_settings(robota, {"currentProvider": "far", "providers": {"far": profile}})


def test_the_models_of_a_server_are_listed_and_their_announced_window_is_used(robota: Robota) -> None:
    with running(model="local-coder") as server:
        on_a_server(robota, server, "something-else")
        assert "128,000" in robota("-p", "/model", "--model", "local-coder").stdout, "nothing was announced before"
        with Terminal(robota) as terminal:
            terminal.answer("> ", "/model")
            shown = terminal.wait_for("press Enter to cancel.")
            line = next(line for line in shown.splitlines() if "local-coder" in line)
            assert "200,000 tokens" in line
            terminal.answer("> ", line.split()[0])
            terminal.wait_for(", local-coder.")
        assert "200,000" in robota("-p", "/model", "--model", "local-coder").stdout
        write_settings(robota, {**settings(robota), "models": {"local-coder": {"contextWindow": 32_000}}})
        assert "32,000" in robota("-p", "/model", "--model", "local-coder").stdout, "the settings come first"


def test_the_announced_window_of_the_model_in_use_can_be_taken_over(robota: Robota) -> None:
    """Also after the set-up was written by hand, so that no server was asked for it."""
    with running(model="local-coder") as server:
        on_a_server(robota, server, "local-coder")
        with Terminal(robota) as terminal:
            terminal.answer("> ", "/model")
            shown = terminal.wait_for("press Enter to cancel.")
            assert "(128,000 tokens). Its server says 200,000" in shown and "in use" in shown
            terminal.answer("> ", "1")
            terminal.wait_for(", local-coder.")
            terminal.answer("> ", "/model")
            assert "(200,000 tokens). Its" not in terminal.wait_for("(200,000 tokens).")
        assert "offers local-coder" in robota("doctor").stdout
        assert "128,000" not in robota("doctor").stdout


def test_a_model_is_kept_for_later_sessions_on_request(robota: Robota) -> None:
    two_profiles(robota)
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/model medium")
        terminal.wait_for(", medium.")
    assert settings(robota)["providers"]["one"]["model"] == "small"
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/model medium --default")
        terminal.wait_for(", medium.")
    assert settings(robota)["providers"]["one"]["model"] == "medium"
    write_settings(robota, {**settings(robota), "model": "overall"})
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/model large --default")
        terminal.wait_for(", large.")
    assert settings(robota)["model"] == "large", "the setting that counts is changed"


def test_a_server_that_does_not_answer_is_named_above_the_known_models(robota: Robota) -> None:
    write_settings(
        robota,
        {
            "currentProvider": "a",
            "providers": {
                "a": {"type": "anthropic", "model": "old", "apiKey": "none", "baseURL": "http://127.0.0.1:9"}
            },
        },
    )
    shown = robota("-p", "/model").stdout
    assert "could not list models" in shown and "claude-sonnet-4-5" in shown


def test_the_effort_of_thinking_is_sent_with_the_next_request(robota: Robota) -> None:
    with running(model="thinker") as server:
        on_a_server(robota, server, "thinker")
        with Terminal(robota, "go") as terminal:
            terminal.wait_for("Hello")
            assert b"reasoning_effort" not in server.last_body
            terminal.answer("> ", "/effort hihg")
            terminal.wait_for("There is no effort 'hihg'.")
            terminal.answer("> ", "/effort high")
            terminal.answer("> ", "go on")
            terminal.wait_until(lambda: b'"reasoning_effort":"high"' in server.last_body)
        assert robota("-p", "go", "--effort", "low").code == 0
        assert b'"reasoning_effort":"low"' in server.last_body


def test_a_key_lists_the_efforts_and_the_chosen_one_is_sent(robota: Robota) -> None:
    with running(model="thinker") as server:
        on_a_server(robota, server, "thinker")
        with ScreenTerminal(robota) as terminal:
            terminal.sees("Idle")
            terminal.press("\x1bt")
            terminal.sees("thinks with default effort")
            terminal.press("high\r")
            terminal.sees("session continued")
            terminal.sees("Idle")
            terminal.press("go\r")
            terminal.wait_until(lambda: b'"reasoning_effort":"high"' in server.last_body)


def test_a_model_that_cannot_think_is_not_told_to(robota: Robota) -> None:
    two_profiles(robota)
    assert "small of one has no setting for how much it thinks" in robota("-p", "/effort high").stdout


def test_an_unattended_prompt_does_not_change_the_default_model(robota: Robota) -> None:
    two_profiles(robota)
    refused = robota("-p", "/model medium --default")
    assert refused.code != 0 and "robota config set model" in refused.stderr
    assert settings(robota)["providers"]["one"]["model"] == "small"


def test_print_mode_names_the_option_to_switch(robota: Robota) -> None:
    two_profiles(robota)
    assert "/provider two  scripted, large" in robota("-p", "/provider").stdout
    assert robota("-p", "/provider two").stdout.endswith(" --provider two\n")
    assert "--provider one --model medium" in robota("-p", "/model medium").stdout
    assert robota("-p", "/provider three").code == 2


def test_without_a_provider_the_set_up_command_is_named(robota: Robota) -> None:
    for line in ("/provider", "/model", "/model large"):
        assert "robota --configure" in robota("-p", line).stdout


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
    assert settings(robota)["language"] == "de"
    assert "language: ko." in robota("-p", "/language", "--language", "ko").stdout


def test_a_language_is_saved(robota: Robota) -> None:
    script(robota, {"text": "Ja."})
    assert typed(robota, "/language fr").stdout.endswith(" --language fr\n")
    assert "language: fr." in robota("-p", "/language").stdout
    refused = typed(robota, "/language x9")
    assert refused.code == 2 and "Nothing was changed" in refused.stderr
