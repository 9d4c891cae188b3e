"""Where a cluster of IPv6 addresses is dialled: as Kafka's clients read it."""

from dataclasses import replace

import pytest
from kafka.cluster import collect_hosts

from controlplane.cluster.external_brokers import external_addresses
from controlplane.cluster.folds.external import RULES
from controlplane.cluster.gateways import bootstrap_of, own_addresses
from controlplane.kafka.egress import BrokerDoors
from events import facts
from tests.builders import NOW, a_view, an_instance
from tests.unit.controlplane.external_samples import external_states

BROKERS = [an_instance(f"brokers-{rack}-0", address=f"fd5a::b:0:0:{n}") for n, rack in enumerate("abc", 1)]


def test_brokers_are_dialled_with_brackets() -> None:
    found = bootstrap_of(a_view(*BROKERS))
    assert found == ("[fd5a::b:0:0:1]:9092", "[fd5a::b:0:0:2]:9092", "[fd5a::b:0:0:3]:9092")
    assert {host for host, *_ in collect_hosts(list(found))} == {b.address for b in BROKERS}


@pytest.mark.parametrize("host", ["fd5a::b:0:0:1", "fd5a:0:0:0:b:0:0:1", "[fd5a::b:0:0:1]"])
def test_brokers_of_others_are_dialled_with_brackets_however_they_were_found(host: str) -> None:
    found = facts.ExternalFound((facts.ExternalBrokerFound(7, "a", host, 9092),))
    view = RULES[facts.ExternalFound](external_states()[facts.ExternalFound], found, NOW)
    assert external_addresses(view) == ("[fd5a::b:0:0:1]:9092",)


def test_a_broker_is_dialled_at_its_vm_however_its_cloud_wrote_the_address() -> None:
    doors = BrokerDoors(resolve=lambda host, port: ["::1"])
    spelled = replace(BROKERS[0], address="0:0:0:0:0:0:0:1")
    doors.know("c", own_addresses(a_view(spelled)), is_outside=False)
    assert doors.addresses("c", "::1", 9092) == ("::1",)
