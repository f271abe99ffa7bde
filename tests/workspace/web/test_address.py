"""Which URLs and which machines may be fetched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.workspace.web.address import AddressRefused, AddressRules, parse_address

REFUSED_ADDRESSES = [
    "127.0.0.1",
    "127.8.9.10",
    "0.0.0.0",
    "10.0.0.1",
    "172.16.5.4",
    "192.168.1.1",
    "100.64.0.1",
    "100.100.100.200",
    "169.254.169.254",
    "168.63.129.16",
    "192.0.0.192",
    "224.0.0.1",
    "255.255.255.255",
    "240.0.0.1",
    "198.18.0.1",
    "192.0.2.1",
    "::1",
    "::",
    "::7f00:1",
    "::ffff:10.0.0.1",
    "::ffff:127.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "fe80::1",
    "fec0::1",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "2001:db8::1",
]


@pytest.mark.parametrize("address", REFUSED_ADDRESSES)
def test_addresses_that_a_stranger_could_not_reach_are_refused(address: str) -> None:
    assert AddressRules().refusal(address) is not None


@pytest.mark.parametrize("address", ["8.8.8.8", "151.101.1.69", "2606:4700::6810:84e5", "64:ff9b::808:808"])
def test_public_addresses_may_be_reached(address: str) -> None:
    assert AddressRules().refusal(address) is None


def test_an_exemption_is_for_its_network_only() -> None:
    rules = AddressRules(exempt=("10.1.0.0/16", "::1/128"))
    assert rules.refusal("10.1.2.3") is None
    assert rules.refusal("::1") is None
    assert rules.refusal("10.2.0.1") is not None
    assert rules.refusal("127.0.0.1") is not None


@given(st.ip_addresses(v=4, network="10.0.0.0/8") | st.ip_addresses(v=4, network="169.254.0.0/16"))
def test_a_private_address_stays_private_however_it_is_wrapped(address: object) -> None:
    for wrapped in (f"{address}", f"::ffff:{address}", f"::{address}", f"64:ff9b::{address}"):
        assert AddressRules().refusal(wrapped) is not None


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("ftp://example.com/", "only http"),
        ("file:///etc/passwd", "only http"),
        ("javascript:alert(1)", "only http"),
        ("example.com", "only http"),
        ("//example.com/x", "only http"),
        ("", "only http"),
        ("http://", "not a host name"),
        ("http:///path", "not a host name"),
        ("http://user@example.com/", "user name"),
        ("http://docs.python.org@evil.example/", "user name"),
        ("http://example.com\\@evil.example/", "backslashes"),
        ("http://exa mple.com/", "blanks"),
        ("http://evil.example\0.python.org/", "blanks"),
        ("http://example.com/\n", None),
        ("http://exam\tple.com/", "blanks"),
        ("http://example.com:0/", "port 0"),
        ("http://example.com:99999/", "[Pp]ort"),
        ("http://[::1/", "cannot be fetched"),
        ("http://[fe80::1%25eth0]/", "cannot be fetched"),
        ("http://2130706433/", "usual form"),
        ("http://0/", "usual form"),
        ("http://0x7f000001/", "usual form"),
        ("http://0177.0.0.1/", "usual form"),
        ("http://127.1/", "usual form"),
        ("http://127.0.0.0x1/", "usual form"),
        ("http://-x.example/", "not a host name"),
        ("http://a..b/", "not a host name"),
        ("http://exa%6dple.com/", "not a host name"),
        ("http://" + "a" * 64 + ".com/", "not a host name"),
        ("http://example.com/" + "a" * 5000, "at most"),
    ],
)
def test_what_looks_like_a_trick_is_refused(url: str, problem: str | None) -> None:
    """Odd spellings of addresses, user names that look like hosts, bytes that end a name early."""
    if problem is None:
        assert parse_address(url).host == "example.com"
        return
    with pytest.raises(AddressRefused, match=problem):
        parse_address(url)


def test_a_host_is_shown_as_it_will_be_sent() -> None:
    """Mixed case and look-alike letters."""
    assert parse_address("HTTPS://Docs.Python.ORG./x").url == "https://docs.python.org/x"
    assert parse_address("https://pythоn.org/").host.startswith("xn--")  # the o is Cyrillic
    assert parse_address("http://[2606:4700:0:0::1]:8080/x?y#z").url == "http://[2606:4700::1]:8080/x?y"
    assert parse_address("https://example.com?q=1").url == "https://example.com/?q=1"


@given(st.text(max_size=40), st.sampled_from(["http://", "https://", "http://[", "http://a@", ""]))
def test_any_text_is_read_or_refused(text: str, scheme: str) -> None:
    try:
        address = parse_address(scheme + text)
    except AddressRefused:
        return
    assert address.host.isascii() and "@" not in address.url.partition("/")[2].partition("/")[0]
    assert parse_address(address.url) == address
