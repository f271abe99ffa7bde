"""Fetching, against a real server on loopback. Loopback is exempt only where a test says so."""

import asyncio
import gzip
from collections.abc import Iterator, Sequence

import pytest

from robota.workspace.web.address import AddressRefused, AddressRules
from robota.workspace.web.fetch import Fetched, Fetcher, FetchFailed, Redirected
from tests.workspace.web.web_server import Page, Web, web_server

LOOPBACK = AddressRules(exempt=("127.0.0.0/8", "::1/128"))


@pytest.fixture
def web() -> Iterator[Web]:
    with web_server() as server:
        yield server


class Names:
    """A resolver that knows a few names and counts how often it was asked."""

    def __init__(self, **known: Sequence[str]) -> None:
        self.known = {name.replace("_", "."): addresses for name, addresses in known.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        if host not in self.known:
            raise OSError("Name or service not known")
        return self.known[host]


def fetch(fetcher: Fetcher, url: str) -> Fetched:
    answer = asyncio.run(fetcher.fetch(url))
    assert isinstance(answer, Fetched)
    return answer


def test_a_page_comes_with_type_and_status(web: Web) -> None:
    web.pages["/x?y=1"] = Page(body=b"hello", headers={"content-type": "text/plain; charset=utf-8"})
    answer = fetch(Fetcher(LOOPBACK), web.url("/x?y=1#part"))
    assert (answer.body, answer.status, answer.is_cut) == (b"hello", 200, False)
    assert answer.content_type == "text/plain; charset=utf-8"
    assert web.requests[0]["user-agent"].startswith("robota/")


def test_this_machine_is_refused_by_default(web: Web) -> None:
    """By number and by a name that leads here; no request arrives."""
    for host in ("127.0.0.1", "localhost", "LOCALHOST."):
        with pytest.raises(AddressRefused, match="this machine itself"):
            asyncio.run(Fetcher(AddressRules()).fetch(web.url("/", host)))
    assert web.requests == []


def test_a_name_with_one_private_address_is_refused(web: Web) -> None:
    """Also if its other addresses are public."""
    names = Names(evil_example=("8.8.8.8", "10.0.0.1"))
    with pytest.raises(AddressRefused, match=r"10\.0\.0\.1, a private"):
        asyncio.run(Fetcher(AddressRules(), resolve=names).fetch("http://evil.example/"))


def test_the_connection_goes_to_the_checked_address(web: Web) -> None:
    """The name is asked for once; were it resolved again to connect, the guard of the tests would object."""
    web.pages["/"] = Page(body=b"hello")
    names = Names(docs_example=("127.0.0.1",))
    answer = fetch(Fetcher(LOOPBACK, resolve=names), web.url("/", "docs.example"))
    assert answer.body == b"hello"
    assert names.asked == ["docs.example"]
    assert web.requests[0]["host"] == f"docs.example:{web.port}"


def test_the_next_address_is_tried_if_one_does_not_answer(web: Web) -> None:
    web.pages["/"] = Page(body=b"hello")
    names = Names(two_example=("::1", "127.0.0.1"))
    assert fetch(Fetcher(LOOPBACK, resolve=names), web.url("/", "two.example")).body == b"hello"


def test_redirects_on_the_same_host_are_followed(web: Web) -> None:
    for step in range(5):
        web.redirect(f"/{step}", f"/{step + 1}", (301, 302, 303, 307, 308)[step])
    web.pages["/5"] = Page(body=b"here")
    assert fetch(Fetcher(LOOPBACK), web.url("/0")).url == web.url("/5")


def test_too_many_redirects_end_somewhere(web: Web) -> None:
    web.redirect("/", "/")
    with pytest.raises(FetchFailed, match="5 redirects"):
        asyncio.run(Fetcher(LOOPBACK).fetch(web.url("/")))
    assert len(web.requests) == 6


def test_a_redirect_to_another_host_is_named_but_not_followed(web: Web) -> None:
    """The user has not been asked about that host yet."""
    web.redirect("/", web.url("/secret", "other.example"))
    fetcher = Fetcher(LOOPBACK, resolve=Names(a_example=("127.0.0.1",), other_example=("127.0.0.1",)))
    answer = asyncio.run(fetcher.fetch(web.url("/", "a.example")))
    assert answer == Redirected(url=web.url("/secret", "other.example"))
    assert [request["path"] for request in web.requests] == ["/"]


@pytest.mark.parametrize(
    "target",
    ["http://169.254.169.254/latest/meta-data/", "http://[::ffff:10.0.0.1]/", "file:///etc/passwd", "http://0/"],
)
def test_a_redirect_to_what_is_refused_is_refused(web: Web, target: str) -> None:
    """At each hop."""
    web.redirect("/0", "/1")
    web.redirect("/1", target)
    with pytest.raises(AddressRefused):
        asyncio.run(Fetcher(LOOPBACK).fetch(web.url("/0")))


def test_a_name_that_changes_its_mind_between_hops_is_refused(web: Web) -> None:
    """DNS rebinding: the second hop is resolved and checked again."""
    answers = iter((["127.0.0.1"], ["127.0.0.2"]))

    async def resolve(host: str, port: int) -> Sequence[str]:
        return next(answers)

    web.redirect("/", "/again")
    fetcher = Fetcher(AddressRules(exempt=("127.0.0.1/32",)), resolve=resolve)
    with pytest.raises(AddressRefused, match=r"127\.0\.0\.2"):
        asyncio.run(fetcher.fetch(web.url("/", "a.example")))
    assert [request["path"] for request in web.requests] == ["/"]


def test_a_big_answer_is_cut(web: Web) -> None:
    web.pages["/"] = Page(body=b"x" * 10_000)
    answer = fetch(Fetcher(LOOPBACK, max_bytes=1000), web.url("/"))
    assert answer.is_cut and len(answer.body) == 1000


def test_an_answer_that_unpacks_to_a_huge_one_is_cut(web: Web) -> None:
    packed = gzip.compress(b"\0" * 50_000_000)
    web.pages["/"] = Page(body=packed, headers={"content-type": "text/plain", "content-encoding": "gzip"})
    answer = fetch(Fetcher(LOOPBACK), web.url("/"))
    assert answer.is_cut and len(answer.body) == 5_000_000


def test_an_answer_that_never_ends_is_given_up(web: Web) -> None:
    web.pages["/"] = Page(body=b"x", stalls=True)
    with pytest.raises(FetchFailed, match=r"within 0\.3 s"):
        asyncio.run(Fetcher(LOOPBACK, timeout_s=0.3).fetch(web.url("/")))


def test_an_unwanted_body_is_not_read(web: Web) -> None:
    web.pages["/"] = Page(body=b"x", headers={"content-type": "image/png"}, stalls=True)
    answer = fetch(Fetcher(LOOPBACK, wants=lambda kind: kind != "image/png"), web.url("/"))
    assert answer.body == b""


def test_what_cannot_be_reached_is_said(web: Web) -> None:
    with pytest.raises(FetchFailed, match="could not be reached"):
        asyncio.run(Fetcher(LOOPBACK).fetch("http://127.0.0.1:1/"))
    with pytest.raises(FetchFailed, match="could not be found"):
        asyncio.run(Fetcher(LOOPBACK, resolve=Names()).fetch("http://gone.example/"))


def test_a_proxy_of_the_environment_is_not_used(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would resolve the name by itself, and what it finds could not be checked."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    web.pages["/"] = Page(body=b"direct")
    assert fetch(Fetcher(LOOPBACK), web.url("/")).body == b"direct"
