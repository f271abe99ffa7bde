"""`robota skills`: what is found, what is hidden, what is wrong, and a new one that works at once."""

import json

from tests.cli.scripts import script
from tests.harness.cli import Robota


def test_a_new_skill_is_listed_shown_and_used(robota: Robota) -> None:
    script(robota, {"text": "Done."})
    assert "There are no skills here." in robota("skills", "list").stdout
    assert robota("skills", "new", "release", "--user").code == 0
    again = robota("skills", "new", "release", "--user")
    assert again.code == 1 and "already exists" in again.stderr
    assert "release  skill  user" in robota("skills", "list").stdout
    assert "Instructions for the model." in robota("skills", "show", "/release").stdout
    assert robota("-p", "/release 1.4").stdout == "Done.\n"


def test_a_hidden_one_says_by_what_and_a_field_without_effect_is_named(robota: Robota) -> None:
    for place in (".claude/skills/a", ".robota/skills/a"):
        (robota.home / place).mkdir(parents=True)
        (robota.home / place / "SKILL.md").write_text("---\ndescription: x\ncolour: red\n---\nText.")
    listed = json.loads(robota("skills", "list", "--json").stdout)
    assert [skill["hiddenBy"] for skill in listed] == [None, str(robota.home / ".robota/skills/a/SKILL.md")]
    checked = robota("skills", "validate")
    assert checked.code == 1 and "the field colour has no effect" in checked.stdout


def test_hostile_names_and_files_are_shown_harmlessly(robota: Robota) -> None:
    home = robota.home / ".robota/skills/evil"
    home.mkdir(parents=True)
    (home / "SKILL.md").write_text('---\nname: "\x1b[31mred"\ndescription: "\x1b]0;title\x07"\n---\n\x1b[2JText')
    for arguments in (("list",), ("validate",), ("show", "evil")):
        assert "\x1b" not in robota("skills", *arguments).stdout
