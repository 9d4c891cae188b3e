"""How real brokers are registered, against where they should be: well, fenced, not at all, in another rack or place.

One controller, brokers 1000 and 1001. The documents' side is made; the brokers and what is read of them are real.
"""

import os
import signal
from collections.abc import Iterator, Mapping

import pytest

from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.services.registrations import Misregistration, misregistered
from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from tests.builders import a_view, an_instance
from tests.kafka_processes import SOON_FENCED, KafkaProcesses
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.soak, pytest.mark.timeout(180)]

NODES = {1000: "brokers-a-0", 1001: "brokers-b-0"}
ADDRESSES = {1000: "127.0.47.1", 1001: "127.0.47.2"}


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaProcesses]:
    kafka = KafkaProcesses(
        tmp_path_factory.mktemp("registrations"),
        network="127.0.47",
        min_isr=1,
        replication=2,
        properties=SOON_FENCED,
    )
    try:
        kafka.found({1000: "a", 1001: "b"})
        yield kafka
    finally:
        kafka.close()


@pytest.fixture(scope="module")
def gateway(processes: KafkaProcesses) -> Iterator[AdminGateway]:
    dialer = DirectDialer()
    made = AdminGateway(dialer, "registrations", lambda: processes.bootstrap)
    until(lambda: len(made.snapshot().live_brokers()) == 2, "two live brokers")
    yield made
    dialer.close()


def wanted(*, rack: str = "b", address: str = ADDRESSES[1001]) -> ClusterView:
    """The two brokers as documents have them; of the second in that rack and at that address."""
    first = an_instance(NODES[1000], service_id=1000, rack="a", address=ADDRESSES[1000])
    second = an_instance(NODES[1001], service_id=1001, rack=rack, address=address)
    return a_view(first, second, without=["brokers-c-0.g1"])


def found(gateway: AdminGateway, view: ClusterView) -> Mapping[int, Misregistration]:
    return misregistered(view, gateway.snapshot())


def test_brokers_that_are_where_they_should_be_are_well(gateway: AdminGateway) -> None:
    assert found(gateway, wanted()) == {}


def test_a_broker_in_another_rack_is_told_with_both(gateway: AdminGateway) -> None:
    told = found(gateway, wanted(rack="c"))
    assert {b: (a.fault, a.words) for b, a in told.items()} == {
        1001: ("WrongRack", "broker 1001 is registered in rack b, not c")
    }


def test_a_broker_at_another_address_is_told_with_both(gateway: AdminGateway) -> None:
    told = found(gateway, wanted(address="127.0.47.9"))
    assert {b: (a.fault, a.words) for b, a in told.items()} == {
        1001: ("WrongAddress", "broker 1001 is registered at 127.0.47.2:9092, not at 127.0.47.9:9092")
    }


def test_a_broker_that_stands_still_is_told_as_fenced_until_it_goes_on(
    processes: KafkaProcesses, gateway: AdminGateway
) -> None:
    process = processes.nodes[1001].process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    try:
        until(lambda: _fault(gateway) == "Fenced", "the controllers to fence it", timeout_s=30)
    finally:
        os.kill(process.pid, signal.SIGCONT)
    until(lambda: _fault(gateway) == "", "it to be let in again", timeout_s=30)


def test_a_broker_that_nobody_has_registered_is_told(processes: KafkaProcesses, gateway: AdminGateway) -> None:
    processes.stop(1001)
    until(lambda: 1001 not in gateway.snapshot().live_brokers(), "its end to be known")
    gateway.unregister_broker(1001)
    until(lambda: _fault(gateway) == "NotRegistered", "its registration to be gone")


def _fault(gateway: AdminGateway) -> str:
    told = found(gateway, wanted()).get(1001)
    return told.fault if told is not None else ""
