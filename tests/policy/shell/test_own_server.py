"""Requests to servers of the session run unasked, but only those that read, and only where nothing else is there."""

import msgspec
import pytest

from robota.policy.decide import decide
from robota.policy.stages import PolicyContext
from robota.protocol.permission_mode import PermissionMode
from tests.policy.judging import PLACES, running


def says(command: str, mode: str = "default", *, own_network: bool = True) -> str:
    context = PolicyContext(mode=PermissionMode(mode), resolver=PLACES, sandboxed=True)
    context = msgspec.structs.replace(context, own_network=lambda: own_network)
    return decide(running(command), context).decision


@pytest.mark.parametrize(
    "command",
    [
        "curl --silent --max-time 5 http://127.0.0.1:8123/x",
        "curl -sSf http://localhost:3000",
        "curl -s -o /dev/null -w '%{http_code}' 'http://127.0.0.1:5173/?a=b'",
        "curl -H 'Accept: text/html' 'http://[::1]:80/'",
    ],
)
def test_reading_from_a_server_of_the_session_needs_no_approval(command: str) -> None:
    assert says(command) == says(command, "acceptEdits") == "allow"
    assert says(command, own_network=False) == "ask"
    assert says(command, "plan") == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "curl http://127.0.0.1:8123 http://example.com",
        "curl http://127.0.0.1.example.com/",
        "curl http://127.0.0.1@example.com/",
        "curl http://localhost:80@example.com/",
        "curl -X POST http://localhost/",
        "curl -d @x http://localhost/",
        "curl -o x http://localhost/",
        "curl -sO http://localhost/x",
        "curl -w @x http://localhost/",
        "curl -w '%output{x}y' http://localhost/",
        "curl -H @x http://localhost/",
        "curl -K x http://localhost/",
        "curl -L http://localhost/",
        "curl -x http://example.com http://localhost/",
        "curl --resolve localhost:80:1.2.3.4 http://localhost/",
        "curl -s",
        "curl http://localhost/ > x",
        "./curl http://localhost/",
        "env http_proxy=x curl http://localhost/",
    ],
)
def test_everything_else_asks(command: str) -> None:
    assert says(command) == "ask"
