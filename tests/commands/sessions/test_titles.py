"""Titles that a model thought of: only if the settings allow the request, and never over a name."""

import json
from typing import Any

import pytest

from tests.cli.scripts import write_settings
from tests.fuzz.kill.strict_server import StrictServer, serving
from tests.harness.cli import Robota


class TitleServer(StrictServer):
    """Gives the same answer to every request without tools. `titled` are those."""

    def __init__(self) -> None:
        super().__init__(seed=1)
        self.title = '## "Mend the parser."'
        self.titled: list[dict[str, Any]] = []

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("tools"):
            return {"content": "Done."}
        self.titled.append(body)
        return {"content": self.title}


def listed(robota: Robota, server: TitleServer, *arguments: str, **settings: Any) -> dict[str, Any]:
    """The session of one run, as the list has it."""
    profile = {"type": "openai-compatible", "model": "m", "baseURL": server.url, "apiKey": "k"}
    write_settings(robota, {"currentProvider": "s", "providers": {"s": profile}, **settings})
    done = robota("-p", "please look why test_nested fails", *arguments)
    assert (done.code, done.stdout.strip()) == (0, "Done."), done
    (session,) = json.loads(robota("sessions", "list", "--json").stdout)
    assert isinstance(session, dict)
    return session


def test_a_title_by_the_model_is_in_the_list_and_finds_the_session(robota: Robota) -> None:
    with serving(TitleServer()) as server:
        session = listed(robota, server, titleByModel=True)
        assert session["title"] == "Mend the parser"
        (asked,) = server.titled
        assert "test_nested" in asked["messages"][-1]["content"]
        assert "Mend the parser" in robota("sessions", "show", "mend").stdout
        assert robota("-c", "-p", "go on").code == 0
        assert len(server.titled) == 1 and server.refusals == []


@pytest.mark.parametrize(
    ("arguments", "settings"), [((), {}), (("-n", "mine"), {"titleByModel": True})], ids=["not allowed", "named"]
)
def test_nothing_is_asked_for_nothing(robota: Robota, arguments: tuple[str, ...], settings: dict[str, Any]) -> None:
    with serving(TitleServer()) as server:
        session = listed(robota, server, *arguments, **settings)
        assert session["title"] == "please look why test_nested fails"
        assert server.titled == []


@pytest.mark.parametrize("answer", ["", "Sure! Here is a longer explanation of what I would do about it. " * 3])
def test_an_answer_that_is_no_title_leaves_the_first_words(robota: Robota, answer: str) -> None:
    with serving(TitleServer()) as server:
        server.title = answer
        assert listed(robota, server, titleByModel=True)["title"] == "please look why test_nested fails"
