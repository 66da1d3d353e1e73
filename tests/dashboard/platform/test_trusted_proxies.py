"""Whom a trusted proxy names, and how little anybody else's word counts."""

import pytest

from dashboard.platform.trusted_proxies import Client, Proxies, client_of, customer_of

TRUSTED = Proxies.read("127.0.0.1, ::1, 10.0.0.0/8, 2001:db8:ffff::/48")
FAR = "203.0.113.9"


def asks(peer: str, **headers: str) -> Client:
    told = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return client_of(peer, told, TRUSTED)


@pytest.mark.parametrize("header", ["X_Forwarded_For", "Forwarded"])
def test_only_named_proxies_are_trusted(header: str):
    said = FAR if header == "X_Forwarded_For" else f"for={FAR}"
    told = [(header.replace("_", "-").encode(), said.encode()), (b"x-forwarded-proto", b"https")]
    assert client_of("127.0.0.1", told, Proxies()) == Client("127.0.0.1")
    assert client_of("198.51.100.1", told, TRUSTED) == Client("198.51.100.1")


@pytest.mark.parametrize(
    ("chain", "address"),
    [
        (FAR, FAR),
        (f"127.0.0.1, {FAR}", FAR),  # what the client had sent stands before what the proxy added
        (f"8.8.8.8, {FAR}, 10.1.1.1, 10.2.2.2", FAR),
        ("10.1.1.1, 10.2.2.2", "10.1.1.1"),
        (f"{FAR}:4711", FAR),
        ("[2001:db8::7]:4711", "2001:db8::7"),
        ("2001:db8::7, 2001:db8:ffff::1", "2001:db8::7"),
        ("::ffff:203.0.113.9", FAR),
        ("", "127.0.0.1"),
        ("unknown", "127.0.0.1"),
        (f"{FAR}, garbage", "127.0.0.1"),
        (f"{FAR}, garbage, 10.1.1.1", "10.1.1.1"),
        ("'; drop table", "127.0.0.1"),
    ],
)
def test_the_clients_address_is_the_rightmost_that_is_not_a_trusted_proxy(chain: str, address: str):
    assert asks("127.0.0.1", x_forwarded_for=chain) == Client(address, proxied=True)


def test_a_chain_over_several_headers_is_one():
    told = [(b"x-forwarded-for", b"8.8.8.8"), (b"X-Forwarded-For", FAR.encode()), (b"x-forwarded-for", b"10.0.0.1")]
    assert client_of("127.0.0.1", told, TRUSTED).address == FAR


@pytest.mark.parametrize(
    ("said", "client"),
    [
        (f"for={FAR};proto=https", Client(FAR, "https", proxied=True)),
        ('for="[2001:db8::7]:4711"; proto=HTTP', Client("2001:db8::7", "http", proxied=True)),
        (f"for=8.8.8.8, For={FAR};by=10.0.0.1, for=10.0.0.1;Proto=https", Client(FAR, "https", proxied=True)),
        ("for=_hidden", Client("127.0.0.1", proxied=True)),
        ("", Client("127.0.0.1", proxied=True)),
    ],
)
def test_the_standard_header_gives_the_same_result(said: str, client: Client):
    assert asks("127.0.0.1", forwarded=said) == client


def test_two_headers_that_name_different_clients_name_none():
    assert asks("10.9.9.9", x_forwarded_for=FAR, forwarded="for=8.8.8.8").address == "10.9.9.9"
    assert asks("10.9.9.9", x_forwarded_for=FAR, forwarded=f"for={FAR}").address == FAR


@pytest.mark.parametrize(
    ("said", "scheme"),
    [("https", "https"), ("http", "http"), ("https, http", "http"), ("HTTPS", "https"), ("javascript", None)],
)
def test_the_scheme_is_the_last_one_given(said: str, scheme: str | None):
    assert asks("::1", x_forwarded_proto=said).scheme == scheme
    assert asks("::1", x_forwarded_proto=said, forwarded="for=8.8.8.8;proto=ftp").scheme is None


def test_one_customer_has_exactly_one_64_bit_prefix():
    near = {customer_of(host) for host in ("2001:db8:1:2::1", "2001:db8:1:2:ffff::", "2001:db8:1:2::")}
    assert near == {"2001:db8:1:2::"}
    assert [customer_of(host) for host in ("2001:db8:1:3::1", "::1", "::ffff:192.0.2.1", "", None, "unix:")] == [
        "2001:db8:1:3::",
        "::1",
        "192.0.2.1",
        None,
        None,
        None,
    ]


@pytest.mark.parametrize("text", ["proxy.example", "10.0.0.0/33", "127.0.0.1;10.0.0.1", "*", "10.0.0.1:80"])
def test_an_entry_that_is_neither_an_address_nor_a_network_is_named(text: str):
    with pytest.raises(ValueError, match="neither an address nor a network"):
        Proxies.read(text)


def test_no_proxy_is_trusted_by_default():
    assert not Proxies.read(" , ")
    assert not Proxies().trust("127.0.0.1")
