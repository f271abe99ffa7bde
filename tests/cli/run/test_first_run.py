"""The first minute: from nothing to a provider that answers, at a real terminal."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.cli.scripts import script
from tests.config.keys.test_api_key import KEYRING
from tests.fakellm.server import running
from tests.harness.cli import NETWORK_GUARD, Robota
from tests.harness.terminal import Terminal

LIST = "Which provider do you want to use?"
COMPATIBLE = "OpenAI-compatible"


def settings_of(robota: Robota) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads((robota.home / ".robota/settings.json").read_text())
    return settings


def test_a_bare_start_sets_up_a_provider_that_answers_at_once(robota: Robota) -> None:
    with running() as server, Terminal(robota) as terminal:
        terminal.wait_for("Welcome to Robota")
        terminal.choose("What do you want to do?", "Set up a model")
        terminal.choose(LIST, COMPATIBLE)
        terminal.answer("Address of the API", f"{server.url}/v1")
        terminal.answer("API key", "")
        terminal.answer("Number or name", "1")
        terminal.answer("Name of this profile", "")
        terminal.wait_for("offers fake-model")
        terminal.wait_for("Saved profile")
        terminal.hang_up()
        assert settings_of(robota) == {
            "providers": {
                "openai-compatible": {
                    "type": "openai-compatible",
                    "model": "fake-model",
                    "baseURL": f"{server.url}/v1",
                }
            },
            "currentProvider": "openai-compatible",
        }
        done = robota("-p", "hello")
        assert done.code == 0, done.stderr
        system = server.last_body.decode()
    assert done.stdout.strip()
    assert "Always respond in" not in system


def test_in_a_narrow_window_sentences_and_questions_are_broken_between_words(robota: Robota) -> None:
    with running() as server, Terminal(robota, size=(46, 24)) as terminal:
        terminal.choose("What do you want to do?", "Set up a model")
        terminal.choose(LIST, COMPATIBLE)
        for question, said in (
            ("Address", f"{server.url}/v1"),
            ("not shown", ""),
            ("Number or name", ""),
            ("Name", ""),
        ):
            terminal.answer(question, said)
        terminal.wait_for("the current provider.")
        shown = terminal.screen.splitlines()
    after = shown[shown.index(next(line for line in shown if "Looking for" in line)) :]
    assert all(len(line) < 46 for line in after if " " in line.strip() and "/" not in line), "\n".join(after)
    assert any(line.startswith("API key, or $ENV:NAME; empty for a server") for line in after)


def test_a_prompt_without_dash_p_sets_up_first_and_then_answers(robota: Robota) -> None:
    with running() as server, Terminal(robota, "hello") as terminal:
        terminal.choose("What do you want to do?", "Set up a model")
        terminal.choose(LIST, COMPATIBLE)
        for question, said in (("Address", f"{server.url}/v1"), ("API key", ""), ("Number or name", ""), ("Name", "")):
            terminal.answer(question, said)
        assert terminal.hang_up() == 0, terminal.screen
    assert "language" not in settings_of(robota)


def test_print_mode_never_asks_and_says_what_to_type(robota: Robota) -> None:
    with Terminal(robota, "-p", "hello") as terminal:
        assert terminal.end() == 3
    assert LIST not in terminal.screen
    for words in ("robota --configure", "--configure-provider NAME", "openai-compatible", "ANTHROPIC_API_KEY"):
        assert words in terminal.screen
    assert not (robota.home / ".robota/settings.json").exists()


def test_a_key_in_the_environment_comes_first_in_the_list(robota: Robota) -> None:
    with Terminal(robota, "--configure", env={"MISTRAL_API_KEY": "sk-7"}) as terminal:
        terminal.wait_for(LIST)
        shown = terminal.wait_for("Number")
        lines = [line for line in shown.splitlines() if "runs at" not in line and line.strip()]
        assert "MISTRAL_API_KEY is set" in lines[0]
        assert terminal.leave("\x03") == 130
    assert "sk-7" not in terminal.screen
    assert "Nothing was written." in terminal.screen


def test_leaving_in_the_middle_writes_nothing(robota: Robota) -> None:
    for key in ("\x03", "\x04"):
        with Terminal(robota, "--configure") as terminal:
            terminal.choose(LIST, COMPATIBLE)
            terminal.wait_for("Address of the API")
            assert terminal.leave(key) == 130
        assert not (robota.home / ".robota").exists()


def test_a_key_is_not_shown_and_a_variable_that_is_not_set_is_asked_about_again(robota: Robota) -> None:
    with running() as server, Terminal(robota, "--configure") as terminal:
        terminal.choose(LIST, COMPATIBLE)
        terminal.answer("Address of the API", "far.example:1")
        terminal.wait_for("must start with http")
        # A server on this machine needs no scheme.
        terminal.answer("Address of the API", f"{server.url.removeprefix('http://')}/v1")
        terminal.answer("API key", "$ENV:NOT_THERE")
        terminal.wait_for("NOT_THERE is not set")
        terminal.answer("API key", "sk-secret")
        terminal.answer("Number or name", "fake-model")
        terminal.answer("Name of this profile", "../up")
        terminal.answer("Name of this profile", "mine")
        assert terminal.end() == 0, terminal.screen
    assert "sk-secret" not in terminal.screen and "plain text" in terminal.screen
    path = robota.home / ".robota/settings.json"
    assert settings_of(robota)["providers"]["mine"]["apiKey"] == "sk-secret"
    assert settings_of(robota)["providers"]["mine"]["baseURL"] == f"{server.url}/v1"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_key_goes_to_the_keyring_of_the_system_if_there_is_one(robota: Robota) -> None:
    place = robota.home / "site"
    place.mkdir()
    (place / "keyring.py").write_text(KEYRING)
    env = {"PYTHONPATH": f"{NETWORK_GUARD}:{place}", "KEYRING_FILE": str(robota.home / "secrets.json")}
    with running() as server:
        with Terminal(robota, "--configure", env=env) as terminal:
            terminal.choose(LIST, COMPATIBLE)
            steps = (("Address", f"{server.url}/v1"), ("API key", "sk-kept"), ("Number or name", ""), ("Name", "mine"))
            for question, said in steps:
                terminal.answer(question, said)
            terminal.answer("Store the key in the system keyring", "")
            assert terminal.end() == 0, terminal.screen
        assert settings_of(robota)["providers"]["mine"]["apiKey"] == "$KEYRING:mine"
        assert robota("-p", "hello", env=env).code == 0
        assert "sk-kept" in str(server.headers[-1])


@pytest.mark.parametrize(("said", "kept"), [("Quit without", False), ("Save it anyway", True)])
def test_a_provider_that_does_not_answer_is_saved_only_if_the_user_wants_it(
    robota: Robota, said: str, kept: bool
) -> None:
    with Terminal(robota, "--configure") as terminal:
        terminal.choose(LIST, COMPATIBLE)
        for question, text in (("Address", "http://127.0.0.1:9"), ("API key", "")):
            terminal.answer(question, text)
        terminal.choose("could not list its models", "type the model")
        for question, text in (("Model:", ""), ("Model:", "m"), ("Name", "")):
            terminal.answer(question, text)
        terminal.wait_for("It did not work")
        terminal.choose("What now?", said)
        assert terminal.end() == (0 if kept else 1)
    assert "An answer is required" in terminal.screen
    assert (robota.home / ".robota/settings.json").exists() is kept


def test_a_wrong_answer_is_given_again_without_the_others(robota: Robota) -> None:
    with running() as server, Terminal(robota, "--configure") as terminal:
        terminal.choose(LIST, COMPATIBLE)
        terminal.answer("Address", "http://127.0.0.1:9/v1")
        terminal.answer("API key", "")
        terminal.wait_for("could not list its models")
        terminal.wait_for("Correct: Address of the API")
        terminal.answer("Number [1]", "")
        terminal.wait_for("[http://127.0.0.1:9/v1]")  # Enter tries the same address again
        terminal.press(f"{server.url}/v1\n")
        terminal.answer("Number or name", "no-such-model")
        terminal.answer("Name", "mine")
        terminal.wait_for("no-such-model is not in its list")
        terminal.wait_for("Correct: Model")
        terminal.answer("Number [3]", "")
        terminal.answer("Number or name", "")
        terminal.wait_for("offers fake-model")
        assert terminal.end() == 0, terminal.screen
    assert settings_of(robota)["providers"]["mine"] == {
        "type": "openai-compatible",
        "model": "fake-model",
        "baseURL": f"{server.url}/v1",
    }


class Refusing(BaseHTTPRequestHandler):
    """A model server below /v1 only, which takes one key and lists its models, or does not."""

    lists = True
    offered: tuple[str, ...] = ("one",)

    def do_GET(self) -> None:
        models = json.dumps({"data": [{"id": name} for name in self.offered]})
        self._answer(models if self.lists and self.path == "/v1/models" else None)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self._answer("{}" if self.path == "/v1/chat/completions" else None)

    def _answer(self, text: str | None) -> None:
        refused = self.headers.get("authorization") != "Bearer right"
        self.send_response(401 if refused else 404 if text is None else 200)
        self.end_headers()
        self.wfile.write((text or "{}").encode())

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


class Unlisted(Refusing):
    """One that does not tell its models."""

    lists = False


class Empty(Refusing):
    """One that answers, but has no model to offer; it takes any name."""

    offered = ()


class Silent(Refusing):
    """One that never says which models it has."""

    def do_GET(self) -> None:
        self.rfile.read(1)  # until the client closes the connection


@contextmanager
def served(handler: type[Refusing]) -> Iterator[str]:
    """The address of such a server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_wrong_key_is_given_again_and_the_forgotten_end_of_an_address_is_found(robota: Robota) -> None:
    with served(Refusing) as address, Terminal(robota, "--configure", "--type", "openai-compatible") as terminal:
        terminal.answer("Address", address)
        terminal.answer("API key", "wrong")
        terminal.wait_for("To store another key: robota login")
        terminal.answer("Number [2]", "")
        terminal.answer("API key", "right")
        terminal.wait_for("that address is used")
        for question in ("Number or name", "Name"):
            terminal.answer(question, "")
        assert terminal.end() == 0, terminal.screen
    profile = settings_of(robota)["providers"]["openai-compatible"]
    assert profile == {"type": "openai-compatible", "model": "one", "baseURL": f"{address}/v1", "apiKey": "right"}


def test_a_server_that_lists_no_models_is_asked_for_a_word(robota: Robota) -> None:
    with served(Unlisted) as address, Terminal(robota, "--configure", "--type", "openai-compatible") as terminal:
        terminal.answer("Address", f"{address}/v1")
        terminal.answer("API key", "right")
        terminal.choose("could not list its models", "type the model")
        terminal.answer("Model:", "mine")
        terminal.answer("Name", "")
        terminal.wait_for("mine answers. The server lists no models.")
        assert terminal.end() == 0, terminal.screen


def test_a_server_without_models_is_reported_and_the_name_can_be_typed(robota: Robota) -> None:
    with served(Empty) as address, Terminal(robota, "--configure", "--type", "openai-compatible") as terminal:
        terminal.answer("Address", f"{address}/v1")
        terminal.answer("API key", "right")
        terminal.wait_for("The server lists no models.")
        terminal.answer("Model:", "mine")
        terminal.answer("Name", "")
        terminal.wait_for("mine answers. The server lists no models.")
        assert terminal.end() == 0, terminal.screen


def test_ctrl_c_while_the_server_is_asked_writes_nothing(robota: Robota) -> None:
    with served(Silent) as address, Terminal(robota, "--configure", "--type", "openai-compatible") as terminal:
        terminal.answer("Address", f"{address}/v1")
        terminal.answer("API key", "right")
        terminal.wait_for("Asking the server for its models")
        assert terminal.leave("\x03") == 130
        assert "Nothing was written." in terminal.screen
    assert not (robota.home / ".robota").exists()


def test_the_welcome_stays_on_a_small_screen(robota: Robota) -> None:
    with Terminal(robota, size=(80, 24)) as terminal:
        terminal.choose("What do you want to do?", "Set up a model")
        terminal.wait_for(LIST)
        terminal.wait_for("Number")
        rows = terminal.screen.splitlines()
        assert terminal.leave("\x03") == 130
    # The command itself takes a row of the screen, too.
    assert "Welcome to Robota" in rows[0] and len(rows) < 24
    assert max(map(len, rows)) < 80


def test_without_a_terminal_the_definitions_say_what_to_type(robota: Robota) -> None:
    done = robota("--configure")
    assert done.code == 2 and "--configure-provider NAME" in done.stderr and "ollama" in done.stderr
    assert not (robota.home / ".robota").exists()


def test_one_who_is_set_up_is_not_greeted(robota: Robota) -> None:
    script(robota, {"text": "ok"})
    with Terminal(robota, "--disable-update-check") as terminal:
        assert terminal.hang_up() == 0
    assert "Welcome" not in terminal.screen


def test_without_a_model_the_demo_is_offered(robota: Robota) -> None:
    with Terminal(robota, env={"TERM": "dumb"}) as terminal:
        terminal.choose("What do you want to do?", "Run the demo")
        terminal.wait_for("A small project with a failing test")
        assert terminal.end() == 0
    assert not (robota.home / ".robota/settings.json").exists()
