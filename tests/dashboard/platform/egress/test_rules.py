"""What may be connected to: every way to write an address, by the rules an operator may set."""

import ipaddress

import pytest

from dashboard.platform.egress import addresses
from dashboard.platform.egress.addresses import Kind
from dashboard.platform.egress.rules import APART, ON_ONE_MACHINE, Rules
from tests.together import together

KINDS = [
    ("8.8.8.8", Kind.PUBLIC),
    ("2606:4700::1111", Kind.PUBLIC),
    ("127.0.0.1", Kind.LOOPBACK),
    ("127.200.3.4", Kind.LOOPBACK),
    ("::1", Kind.LOOPBACK),
    ("10.1.2.3", Kind.PRIVATE),
    ("172.16.0.1", Kind.PRIVATE),
    ("192.168.1.1", Kind.PRIVATE),
    ("100.64.0.1", Kind.PRIVATE),
    ("198.18.0.1", Kind.PRIVATE),
    ("fd00::1", Kind.PRIVATE),
    ("fec0::1", Kind.PRIVATE),
    ("169.254.1.1", Kind.LINK_LOCAL),
    ("fe80::1", Kind.LINK_LOCAL),
    ("169.254.169.254", Kind.METADATA),
    ("168.63.129.16", Kind.METADATA),
    ("100.100.100.200", Kind.METADATA),
    ("fd00:ec2::254", Kind.METADATA),
    ("0.0.0.0", Kind.RESERVED),
    ("0.1.2.3", Kind.RESERVED),
    ("::", Kind.RESERVED),
    ("224.0.0.1", Kind.RESERVED),
    ("255.255.255.255", Kind.RESERVED),
    ("240.0.0.1", Kind.RESERVED),
    ("ff02::1", Kind.RESERVED),
]
#: The same addresses of this machine, of a private network and of a cloud's metadata, in other clothes.
DISGUISES = [
    "::ffff:127.0.0.1",
    "::ffff:a9fe:a9fe",
    "::127.0.0.1",
    "::169.254.169.254",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "2002:0a00:0001::",
    "64:ff9b::127.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::10.0.0.1",
    "2001:0:7f00:1::",
    "2001:0:53aa:64c:0:5efe:f5ff:fffe",
    "2606:4700::5efe:10.0.0.1",
    "fe80::1%eth0",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "127.1",
    "0xa9fea9fe",
    "2852039166",
    "[::1]",
]


def address(text: str) -> addresses.Address:
    found = addresses.read(text)
    assert found is not None, text
    return found


@together
@pytest.mark.parametrize(("text", "kind"), KINDS)
def test_each_address_has_exactly_one_kind(text: str, kind: Kind):
    assert addresses.kind_of(address(text)) is kind
    assert (APART.refused("host", 443, address(text)) is None) is (kind is Kind.PUBLIC)
    assert (ON_ONE_MACHINE.refused("host", 443, address(text)) is None) is (kind in (Kind.PUBLIC, Kind.LOOPBACK))


@together
@pytest.mark.parametrize("text", DISGUISES)
def test_embedded_and_legacy_addresses_are_recognized(text: str):
    assert APART.refused("host", 443, address(text)) is not None


def test_an_address_that_embeds_a_public_address_is_public():
    for text in ("::ffff:8.8.8.8", "64:ff9b::8.8.8.8"):
        assert APART.refused("host", 443, address(text)) is None


@together
@pytest.mark.parametrize("name", ["example.com", "", "a.b", "127.0.0.1.example", "1e100.net", "host name"])
def test_a_name_is_not_an_address(name: str):
    assert addresses.read(name) is None


@together
@pytest.mark.parametrize(
    ("rules", "host", "port", "to", "allowed"),
    [
        ("public", "a", 443, "8.8.8.8", True),
        ("public:443", "a", 80, "8.8.8.8", False),
        ("private", "a", 443, "8.8.8.8", False),
        ("private", "a", 443, "10.0.0.1", True),
        ("10.0.0.0/8", "a", 443, "10.9.9.9", True),
        ("10.0.0.0/8:8080", "a", 443, "10.9.9.9", False),
        ("[fd00::/8]:8080", "a", 8080, "fd12::1", True),
        ("fd00::/8", "a", 8080, "fd12::1", True),
        ("10.0.0.5", "a", 1, "10.0.0.5", True),
        ("10.0.0.5", "a", 1, "10.0.0.6", False),
        ("localhost:11434", "localhost", 11434, "127.0.0.1", True),
        ("localhost:11434", "localhost", 8321, "127.0.0.1", False),
        ("llm.corp.example", "LLM.corp.example.", 443, "10.0.0.1", True),
        ("llm.corp.example", "other.corp.example", 443, "10.0.0.1", False),
        ("*.corp.example", "other.corp.example", 443, "10.0.0.1", True),
        ("*.corp.example", "corp.example", 443, "10.0.0.1", False),
        ("*.corp.example", "evilcorp.example", 443, "10.0.0.1", False),
        ("llm.corp.example", "llm.corp.example", 443, "127.0.0.1", False),
        ("llm.corp.example", "llm.corp.example", 443, "169.254.169.254", False),
        ("llm.corp.example,169.254.169.254", "llm.corp.example", 443, "169.254.169.254", True),
        ("0.0.0.0/0", "a", 443, "169.254.169.254", False),
        ("link-local,private,public", "a", 443, "169.254.169.254", False),
        ("169.254.169.254", "a", 80, "::ffff:169.254.169.254", True),
        ("public,!8.8.8.0/24", "a", 443, "8.8.8.8", False),
        ("public,!8.8.8.0/24", "a", 443, "::ffff:8.8.8.8", False),
        ("public,!bad.example", "bad.example", 443, "8.8.8.8", False),
        ("public,!*.example", "very.bad.example", 443, "8.8.8.8", False),
        ("0.0.0.0/0,!169.254.0.0/16", "a", 443, "169.254.169.254", False),
        ("", "a", 443, "8.8.8.8", False),
    ],
)
def test_an_entry_allows_what_it_names_and_a_denial_takes_precedence(
    rules: str, host: str, port: int, to: str, allowed: bool
):
    assert (Rules.read(rules).refused(host, port, address(to)) is None) is allowed


@together
@pytest.mark.parametrize(
    "wrong",
    ["everything!", "10.0.0.0/33", "10.0.0.1/8", "a:b", "a:0", "a:70000", "[::1", "fd00::/200", "*", "2130706433"],
)
def test_an_invalid_rule_is_refused_with_an_explanation(wrong: str):
    with pytest.raises(ValueError, match=r"is not a rule|does not end in a port number"):
        Rules.read(f"public,{wrong}")


def test_every_ipv4_address_has_the_same_result_mapped_into_ipv6():
    for text, _ in KINDS:
        plain = address(text)
        if isinstance(plain, ipaddress.IPv4Address):
            mapped = address(f"::ffff:{plain}")
            assert APART.refused("a", 1, mapped) == APART.refused("a", 1, plain)
