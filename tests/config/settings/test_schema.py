"""The published JSON Schema and the page about the settings say what the code says."""

import json
from pathlib import Path

from robota.config.settings.environment_layer import NO_UPDATE_CHECK, VARIABLES
from robota.config.settings.schema import allowed_values, settings_schema

DOCS = Path(__file__).parents[3] / "docs"


def test_the_published_schema_is_the_one_of_the_code() -> None:
    published = json.loads((DOCS / "settings.schema.json").read_text())
    assert published == json.loads(json.dumps(settings_schema())), "robota config schema > docs/settings.schema.json"


def test_the_page_names_every_setting_and_every_variable() -> None:
    page = (DOCS / "configuration.md").read_text()
    keys = [key for key in settings_schema()["properties"] if key != "$schema"]
    permissions = settings_schema()["$defs"]["Permissions"]["properties"]
    assert [name for name in (*keys, *permissions, *VARIABLES, NO_UPDATE_CHECK) if f"`{name}`" not in page] == []


def test_allowed_values() -> None:
    assert set(allowed_values(["completion"])) == {"implicit", "explicit"}
    assert "plan" in allowed_values(["permissions", "defaultMode"])
    assert allowed_values(["providers", "x", "model"]) == ()
    assert allowed_values(["nothing", "like", 7, "this"]) == ()
