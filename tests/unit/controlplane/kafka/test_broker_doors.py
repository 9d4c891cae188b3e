"""Where brokers are dialled: whatever a spec or a broker says, never a metadata service, this machine for its own."""

import socket
from collections.abc import Iterator

import pytest

from controlplane.cluster.gateways import Gateways, own_addresses
from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.egress import _RULES, BrokerDoors
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.runtime.egress import Allowed, EgressRefused
from tests.unit.controlplane.api.portal_house import House, three_brokers

NAMES = {"kafka.example.com": ["203.0.113.7"], "inside.example.com": ["10.0.0.7"], "here.example.com": ["127.0.0.1"]}
NAMES |= {"rebound.example.com": ["169.254.169.254"], "both.example.com": ["127.0.0.1", "203.0.113.8"]}


def doors(*allow: str) -> BrokerDoors:
    def resolve(host: str, port: int) -> list[str]:
        return NAMES.get(host, [host])

    return BrokerDoors([Allowed.of(place) for place in allow], resolve=resolve)


@pytest.mark.parametrize("host", ["169.254.169.254", "rebound.example.com", "fd00:ec2::254", "metadata", "0.0.0.0"])
@pytest.mark.parametrize("allow", [(), ("169.254.0.0/16", "*.example.com")])
def test_a_metadata_service_is_never_dialled(host: str, allow: tuple[str, ...]) -> None:
    rules = doors(*allow)
    rules.know("c", [host], is_outside=False)
    with pytest.raises(EgressRefused):
        rules.addresses("c", host, 9092)


@pytest.mark.parametrize("host", ["127.0.0.1", "here.example.com", "::1", "::ffff:127.0.0.1", "localhost"])
@pytest.mark.parametrize("is_outside", [True, False])
def test_this_machine_is_dialled_only_where_a_vm_of_the_cluster_is_or_the_settings_say_so(
    host: str, is_outside: bool
) -> None:
    NAMES["localhost"] = ["127.0.0.1"]
    rules = doors()
    rules.know("c", ["127.64.0.10"] if is_outside else ["10.0.0.3"], is_outside=is_outside)
    with pytest.raises(EgressRefused):
        rules.addresses("c", host, 5432)
    with pytest.raises(EgressRefused):
        rules.addresses("unknown", host, 5432)
    own = "127.64.0.10" if is_outside else "10.0.0.3"
    assert rules.addresses("c", own, 9092) == (own,)
    listed = doors("127.0.0.0/8", "::1/128")
    listed.know("c", [], is_outside=is_outside)
    assert listed.addresses("c", host, 9092)


def test_another_place_is_dialled_and_of_several_addresses_the_good_ones() -> None:
    rules = doors()
    rules.know("c", [], is_outside=True)
    assert rules.addresses("c", "inside.example.com", 9092) == ("10.0.0.7",)
    assert rules.addresses("c", "both.example.com", 9092) == ("203.0.113.8",)


def test_with_a_list_brokers_of_others_are_there_alone_and_our_own_vms_everywhere() -> None:
    rules = doors("10.0.0.0/8", "kafka.example.com")
    rules.know("theirs", ["192.168.1.4"], is_outside=True)
    rules.know("ours", [], is_outside=False)
    assert rules.addresses("theirs", "inside.example.com", 9092)
    assert rules.addresses("theirs", "kafka.example.com", 9092)
    assert rules.addresses("theirs", "192.168.1.4", 9092)
    assert rules.addresses("ours", "192.168.1.5", 9092)
    with pytest.raises(EgressRefused, match=r"`allow\.brokers` does not list it"):
        rules.addresses("theirs", "192.168.1.5", 9092)


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def test_a_dialler_connects_to_nothing_it_may_not_and_keeps_no_rules_of_it(listening: socket.socket) -> None:
    address = f"127.0.0.1:{listening.getsockname()[1]}"
    dialer, kept = DirectDialer(doors=doors()), len(_RULES)
    with pytest.raises(KafkaUnavailable), dialer.dial("c", [address], Deadline.after(0.3)):
        pass
    with pytest.raises(BlockingIOError):
        listening.accept()
    assert len(_RULES) == kept


def test_a_dialler_connects_where_it_may(listening: socket.socket) -> None:
    address = f"127.0.0.1:{listening.getsockname()[1]}"
    dialer = DirectDialer(doors=doors("127.0.0.0/8"))
    with pytest.raises(KafkaUnavailable), dialer.dial("c", [address], Deadline.after(0.3)):
        pass
    listening.accept()[0].close()


class UnusedDialer:
    """A dialer that nobody uses."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError(name)


def test_the_rules_know_the_vms_of_each_cluster_as_they_are_now() -> None:
    house = House()
    house.apply()
    house.join(*three_brokers())
    view, rules = house.view(), doors()
    Gateways(UnusedDialer(), doors=rules).of(view)  # type: ignore[arg-type]
    assert own_addresses(view) == {"127.64.0.10", "127.64.0.11", "127.64.0.12"}
    assert rules.addresses(view.uid, "127.64.0.11", 9092) == ("127.64.0.11",)
    assert rules.addresses(view.uid, "127.64.0.13", 9092), "it is made, and its address is not folded yet"
    with pytest.raises(EgressRefused, match="this machine itself"):
        rules.addresses("another", "127.64.0.11", 9092)
