"""The entry for the registry of agents, by the rules of its own checks."""

import json
import re
from xml.etree import ElementTree

from robota.version import VERSION
from tests.clients.acp.editor import ROOT

ENTRY = ROOT / "packaging" / "acp"


def test_the_entry_has_what_the_registry_demands() -> None:
    entry = json.loads((ENTRY / "agent.json").read_text())
    assert re.fullmatch(r"[a-z][a-z0-9-]*", entry["id"])
    assert entry["version"] == VERSION and entry["description"] and entry["license"] == "Apache-2.0"
    assert entry["distribution"]["uvx"] == {"package": f"robota=={VERSION}", "args": ["acp"]}
    icon = ElementTree.fromstring((ENTRY / entry["icon"]).read_text())
    assert (icon.get("width"), icon.get("height"), icon.get("viewBox")) == ("16", "16", "0 0 16 16")
    colours = {value for each in icon.iter() for name, value in each.items() if name in ("fill", "stroke")}
    assert colours <= {"none", "currentColor"}


def test_the_configurations_of_editors_start_robota() -> None:
    page = (ROOT / "docs" / "editors.md").read_text()
    configurations = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    assert len(configurations) == 2
    for each in configurations:
        assert json.loads(each)["agent_servers"]["Robota"] == {"command": "robota", "args": ["acp"]}
