"""Key bindings in a file: what they change, what is refused, and that the keys do it."""

import json

import pytest
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

from robota.clients.tui.key_table import USUAL, BoundAction
from robota.clients.tui.personal.own_keys import OwnKeys, key_help, own_lines, read_keys
from tests.clients.tui.key_stage import THINKING, Scene, pressed

CTRL_T = KeyPress(Keys.ControlT, "\x14")
CTRL_R = KeyPress(Keys.ControlR, "\x12")
ENTER = KeyPress(Keys.ControlM, "\r")
CTRL_J = KeyPress(Keys.ControlJ, "\n")
F5 = KeyPress(Keys.F5, "\x1b[15~")


def keys(**entries: str | None) -> OwnKeys:
    return read_keys(json.dumps({key.replace("_", "+"): action for key, action in entries.items()}).encode())


def scene(text: str = "", **entries: str | None) -> Scene:
    return Scene(text=text, bindings=keys(**entries).bindings)


def test_a_key_of_the_file_does_what_it_is_bound_to() -> None:
    assert pressed(Scene(), CTRL_T) == "—"
    assert pressed(scene(ctrl_t="searchHistory"), CTRL_T) == "asks first"
    assert pressed(scene(f5="searchHistory"), F5) == "asks first"
    assert pressed(scene(ctrl_t="searchHistory"), CTRL_R) == "asks first"


def test_a_key_that_is_bound_to_nothing_does_nothing() -> None:
    assert pressed(Scene(), CTRL_R) == "asks first"
    assert pressed(scene(ctrl_r=None), CTRL_R) != "asks first"


def test_enter_can_write_lines_and_another_key_send() -> None:
    own = {"enter": "newLine", "ctrl_j": "send"}
    assert pressed(scene("draft", **own), ENTER) == "changes the text"
    assert pressed(scene("draft", **own), CTRL_J) == "sends"
    assert pressed(Scene(text="draft"), ENTER) == "sends"


def test_enter_still_answers_where_nothing_is_written() -> None:
    own = scene(enter="newLine", alt_enter="send", ctrl_t="searchHistory")
    opened = Scene(bindings=own.bindings, keys=(CTRL_T,))
    assert pressed(opened, ENTER) == "earlier prompt"


def test_a_bound_key_works_while_the_agent_works() -> None:
    own = keys(ctrl_t="permissionMode").bindings
    assert pressed(Scene(events=THINKING, bindings=own), CTRL_T) == "next mode"


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ({"esc": "send"}, "cannot be changed"),
        ({"ctrl+c": None}, "cannot be changed"),
        ({"ctrl+m": "send"}, "the same for Enter"),
        ({"hyper+x": "send"}, "no such key"),
        ({"ctrl+t": "dance"}, "no action “dance”"),
        ({"enter": None}, "Enter still does"),
    ],
)
def test_what_is_wrong_is_named_and_left_out(entries: dict[str, str | None], why: str) -> None:
    own = read_keys(json.dumps({**entries, "f2": "editor"}).encode())
    assert len(own.problems) == 1 and why in own.problems[0]
    assert own.bindings == {**USUAL, "f2": BoundAction.EDITOR}


def test_a_file_that_cannot_be_read_leaves_the_usual_keys() -> None:
    for content in (b"[", b"\xff", b'["ctrl+t"]'):
        own = read_keys(content)
        assert own.bindings == USUAL and "The usual keys are used" in own.problems[0]


def test_the_list_of_keys_shows_the_own_ones() -> None:
    own = keys(ctrl_t="transcript", ctrl_o=None, ctrl_v=None).bindings
    shown = {words: named for named, words in key_help(own)}
    assert shown["the full transcript, with search"] == "Ctrl+T"
    assert "paste an image from the clipboard" not in shown
    assert dict(own_lines(own)) == {"Ctrl+T": "transcript", "Ctrl+O": "—", "Ctrl+V": "—"}
