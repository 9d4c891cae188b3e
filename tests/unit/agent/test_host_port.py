"""One value for a host and its port: brackets where they belong, and addresses compared, not texts."""

import ipaddress

import pytest
from hypothesis import given, strategies as st

from agent.host_port import HostPort, bracketed, plain_host

PORTS = st.integers(1, 65535)
ADDRESSES = st.ip_addresses()


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("10.0.0.1:9092", "10.0.0.1", 9092),
        ("broker.example:1", "broker.example", 1),
        ("[fd00::1]:65535", "fd00::1", 65535),
        ("[fd5a:0:0:0:b:0:0:1001]:9092", "fd5a::b:0:0:1001", 9092),
        (" [FD00::1]:9092\n", "fd00::1", 9092),
        ("[fe80::1%eth0]:9092", "fe80::1%eth0", 9092),
    ],
)
def test_what_is_written_is_read(text: str, host: str, port: int) -> None:
    at = HostPort.parse(text)
    assert (at.host, at.port) == (host, port)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "host",
        ":9092",
        "host:",
        "host:0",
        "host:65536",
        "host:http",
        "host:+1",
        "host:1_0",
        "host:٣",
        "fd00::1:9092",
        "fd00::1",
        "[fd00::1]",
        "[host]:9092",
        "[10.0.0.1]:9092",
        "[]:9092",
        "[fd00::1:9092",
        "fd00::1]:9092",
        "a:b:9092",
    ],
)
def test_anything_else_is_refused_and_quoted(text: str) -> None:
    with pytest.raises(ValueError) as refused:
        HostPort.parse(text)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("kedge.example", "kedge.example:8443"),
        ("kedge.example:1", "kedge.example:1"),
        ("fd00::1", "[fd00::1]:8443"),
        ("[fd00:0::1]", "[fd00::1]:8443"),
        ("[fd00::1]:1", "[fd00::1]:1"),
    ],
)
def test_a_port_may_be_missing_where_there_is_a_default(text: str, meant: str) -> None:
    assert str(HostPort.parse(text, 8443)) == meant
    for refused in ("", "a:b", "kedge.example:http"):
        with pytest.raises(ValueError, match=r"HOST:PORT|brackets"):
            HostPort.parse(refused, 8443)


@given(address=ADDRESSES, port=PORTS)
def test_text_and_value_are_the_same(address: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int) -> None:
    at = HostPort(str(address), port)
    assert HostPort.parse(str(at)) == at
    assert ipaddress.ip_address(at.host) == address
    assert str(at).startswith("[") == (address.version == 6)


@given(address=st.ip_addresses(v=6), other=st.ip_addresses(v=6), port=PORTS)
def test_addresses_are_compared_and_not_texts(
    address: ipaddress.IPv6Address, other: ipaddress.IPv6Address, port: int
) -> None:
    spelled = [str(address), address.exploded, address.exploded.upper(), f"[{address}]"]
    assert {HostPort(text, port) for text in spelled} == {HostPort(str(address), port)}
    assert {plain_host(text) for text in spelled} == {str(address)}
    assert {bracketed(text) for text in spelled} == {f"[{address}]"}
    assert (HostPort(other.exploded, port) == HostPort(str(address), port)) == (other == address)


@pytest.mark.parametrize("name", ["broker.example", "10.0.0.1", "", "a:b", "[host]"])
def test_what_is_no_address_of_version_6_keeps_its_text(name: str) -> None:
    assert bracketed(name) == name
