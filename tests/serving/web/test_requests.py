"""What a request must be: for this host, from the page of this server, in JSON. Nothing else does anything."""

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.scripts import script
from tests.harness.cli import Robota
from tests.harness.web_page import WebPage, web_page


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebPage]:
    home, workspace = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("workspace")
    robota = Robota(workspace, home)
    script(robota, {"text": "Hello."})
    with web_page(robota) as served:
        served.enter()
        yield served


@pytest.mark.parametrize(
    "host",
    [
        "rebound.example",
        "rebound.example:{port}",
        "127.0.0.1.example:{port}",
        "10.0.0.1:{port}",
        "",
        "127.0.0.1",
        "127.0.0.1:1",
        "[::1",
        "localhost:{port}x",
    ],
)
def test_a_request_for_another_host_gets_nothing(page: WebPage, host: str) -> None:
    """A name that somebody has made point here: its pages must not read ours."""
    for path in ("/", "/api/me", "/site/js/main.js"):
        reply = page.get(path, host=host.format(port=page.port))
        assert reply.status in (400, 421) and "Robota" not in reply.text


def test_the_names_of_this_machine_are_served(page: WebPage) -> None:
    for host in ("127.0.0.1", "localhost", "LOCALHOST"):
        assert page.get("/api/me", host=f"{host}:{page.port}").status == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "", "http://127.0.0.1:1", "https://127.0.0.1:{port}"]
)
def test_another_origin_can_change_nothing(page: WebPage, origin: str) -> None:
    reply = page.post("/api/sessions", {"cwd": "/"}, origin=origin.format(port=page.port))
    assert (reply.status, reply.json["code"]) == (403, "other_origin")
    assert "access-control-allow-origin" not in reply.headers


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
def test_another_site_can_read_nothing(page: WebPage, site: str) -> None:
    """Another port of this machine is of the same site, and gets the cookie."""
    assert page.get("/api/sessions", sec_fetch_site=site).status == 403


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_form_is_no_request(page: WebPage, kind: str) -> None:
    assert page.post("/api/sessions", {"cwd": "/"}, content_type=kind).status == 415


def test_every_response_confines_the_page_and_content_is_never_stored(page: WebPage) -> None:
    for path in ("/", "/s/some-session", "/site/js/main.js", "/api/me", "/api/sessions", "/api/unknown"):
        headers = page.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert "require-trusted-types-for 'script'" in policy and "script-src 'self'" in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
        expected = "no-cache" if path.startswith("/site/") else "no-store"
        assert headers.get("cache-control", "no-store") == expected, path
        assert "access-control-allow-origin" not in headers


def test_only_the_files_of_the_page_are_served(page: WebPage) -> None:
    assert page.get("/site/js/main.js").status == 200
    for path in (
        "/site/../site_files.py",
        "/site/%2e%2e/page_feed.py",
        "/site//etc/passwd",
        "/site/vendor/",
        "/site/js/main.js/",
    ):
        assert page.get(path).status in (404, 400), path
    etag = page.get("/site/js/main.js").headers["etag"]
    assert page.get("/site/js/main.js", if_none_match=etag).status == 304


NAMES = st.sampled_from(
    [
        *(
            "type",
            "text",
            "images",
            "cwd",
            "token",
            "name",
            "id",
            "code",
            "access",
            "ts",
            "answer",
            "kind",
            "hunks",
            "input",
        ),
        *(
            "line",
            "caret",
            "limit",
            "number",
            "only",
            "scope",
            "permissionMode",
            "mode",
            "taskId",
            "requestId",
            "__proto__",
        ),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | st.text(max_size=8), inner, max_size=5),
    max_leaves=12,
)
TYPES = st.sampled_from(
    ["newTask", "askResponse", "slashCommand", "complete", "olderRows", "rewind", "mode", "queueMessage", "x"]
)
PATHS = st.sampled_from(
    [
        *("/api/sessions", "/api/me", "/api/inbox", "/api/enter", "/api/pair", "/api/pair/code", "/api/devices"),
        *("/api/devices/link", "/api/devices/x/revoke", "/api/sessions/x/commands", "/api/sessions/x/events"),
        *("/api/sessions/x/resume", "/api/sessions/..%2f..%2fetc/resume", "/api/sessions/x/close"),
        *("/api/sessions/x/manage/delete", "/api/sessions/x/manage/nothing", "/api/sessions/%00/manage/rename"),
        *("/", "/s/%ff", "/site/x", "/api/", "/api/unknown", "/%"),
    ]
)
BODIES = st.one_of(
    st.binary(max_size=64),
    JSON.map(lambda value: json.dumps(value).encode()),
    st.builds(
        lambda kind, more: json.dumps({**more, "type": kind}).encode(), TYPES, st.dictionaries(NAMES, JSON, max_size=5)
    ),
    st.just(b"[" * 100_000),
    st.just(b'{"cwd": "/missing", "text": "\\ud800"}'),
)


@given(
    path=PATHS,
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"]),
    body=BODIES,
    is_let_in=st.booleans(),
)
def test_no_request_is_too_odd(page: WebPage, path: str, method: str, body: bytes, is_let_in: bool) -> None:
    headers: dict[str, Any] = {} if is_let_in else {"cookie": "a=b"}
    headers |= {"origin": page.origin, "content_type": "application/json"}
    reply = page.request(method, path, body, headers)
    assert 200 <= reply.status < 500, reply.text
    assert page.process.poll() is None


@given(
    raw=st.binary(min_size=1, max_size=400),
    head=st.sampled_from([b"", b"GET / HTTP/1.1\r\n", b"POST /api/enter HTTP/1.1\r\nhost: x\r\n"]),
)
def test_bytes_that_are_no_request_end_only_their_connection(page: WebPage, raw: bytes, head: bytes) -> None:
    with closing(socket.create_connection(("127.0.0.1", page.port), timeout=60)) as connection:
        connection.sendall(head + raw + b"\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        try:
            while piece := connection.recv(65536):
                answer += piece
        except ConnectionResetError:
            pass
    assert b" 500 " not in answer.partition(b"\r\n")[0]
    assert page.get("/api/me").status == 200


def test_a_body_that_is_too_long_is_refused(page: WebPage) -> None:
    assert page.post("/api/enter", {"token": "x" * 100_000}).status == 413
