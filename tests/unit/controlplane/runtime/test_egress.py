"""Where the server may call, by name and by the address it turns out to have. Nothing is connected to here."""

from collections.abc import Sequence

import httpx
import pytest

from controlplane.runtime.egress import Allowed, Egress, EgressRefused
from controlplane.server.settings import ServerSettingsRefused, load_settings

PUBLIC, PRIVATE = "93.184.215.14", "10.1.2.3"


def egress(*found: str, allow: Sequence[str] = ()) -> Egress:
    return Egress(tuple(Allowed.of(text) for text in allow), resolve=lambda _host, _port: found)


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "fe80::1",
        "fe80::1%eth0",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "fd00:ec2::254",
        "168.63.129.16",
        "0.0.0.0",
        "::",
        "224.0.0.1",
    ],
)
@pytest.mark.parametrize("allow", [(), ("hooks.example.com",), ("0.0.0.0/0", "::/0")])
def test_where_clouds_tell_credentials_nobody_calls_whatever_the_name_or_the_allow_list(
    address: str, allow: Sequence[str]
) -> None:
    with pytest.raises(EgressRefused, match="never called"):
        egress(address, allow=allow).addresses("hooks.example.com", 443, named=True)


@pytest.mark.parametrize("host", ["metadata.google.internal", "METADATA.google.internal.", "metadata", "instance-data"])
def test_nor_by_the_names_they_have_there(host: str) -> None:
    with pytest.raises(EgressRefused, match="never called"):
        egress(PUBLIC).addresses(host, 80, named=True)
    with pytest.raises(EgressRefused, match="never called"):
        egress(PUBLIC).judge_unresolved(host, named=True)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
def test_this_machine_is_called_by_its_own_name_alone(address: str) -> None:
    with pytest.raises(EgressRefused, match="this machine itself"):
        egress(address).addresses("hooks.example.com", 443, named=True)
    assert egress("127.0.0.1").addresses("localhost", 443, named=True) == ("127.0.0.1",)
    with pytest.raises(EgressRefused, match="this machine itself"):
        egress("127.0.0.1").addresses("127.0.0.1", 443, named=False)


@pytest.mark.parametrize("address", [PRIVATE, "192.168.1.1", "172.16.0.1", "100.64.0.1", "fd12::1"])
def test_a_private_network_takes_a_host_that_the_settings_name(address: str) -> None:
    assert egress(address).addresses("gitlab.corp", 443, named=True) == (address,)
    with pytest.raises(EgressRefused, match="private network"):
        egress(address).addresses("keys.corp", 443, named=False)


def test_of_a_hosts_addresses_those_that_may_not_be_are_left_out() -> None:
    assert egress("169.254.1.1", PUBLIC, "127.0.0.1").addresses("a.example.com", 443, named=True) == (PUBLIC,)


def test_an_allow_list_is_all_there_is() -> None:
    rules = egress(PUBLIC, allow=("*.example.com", "10.0.0.0/8"))
    assert rules.addresses("hooks.example.com", 443, named=False) == (PUBLIC,)
    for other in ("example.com", "example.com.evil.net", "hooksexample.com", "evil.net"):
        with pytest.raises(EgressRefused, match=r"allow\.calls"):
            rules.addresses(other, 443, named=True)
    assert egress(PRIVATE, allow=("10.0.0.0/8",)).addresses("gitlab.corp", 443, named=False) == (PRIVATE,)
    assert egress("127.0.0.1", allow=("127.0.0.0/8",)).addresses("any", 443, named=False) == ("127.0.0.1",)
    with pytest.raises(EgressRefused, match="this machine itself"):
        egress("127.0.0.1", allow=("hooks.example.com",)).addresses("hooks.example.com", 443, named=True)


def test_behind_a_proxy_what_stands_in_the_address_is_judged() -> None:
    with pytest.raises(EgressRefused, match="never called"):
        egress().judge_unresolved("169.254.169.254", named=True)
    with pytest.raises(EgressRefused, match=r"allow\.calls"):
        egress(allow=("hooks.example.com",)).judge_unresolved("evil.net", named=True)
    egress(allow=("hooks.example.com",)).judge_unresolved("hooks.example.com", named=True)
    egress().judge_unresolved("hooks.example.com", named=True)


@pytest.mark.parametrize("text", ["https://hooks.example.com", "10.0.0.1/8", "*", "a b", "", "hooks.example.com:443"])
def test_an_entry_that_makes_no_sense_is_refused_at_the_start(text: str) -> None:
    with pytest.raises(ServerSettingsRefused, match="not a place to call"):
        load_settings(egress_allow=[text])


def test_the_settings_say_where_the_server_may_call() -> None:
    rules = load_settings(egress_allow=["Hooks.Example.com", "10.0.0.0/8"]).allow.egress
    assert [entry.name for entry in rules.allow] == ["hooks.example.com", ""]
    assert load_settings().allow.egress == Egress()


def test_a_refused_call_is_one_that_did_not_connect() -> None:
    assert issubclass(EgressRefused, httpx.ConnectError)
