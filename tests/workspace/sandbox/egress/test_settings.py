"""`sandbox.allowedHosts`: what an entry means, who can set it, and what a user and the model hear of it."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.config.settings.allowed_hosts import AllowedAddress, AllowedName, NamesBelow, NoHost, allowed_host
from robota.workspace.web.address import AddressRefused, parse_address
from tests.cli.scripts import call, script, sessions, write_settings
from tests.harness.cli import Robota
from tests.harness.session_log import log_text
from tests.workspace.sandbox.cells import PYTHON
from tests.workspace.sandbox.egress.partners import require_bubblewrap


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("ok.example", AllowedName(name="ok.example", ports=(80, 443))),
        ("OK.Example.", AllowedName(name="ok.example", ports=(80, 443))),
        ("*.github.com", NamesBelow(parent="github.com", ports=(80, 443))),
        ("*.a.example:22", NamesBelow(parent="a.example", ports=(22,))),
        ("internal.example.com:8443", AllowedName(name="internal.example.com", ports=(8443,))),
        ("xn--bcher-kva.example", AllowedName(name="xn--bcher-kva.example", ports=(80, 443))),
        ("localhost:8080", AllowedName(name="localhost", ports=(8080,))),
        ("127.0.0.1:8080", AllowedAddress(address="127.0.0.1", ports=(8080,))),
        ("[::0:1]", AllowedAddress(address="::1", ports=(80, 443))),
    ],
)
def test_what_an_entry_means(text: str, meant: object) -> None:
    assert allowed_host(text) == meant


TOO_WIDE = ["*", "*.*", "*.com", "*.", "*.*.example.com", "a.*.example.com", "*example.com", "ex*mple.com", "**.a.b"]
MORE_THAN_A_HOST = [
    "https://ok.example",
    "ok.example/simple",
    "user@ok.example",
    "ok.example:0",
    "ok.example:65536",
    "ok.example:x",
]
NO_NAMES = [
    "",
    "bücher.example",
    "руре.example",
    "ok.example ",
    "ok..example",
    "-a.example",
    "a-.example",
    "a\0.example",
]
NO_ADDRESSES = ["0x7f.1", "2130706433", "127.1", "010.0.0.1", "127.0.0.1/8", "::1", "[::1", "[fe80::1%eth0]", "[1.1.1]"]
TOO_LONG = ["a" * 64 + ".example", "a." * 127 + "example"]


@pytest.mark.parametrize("text", [*TOO_WIDE, *MORE_THAN_A_HOST, *NO_NAMES, *NO_ADDRESSES, *TOO_LONG])
def test_what_is_no_entry(text: str) -> None:
    with pytest.raises(NoHost):
        allowed_host(text)


@given(st.from_regex(r"[a-zA-Z0-9_.*:\[\]@/%-]{1,30}", fullmatch=True))
def test_an_entry_means_a_host_that_the_proxy_would_read_in_the_same_way(text: str) -> None:
    """Otherwise the user could list entries that never match, or match something else."""
    try:
        entry = allowed_host(text)
    except NoHost:
        return
    match entry:
        case AllowedName(name=name) | NamesBelow(parent=name) | AllowedAddress(address=name):
            pass
    try:
        address = parse_address(f"http://{f'[{name}]' if ':' in name else name}:{entry.ports[0]}/")
    except AddressRefused as error:
        pytest.fail(f"{text!r} was taken, but {error}")
    assert (address.host, address.port) == (name, entry.ports[0])


def test_a_wrong_entry_stops_the_start_and_says_where_and_why(robota: Robota) -> None:
    write_settings(robota, {"sandbox": {"allowedHosts": ["ok.example", "https://github.com"]}})
    done = robota("-p", "go")
    assert done.code == 3
    assert "sandbox.allowedHosts[1]" in done.stderr and "without a scheme" in done.stderr


def test_the_user_sets_it_and_a_repository_cannot(robota: Robota) -> None:
    assert robota("config", "set", "sandbox.allowedHosts", "ok.example", "--add").code == 0
    assert robota("config", "set", "sandbox.allowedHosts", "*", "--add").code == 3
    assert robota("config", "set", "sandbox.allowedHosts", '["evil.example"]', "--scope", "project").code == 3
    project = robota.workspace / ".robota" / "settings.json"
    project.parent.mkdir(exist_ok=True)
    project.write_text(json.dumps({"sandbox": {"allowedHosts": ["evil.example"]}}))
    robota("trust", "--yes")
    shown = robota("config", "show", "--json")
    assert json.loads(shown.stdout)["sandbox"]["allowedHosts"] == ["ok.example"]


def test_the_model_is_sent_the_hosts_that_were_refused(robota: Robota, tmp_path: Path) -> None:
    require_bubblewrap(tmp_path)
    program = "import urllib.request; urllib.request.urlopen('https://evil.example/')"
    fetch = call("execute_command", command=f'{PYTHON} -c "{program}"')
    script(robota, {"calls": [fetch]}, {"text": "ok"})
    settings = robota.home / ".robota" / "settings.json"
    listed = {**json.loads(settings.read_text()), "sandbox": {"allowedHosts": ["ok.example"]}}
    settings.write_text(json.dumps(listed))
    done = robota("-p", "go", "--allowed-tools", "Bash")
    assert done.code == 0, done.stderr
    log = log_text(sessions(robota)[0])
    assert "The sandbox refused a connection to evil.example (not in sandbox.allowedHosts)." in log


def test_doctor_says_when_the_list_cannot_be_enforced(robota: Robota) -> None:
    write_settings(robota, {"sandbox": {"allowedHosts": ["ok.example"]}})
    report = json.loads(robota("doctor", "--json", env={"PATH": "."}).stdout)
    check = next(each for each in report["checks"] if each["name"] == "sandbox")
    if not check["text"].startswith("Landlock"):
        pytest.skip("no Landlock")
    assert "cannot enforce sandbox.allowedHosts" in check["advice"]
