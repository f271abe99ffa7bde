"""`robota` where no profile is configured, but the key of a provider is set in the environment."""

import json

import pytest

from tests.cli.scripts import sessions, write_settings
from tests.fakellm.server import running
from tests.harness.cli import Robota

ANTHROPIC = {"ANTHROPIC_API_KEY": "sk-ant-1234567890"}
OPENAI = {"OPENAI_API_KEY": "sk-proj-1234567890"}


@pytest.mark.parametrize(
    ("keys", "address", "path", "type", "model"),
    [
        (ANTHROPIC, "ANTHROPIC_BASE_URL", "", "anthropic", "claude-sonnet-4-6"),
        (OPENAI, "OPENAI_BASE_URL", "/v1", "openai", "gpt-5.1"),
        ({"DEEPSEEK_API_KEY": "sk-1234567890"}, "DEEPSEEK_BASE_URL", "/v1", "deepseek", "deepseek-chat"),
    ],
)
def test_a_key_is_enough_for_an_answer(
    robota: Robota, keys: dict[str, str], address: str, path: str, type: str, model: str
) -> None:
    with running("hello") as server:
        done = robota("-p", "hi", "--output-format", "json", env={**keys, address: server.url + path})
        assert done.code == 0 and json.loads(server.last_body)["model"] == model
        (key,) = keys.values()
        assert key in str(server.headers[-1])
        assert key not in sessions(robota)[0].joinpath("log.jsonl").read_text()
    listed = json.loads(robota("sessions", "list", "--json").stdout)
    assert [session["model"] for session in listed] == [model]


def test_a_session_that_began_with_a_key_continues_with_its_model(robota: Robota) -> None:
    with running("hello") as server:
        env = {**ANTHROPIC, "ANTHROPIC_BASE_URL": server.url}
        assert robota("-p", "hi", "--model", "claude-opus-4-5", env=env).code == 0
        again = robota("-c", "-p", "more", env={**env, **OPENAI})
        assert (again.code, json.loads(server.last_body)["model"]) == (0, "claude-opus-4-5")
        assert "is gone" not in again.stderr


def test_several_keys_are_not_guessed_between(robota: Robota) -> None:
    done = robota("-p", "hi", env={**ANTHROPIC, **OPENAI})
    assert done.code == 3
    assert "ANTHROPIC_API_KEY, OPENAI_API_KEY" in done.stderr and "--provider openai" in done.stderr
    with running("hello") as server:
        env = {**ANTHROPIC, **OPENAI, "OPENAI_BASE_URL": f"{server.url}/v1"}
        assert robota("-p", "hi", "--provider", "openai", env=env).code == 0
        assert json.loads(server.last_body)["model"] == "gpt-5.1"


def test_configured_profiles_and_broken_settings_come_before_keys(robota: Robota) -> None:
    write_settings(robota, {"providers": {"own": {"type": "scripted", "options": {"turns": [{"text": "mine"}]}}}})
    assert robota("-p", "hi", env=ANTHROPIC).stdout == "mine\n"
    assert robota("-p", "hi", "--provider", "anthropic", env=ANTHROPIC).code == 3
    write_settings(robota, {"providers": {"own": {"typ": "scripted"}}})
    broken = robota("-p", "hi", env=ANTHROPIC)
    assert broken.code == 3 and "providers" in broken.stderr


def test_an_empty_variable_is_no_key(robota: Robota) -> None:
    assert "No provider is configured" in robota("-p", "hi", env={"ANTHROPIC_API_KEY": " "}).stderr


def test_doctor_and_models_use_the_key_too(robota: Robota) -> None:
    with running("hello") as server:
        env = {**OPENAI, "OPENAI_BASE_URL": f"{server.url}/v1"}
        assert "openai (type openai, model gpt-5.1)" in robota("doctor", env=env).stdout
        listed = robota("models", env=env)
        assert listed.code == 0 and listed.stdout.strip()
