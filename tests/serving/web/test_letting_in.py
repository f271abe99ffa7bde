"""Who may use the page: browsers with a link, and no process that an agent has started."""

import http.client
import json
import os
import shutil
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.web_page import WebPage, web_page

# Asks for the page and tries to answer, with secrets that are right.
INTRUDER = """
import json, os, sys, urllib.error, urllib.request
out, where, cookie, key, session = sys.argv[1:]
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
headers = {"cookie": cookie, "x-robota-key": key, "origin": where, "content-type": "application/json"}
body = json.dumps({"type": "askResponse", "answer": {"kind": "approve"}}).encode()
said = []
for path, data in (("/", None), ("/api/me", None), (f"/api/sessions/{session}/commands", body)):
    request = urllib.request.Request(where + path, data, headers)
    try: said.append(urllib.request.urlopen(request, timeout=30).read().decode())
    except urllib.error.HTTPError as error: said.append(error.read().decode())
    except OSError as error: said.append(f"not reached: {error}")
with open(out + ".new", "w") as file: json.dump(said, file)
os.rename(out + ".new", out)
"""


def test_a_link_works_once_and_gives_a_cookie_that_scripts_cannot_read(robota: Robota) -> None:
    script(robota, {"text": "Hello."})
    with web_page(robota) as page:
        assert page.link.startswith("http://127.0.0.1:") and len(page.token) >= 43
        assert page.get("/api/me").status == 401
        admitted = page.enter()
        cookie = admitted.headers["set-cookie"].lower()
        assert admitted.status == 200 and "httponly" in cookie and "samesite=strict" in cookie and "path=/" in cookie
        assert page.get("/api/me").json["access"] == "full"
        again = page.post("/api/enter", {"token": page.token})
        assert again.status == 403 and "used already" in again.json["message"]
        assert page.get("/api/me", x_robota_key="").status == 401  # a cookie alone, as other ports get it
        assert page.get("/api/me", cookie="").status == 401
        assert page.post("/api/enter", {"token": ""}).status == 403
        page.process.terminate()
        assert page.process.wait(60) == 0
        assert page.token not in (page.process.stderr.read() if page.process.stderr else "")
    for file in (robota.home / ".robota").rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            secrets = (page.token, page.key, page.cookie.partition("=")[2])
            assert not [each for each in secrets if each.encode() in content], file


@pytest.mark.parametrize("how", ["command", "hook", "sandbox"])
def test_nothing_that_a_session_starts_reaches_the_page(robota: Robota, tmp_path: Path, how: str) -> None:
    """Not even with the secrets of a browser, outside the sandbox, without parents, after the user has approved it."""
    place = robota.workspace if how == "sandbox" else tmp_path
    said = place / "said"
    (place / "attack.py").write_text(INTRUDER)
    script(
        robota,
        {"calls": [call("execute_command", command=f"sh {place}/attack.sh")]},
        {"calls": [call("write_to_file", path="a.txt", content="a\n")]},
        {"text": "Done."},
    )
    settings = robota.home / ".robota/settings.json"
    changed: dict[str, Any] = {} if how == "sandbox" else {"sandbox": {"enabled": False}}
    if how == "hook":
        command = {"type": "command", "command": f"sh {place}/attack.sh"}
        changed["hooks"] = {"PreToolUse": [{"matcher": "Write", "hooks": [command]}]}
    settings.write_text(json.dumps({**json.loads(settings.read_text()), **changed}))
    with web_page(robota) as page:
        page.enter()
        session_id = page.start("attack")
        secrets = f"'{page.cookie}' '{page.key}'"
        # The interpreter behind that of a virtual environment: the sandbox hides one in /tmp.
        attack = f"{os.path.realpath(sys.executable)} {place}/attack.py {said} {page.origin} {secrets} {session_id}"
        (place / "attack.sh").write_text(f"{attack}\nwhile [ ! -e {said} ]; do sleep 0.05; done\n")
        events = page.events(session_id)
        ask = events.until_ask("command")
        page.answer(session_id, ask, kind="reject" if how == "hook" else "approve")
        ask = events.until_ask("tool")
        assert not (robota.workspace / "a.txt").exists()
        replies = json.loads(said.read_text())
        expected = "not reached" if how == "sandbox" else "started by an agent"
        assert len(replies) == 3 and all(expected in each for each in replies), replies
        assert page.answer(session_id, ask, kind="approve").json["receipt"] == "accepted"
        events.until_ask("completion_result")
    assert (robota.workspace / "a.txt").read_text() == "a\n"


def test_a_page_that_only_shows_a_session_can_answer_nothing(robota: Robota) -> None:
    script(robota, {"calls": [call("write_to_file", path="a.txt", content="a\n")]}, {"text": "Done."})
    with web_page(robota) as page:
        page.enter()
        session_id = page.start("write")
        ask = page.events(session_id).until_ask("tool")
        viewer = _another(page, page.post("/api/devices/link", {"access": "view"}).json["token"])
        assert viewer.get("/api/me").json["access"] == "view"
        assert viewer.events(session_id).until_ask("tool")["ts"] == ask["ts"]
        refused = [
            viewer.answer(session_id, ask, kind="approve"),
            viewer.command(session_id, type="cancelTask"),
            viewer.command(session_id, type="slashCommand", line="/help"),
            viewer.post("/api/sessions", {"cwd": str(robota.workspace)}),
            viewer.post(f"/api/sessions/{session_id}/close"),
            viewer.post(f"/api/sessions/{session_id}/manage/delete"),
            viewer.post("/api/devices/link", {"access": "full"}),
            viewer.post(f"/api/devices/{page.get('/api/me').json['deviceId']}/revoke"),
        ]
        assert [each.status for each in refused] == [403] * len(refused)
        assert {each.json["code"] for each in refused} == {"read_only"}
        assert not (robota.workspace / "a.txt").exists()


def test_a_server_for_viewing_lets_nobody_answer(robota: Robota) -> None:
    script(robota, {"text": "Hello."})
    with web_page(robota, "--view") as page:
        assert page.enter().json["access"] == "view"
        assert page.post("/api/sessions", {"cwd": str(robota.workspace)}).status == 403
        assert page.post("/api/devices/link", {"access": "full"}).status == 403


def test_a_browser_that_is_revoked_gets_nothing_more(robota: Robota) -> None:
    script(robota, {"calls": [call("write_to_file", path="a.txt", content="a\n")]}, {"text": "Done."})
    with web_page(robota) as page:
        page.enter()
        session_id = page.start("write")
        ask = page.events(session_id).until_ask("tool")
        other = _another(page, page.post("/api/devices/link").json["token"])
        stream = other.events(session_id)
        stream.until_ask("tool")
        [device] = [each for each in page.get("/api/devices").json if not each["isOwn"]]
        assert page.post(f"/api/devices/{device['id']}/revoke").status == 200
        assert other.get("/api/me").status == 401
        assert other.answer(session_id, ask, kind="approve").status == 401
        assert page.answer(session_id, ask, kind="approve").status == 200
        assert list(stream) == []  # it ends instead of telling what happened then
        assert page.post(f"/api/devices/{device['id']}/revoke").status == 404


def test_browsers_are_remembered_if_the_port_was_chosen(robota: Robota) -> None:
    script(robota, {"text": "Hello."})
    with web_page(robota) as page:
        port = str(page.port)
    with web_page(robota, "--port", port) as page:
        page.enter()
        cookie, key = page.cookie, page.key
    with web_page(robota, "--port", port) as again:
        again.cookie, again.key = cookie, key
        assert again.get("/api/me").status == 200
    kept = robota.home / f".robota/web/browsers-{port}.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.write_text("not what was written")
    with web_page(robota, "--port", port) as again:
        again.cookie, again.key = cookie, key
        assert again.get("/api/me").status == 401 and again.enter().status == 200


def test_other_devices_need_encryption_or_an_explicit_word_and_a_code(robota: Robota) -> None:
    script(robota, {"text": "Hello."})
    refused = robota("web", "--no-open", "--listen", "0.0.0.0")
    assert refused.code == 2 and "--unencrypted" in refused.stderr and "http://" not in refused.stdout
    with web_page(robota, "--listen", "0.0.0.0", "--unencrypted") as page:
        page.origin = f"http://127.0.0.1:{page.port}"
        assert page.process.stderr is not None
        assert "not encrypted" in page.process.stderr.readline()
        knocked = page.post("/api/pair", {"name": "A phone\x1b]0;x\x07"})
        told = page.process.stderr.readline()
        code = told.rpartition("code is ")[2].strip(". \n")
        assert "A phone" in told and "\x1b" not in told and code not in knocked.text
        wrong = page.post("/api/pair/code", {"id": knocked.json["id"], "code": "1"})
        assert wrong.status == 403
        right = page.post("/api/pair/code", {"id": knocked.json["id"], "code": code})
        assert right.status == 200 and "httponly" in right.headers["set-cookie"].lower()
        for _ in range(2):  # a code works once
            assert page.post("/api/pair/code", {"id": knocked.json["id"], "code": code}).status == 403
        other = page.post("/api/pair").json["id"]
        page.process.stderr.readline()
        tries = [page.post("/api/pair/code", {"id": other, "code": str(number)}).json["code"] for number in range(6)]
        assert tries == ["wrong_code"] * 5 + ["no_code"]


def test_nobody_can_try_codes_without_end(robota: Robota) -> None:
    """A code that was tried too often takes up its place until its time is over."""
    script(robota, {"text": "Hello."})
    with web_page(robota, "--listen", "0.0.0.0", "--unencrypted") as page:
        page.origin = f"http://127.0.0.1:{page.port}"
        tried = 0
        while (knocked := page.post("/api/pair")).status == 200:
            wrong = [page.post("/api/pair/code", {"id": knocked.json["id"], "code": "x"}) for _ in range(6)]
            tried += sum(each.json["code"] == "wrong_code" for each in wrong)
            assert tried <= 40
        assert (knocked.status, tried) == (429, 40)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate of this test")
def test_other_devices_reach_the_page_over_tls_alone(robota: Robota, tmp_path: Path) -> None:
    script(robota, {"text": "Hello."})
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=laptop.local"]
    names = ["-addext", "subjectAltName=DNS:laptop.local,IP:127.0.0.1"]
    subprocess.run([*made, *names, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    options = ("--listen", "127.0.0.1", "--name", "laptop.local", "--cert", str(certificate), "--key", str(key))
    with web_page(robota, *options) as page:
        assert page.link.startswith("https://laptop.local:")
        trusting = ssl.create_default_context(cafile=str(certificate))
        connection = http.client.HTTPSConnection("127.0.0.1", page.port, timeout=60, context=trusting)
        headers = {"host": f"laptop.local:{page.port}", "origin": page.origin, "content-type": "application/json"}
        connection.request("POST", "/api/enter", json.dumps({"token": page.token}), headers)
        entered = connection.getresponse()
        assert entered.status == 200 and "secure" in entered.headers["set-cookie"].lower()
        page.key, page.cookie = json.load(entered)["key"], entered.headers["set-cookie"].partition(";")[0]
        connection.request("GET", "/api/me", headers=page.headers("GET", {"host": headers["host"]}))
        assert json.load(connection.getresponse())["access"] == "full"
        with pytest.raises((OSError, http.client.HTTPException)):
            page.get("/api/me")  # not over TLS
        connection.close()
    missing = robota("web", "--no-open", "--listen", "127.0.0.1", "--cert", str(tmp_path / "none.pem"))
    assert missing.code == 1 and "Nothing was started" in missing.stderr


def test_the_page_of_this_machine_gives_no_codes(robota: Robota) -> None:
    script(robota, {"text": "Hello."})
    with web_page(robota) as page:
        assert page.post("/api/pair").json["code"] == "needs_link"


def _another(page: WebPage, token: str) -> WebPage:
    """Another browser of the same server."""
    other = WebPage.__new__(WebPage)
    other.__dict__.update(page.__dict__, cookie="", key="")
    assert other.enter(token).status == 200
    return other
