"""The proxy of sandboxed commands against everything a command could say to it, over real sockets."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import h11
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robota.workspace.sandbox.egress.allow_list import LOOKUPS_AT_ONCE, AllowList, HostRefused
from robota.workspace.sandbox.egress.relay import EgressLimits
from robota.workspace.sandbox.egress.request import ProxyError, parse_proxy_request
from robota.workspace.web.address import parse_address
from tests.workspace.sandbox.egress.partners import OK, Proxy, Server, proxy, server

T = TypeVar("T")


def talk(scenario: Callable[[Proxy, Server], Awaitable[T]], limits: EgressLimits | None = None) -> T:
    """With a server on loopback that is on the list, and nothing else on it."""

    async def opened() -> T:
        async with server() as far, proxy(far.here, limits=limits) as way:
            return await scenario(way, far)

    return asyncio.run(opened())


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


async def names(host: str, port: int) -> Sequence[str]:
    """A resolver for the tests: names lead where their first label says."""
    return {"private": ["10.1.2.3"], "metadata": ["169.254.169.254"], "mixed": ["1.1.1.1", "127.0.0.1"]}[
        host.partition(".")[0]
    ]


def test_a_plain_request_arrives_and_its_answer_comes_back() -> None:
    async def scenario(way: Proxy, far: Server) -> None:
        request = f"GET http://{far.here}/a?b=c#d HTTP/1.1\r\nHost: {far.here}\r\nX-Kept: yes\r\n\r\n"
        answer = await way.say(request.encode())
        assert status(answer) == 200 and answer.endswith(b"\r\n\r\nok")
        assert far.heard[0].startswith(b"GET /a?b=c HTTP/1.1\r\n")
        assert b"x-kept: yes" in far.heard[0].lower() and far.here.encode() in far.heard[0]
        assert way.refused == ()

    talk(scenario)


def test_connect_gives_the_bare_line_with_both_ends_closable() -> None:
    async def repeat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data = await reader.read()  # only ends when the client has said no more
        writer.write(b"heard: " + data)
        writer.close()

    async def scenario() -> None:
        async with server(repeat) as far, proxy(far.here) as way:
            request = f"CONNECT {far.here} HTTP/1.1\r\nHost: {far.here}\r\n\r\n".encode()
            answer = await way.say(request + b"\0any bytes\r\n\r\n", then_end=True)
            head, _, rest = answer.partition(b"\r\n\r\n")
            assert status(head) == 200 and rest == b"heard: \0any bytes\r\n\r\n"

    asyncio.run(scenario())


def test_much_goes_through_in_both_directions_byte_by_byte() -> None:
    sent = os.urandom(4 << 20)

    async def repeat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def scenario() -> None:
        async with server(repeat) as far, proxy(far.here) as way:
            request = f"CONNECT {far.here} HTTP/1.0\r\n\r\n".encode()
            answer = await way.say(request + sent, then_end=True)
            assert answer.partition(b"\r\n\r\n")[2] == sent

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "framing",
    ["Content-Length: 10\r\n\r\n0123456789", "Transfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n"],
)
def test_a_body_arrives_whole_and_nothing_after_it(framing: str) -> None:
    """A second request on the same connection would reach a server it was never judged for."""

    async def scenario(way: Proxy, far: Server) -> None:
        head = f"POST http://{far.here}/ HTTP/1.1\r\nHost: {far.here}\r\n{framing}"
        second = "GET http://evil.example/second HTTP/1.1\r\nHost: evil.example\r\n\r\n"
        answer = await way.say((head + second).encode(), then_end=True)
        assert status(answer) == 200 and answer.count(b"HTTP/1.1") == 1
        assert b"0123456789" in far.heard[0] and b"second" not in far.heard[0] and len(far.heard) == 1

    talk(scenario)


@pytest.mark.parametrize(
    "target",
    [
        "evil.example:443",
        "127.0.0.1:1",  # the right host, another port
        "ok.example.evil.example:443",
        "okexample:443",
        "[::ffff:127.0.0.1]:PORT",
        "[::1]:PORT",
        "localhost:PORT",
        "127.0.0.2:PORT",
    ],
)
@pytest.mark.parametrize("form", ["CONNECT {0}", "GET http://{0}/"])
def test_who_is_not_on_the_list_is_refused_with_the_way_to_allow_it(target: str, form: str) -> None:
    """A listed address in another spelling, too, and names that only begin or end like a listed one."""

    async def scenario(way: Proxy, far: Server) -> None:
        where = target.replace("PORT", str(far.port))
        answer = await way.say(f"{form.format(where)} HTTP/1.1\r\nHost: {where}\r\n\r\n".encode())
        assert status(answer) == 403 and b"sandbox.allowedHosts in their own settings" in answer
        assert len(way.refused) == 1 and "not in sandbox.allowedHosts" in way.refused[0]
        assert far.heard == []

    talk(scenario)


@pytest.mark.parametrize(
    "target",
    [
        b"evil.example\0.127.0.0.1:PORT",
        b"user@127.0.0.1:PORT",
        b"127.0.0.1:PORT@evil.example:80",
        b"0x7f.1:PORT",
        b"2130706433:PORT",
        b"0177.0.0.1:PORT",
        b"127.1:PORT",
        b"127.0.0.1%2eevil.example:PORT",
        b"[fe80::1%25lo]:PORT",
        "\u0440\u0443\u0440\u0456.org:PORT".encode(),  # Cyrillic letters that look Latin
        b"127.0.0.1\\.evil.example:PORT",
        b"127.0.0.1:PORT:80",
        b"127.0.0.1:-1",
        b"127.0.0.1:99999",
        b"127.0.0.1:",
        b".127.0.0.1..:PORT",
        b"*:PORT",
        b":PORT",
    ],
)
@pytest.mark.parametrize("form", [b"CONNECT %b", b"GET http://%b/"])
def test_a_target_that_looks_like_a_trick_is_not_interpreted(target: bytes, form: bytes) -> None:
    async def scenario(way: Proxy, far: Server) -> None:
        line = form % target.replace(b"PORT", str(far.port).encode())
        assert 400 <= status(await way.say(line + b" HTTP/1.1\r\nHost: x\r\n\r\n")) < 500
        assert far.heard == []

    talk(scenario)


@given(
    st.sampled_from([b"CONNECT", b"GET"]),
    st.sampled_from(["", "http://", "HTTP://ok.example"]),
    st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1),
)
def test_every_target_is_read_in_one_way_or_refused(method: bytes, beginning: str, rest: str) -> None:
    request = h11.Request(method=method, target=beginning + rest, headers=[("host", "ok.example")])
    try:
        address = parse_proxy_request(request).address
    except ProxyError as refusal:
        assert refusal.status == 400
    else:
        assert parse_address(address.url) == address


@pytest.mark.parametrize("target", ["127.0.0.1", "127.0.0.1:PORT/", "127.0.0.1:PORT/:443", "http://127.0.0.1:PORT"])
def test_connect_takes_a_host_with_a_port_and_nothing_else(target: str) -> None:
    async def scenario(way: Proxy, far: Server) -> None:
        line = f"CONNECT {target.replace('PORT', str(far.port))} HTTP/1.0\r\n\r\n"
        assert status(await way.say(line.encode())) == 400 and far.heard == []

    talk(scenario)


@pytest.mark.parametrize(
    ("entry", "url", "reached"),
    [
        ("ok.example", "http://ok.example/", True),
        ("ok.example", "https://OK.Example./", True),
        ("ok.example", "http://ok.example:8080/", False),
        ("ok.example", "http://a.ok.example/", False),
        ("ok.example", "http://ok.example.evil.example/", False),
        ("ok.example:8443", "https://ok.example:8443/", True),
        ("ok.example:8443", "https://ok.example/", False),
        ("*.ok.example", "http://a.ok.example/", True),
        ("*.ok.example", "http://a.b.ok.example/", True),
        ("*.ok.example", "http://ok.example/", False),
        ("*.ok.example", "http://notok.example/", False),
        ("*.ok.example", "http://a.ok.example.evil.example/", False),
        ("9.9.9.9", "http://9.9.9.9/", True),
        ("9.9.9.9", "http://1.9.9.9/", False),
        ("9.9.9.9", "http://[::ffff:9.9.9.9]/", False),
        ("[2620:fe::fe]", "http://[2620:00fe:0::FE]/", True),
        ("[2620:fe::fe]", "http://[2620:fe::ff]/", False),
    ],
)
def test_hosts_are_matched_label_by_label(entry: str, url: str, reached: bool) -> None:
    async def public(host: str, port: int) -> Sequence[str]:
        return ["9.9.9.9"]

    judged = AllowList([entry], public).addresses(parse_address(url))
    if reached:
        assert asyncio.run(judged) in (["9.9.9.9"], ["2620:fe::fe"])
    else:
        with pytest.raises(HostRefused, match=r"not in sandbox\.allowedHosts"):
            asyncio.run(judged)


@pytest.mark.parametrize(
    "head",
    [
        "Host: evil.example",
        "Host: HERE\r\nHost: evil.example",
        "Host: HERE@evil.example",
        "Host: HERE\r\nContent-Length: 1\r\nContent-Length: 2",
        "Host: HERE\r\nContent-Length: 4\r\nTransfer-Encoding: chunked",
        "Host: HERE\r\nTransfer-Encoding: chunked, identity",
        "Host: HERE\r\nTransfer-Encoding: xchunked",
        "Host: HERE\r\nContent-Length: +4",
        "Host: HERE\r\nContent-Length : 4",
        "Host: HERE\r\nX: a\0b",
        "Host: HERE\r\nX: a\rb",
    ],
)
def test_an_ambiguous_request_is_not_forwarded(head: str) -> None:
    """Request smuggling, and a Host header that names another host than the request line."""

    async def scenario(way: Proxy, far: Server) -> None:
        request = f"POST http://{far.here}/ HTTP/1.1\r\n{head.replace('HERE', far.here)}\r\n\r\nabcd"
        assert 400 <= status(await way.say(request.encode(), then_end=True)) < 502
        assert far.heard == []

    talk(scenario)


def test_headers_about_the_proxy_and_those_they_name_stay_here() -> None:
    async def scenario(way: Proxy, far: Server) -> None:
        headers = "Proxy-Authorization: Basic c2VjcmV0\r\nConnection: x-hop, content-length\r\nX-Hop: 1\r\n"
        request = f"POST http://{far.here}/ HTTP/1.1\r\nHost: {far.here}\r\n{headers}Content-Length: 0\r\n\r\n"
        assert status(await way.say(request.encode())) == 200
        heard = far.heard[0].lower()
        assert b"c2vjcmv0" not in heard and b"x-hop" not in heard
        assert b"connection: close" in heard and b"content-length: 0" in heard

    talk(scenario)


@pytest.mark.parametrize(
    ("host", "kind"), [("private.example", "10.1.2.3"), ("metadata.example", "169.254"), ("mixed.example", "127.0.0.1")]
)
def test_a_listed_name_that_leads_into_this_network_is_refused(host: str, kind: str) -> None:
    """One such address among several is enough."""

    async def scenario() -> None:
        async with proxy("*.example.com", host, resolve=names) as way:
            answer = await way.say(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert status(answer) == 403 and kind in way.refused[0] and "resolves to" in way.refused[0]

    asyncio.run(scenario())


def test_a_name_may_lead_to_a_private_address_that_is_listed_itself() -> None:
    """And it is connected to as looked up, once."""
    asked: list[str] = []

    async def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"]

    async def scenario() -> None:
        async with server() as far, proxy(f"*.example.com:{far.port}", far.here, resolve=resolve) as way:
            url = f"http://A.Example.COM.:{far.port}/"
            answer = await way.say(f"GET {url} HTTP/1.1\r\nHost: a.example.com:{far.port}\r\n\r\n".encode())
            assert status(answer) == 200 and asked == ["a.example.com"]
            assert f"host: a.example.com:{far.port}".encode() in far.heard[0].lower()

    asyncio.run(scenario())


def test_an_empty_list_lets_nobody_through() -> None:
    async def scenario() -> None:
        async with server() as far, proxy() as way:
            assert status(await way.say(f"CONNECT {far.here} HTTP/1.0\r\n\r\n".encode())) == 403
            assert far.heard == []

    asyncio.run(scenario())


@pytest.mark.parametrize("beginning", [b"", b"GET http://127.0", b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n"])
def test_half_a_request_does_not_hold_a_line_for_ever(beginning: bytes) -> None:
    async def scenario(way: Proxy, far: Server) -> None:
        assert status(await way.say(beginning)) == 408

    talk(scenario, EgressLimits(head_s=0.01))


def test_a_head_without_end_is_cut_off() -> None:
    async def scenario(way: Proxy, far: Server) -> None:
        request = f"GET http://{far.here}/ HTTP/1.1\r\nHost: {far.here}\r\nX: ".encode()
        assert status(await way.say(request + b"x" * 100_000)) == 431
        assert far.heard == []

    talk(scenario)


def test_silence_ends_a_tunnel() -> None:
    async def scenario(way: Proxy, far: Server) -> None:
        answer = await way.say(f"CONNECT {far.here} HTTP/1.0\r\n\r\n".encode())
        assert status(answer) == 200

    talk(scenario, EgressLimits(idle_s=0.01))


def test_who_comes_when_all_lines_are_busy_waits_for_a_free_one() -> None:
    async def scenario(way: Proxy, far: Server) -> None:
        request = f"CONNECT {far.here} HTTP/1.0\r\n\r\nGET / HTTP/1.1\r\n\r\n".encode()
        first_reader, first = await way.connect()
        second_reader, second = await way.connect()
        second.write(request)  # it came second and speaks first
        first.write(request)
        assert (await first_reader.readuntil(OK)).endswith(OK) and len(far.heard) == 1
        first.close()
        assert (await second_reader.readuntil(OK)).endswith(OK)
        second.close()

    talk(scenario, EgressLimits(connections=1))


def test_names_that_do_not_resolve_do_not_block_all_threads() -> None:
    """A lookup continues in its thread after its caller is cancelled, and so still counts against the limit."""
    asked: list[str] = []

    async def never(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        await asyncio.Event().wait()
        return []

    async def scenario() -> None:
        async with proxy("*.slow.example", resolve=never, limits=EgressLimits(connect_s=0.01)) as way:
            for number in range(LOOKUPS_AT_ONCE + 2):
                assert status(await way.say(f"CONNECT a{number}.slow.example:443 HTTP/1.0\r\n\r\n".encode())) == 502

    asyncio.run(scenario())
    assert len(asked) == LOOKUPS_AT_ONCE


def test_a_missing_or_nonsensical_server_is_reported_as_such() -> None:
    async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"nonsense\r\n\r\n")
        writer.close()

    async def scenario() -> None:
        async with server(nonsense) as far, proxy(far.here, "127.0.0.1:1") as way:
            for where in (far.here, "127.0.0.1:1"):
                answer = await way.say(f"GET http://{where}/ HTTP/1.1\r\nHost: {where}\r\n\r\n".encode())
                assert status(answer) == 502 and way.refused == ()

    asyncio.run(scenario())


def test_an_early_answer_and_an_answer_without_length_come_through() -> None:
    async def hasty(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.0 413 Too Large\r\n\r\nno thanks")
        writer.close()

    async def scenario() -> None:
        async with server(hasty) as far, proxy(far.here) as way:
            head = f"POST http://{far.here}/ HTTP/1.1\r\nHost: {far.here}\r\nContent-Length: 100\r\n\r\n"
            answer = await way.say(head.encode())
            assert b"413" in answer and b"no thanks" in answer

    asyncio.run(scenario())


def test_closing_the_way_out_ends_all_its_lines() -> None:
    async def scenario() -> None:
        async with server() as far:
            async with proxy(far.here) as way:
                reader, writer = await way.connect()
                writer.write(f"CONNECT {far.here} HTTP/1.0\r\n\r\n".encode())
                await reader.readuntil(b"\r\n\r\n")
            assert await reader.read() == b""
            writer.close()

    asyncio.run(scenario())


WORDS = (
    b"CONNECT ",
    b"GET http://",
    b" HTTP/1.1\r\n",
    b"\r\n",
    b"Host: x",
    b"127.0.0.1:1",
    b"transfer-encoding: chunked",
)


@settings(max_examples=150)
@given(st.lists(st.one_of(st.binary(max_size=40), st.sampled_from(WORDS))))
def test_the_proxy_survives_any_input(pieces: list[bytes]) -> None:
    async def scenario(way: Proxy, far: Server) -> None:
        await way.say(b"".join(pieces), then_end=True)
        good = await way.say(f"GET http://{far.here}/ HTTP/1.1\r\nHost: {far.here}\r\n\r\n".encode())
        assert status(good) == 200

    talk(scenario)
