"""What nodes are started with where their addresses are of version 6: the same as of version 4, with brackets."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agent.four_letters import probe as zookeeper_probe
from agent.metrics_duty import MeasuredBroker
from agent.probes import probe
from agent.services.launch import KafkaInstallation
from agent.services.properties import server_properties
from agent.services.storage import storage_tool_arguments
from agent.services.zoo_cfg import first_membership
from agent.wire import EnsembleMember, Heartbeats, HeartbeatTarget, MetricsTopic, ServiceDocument
from tests.unit.agent.test_agent_rendering import LOG_DIRS
from tests.unit.agent.test_agent_tls_rendering import (
    AT_2182,
    AT_9090,
    TLS_BROKER,
    TLS_CONTROLLER,
    TLS_DIR,
    TLS_OLD_BROKER,
    TLS_SERVER,
)
from tests.unit.agent.wanted import broker, controller, old_broker, server

NETWORKS = {"10.0.0.": "fd5a::b:", "10.0.1.": "fd5a::d:"}


def of_version_6(service: ServiceDocument) -> ServiceDocument:
    text = service.model_dump_json()
    for four, six in NETWORKS.items():
        text = text.replace(f'"{four}', f'"{six}')
    return ServiceDocument.model_validate_json(text)


def with_brackets(text: str) -> str:
    """The rendering of version 4 as it has to be of version 6. Each address there ends in one digit."""
    for four, six in NETWORKS.items():
        for last in range(10):
            text = text.replace(f"{four}{last}", f"[{six}{last}]")
    return text


def properties(service: ServiceDocument) -> str:
    return server_properties(service, log_dirs=LOG_DIRS, tls_dir=TLS_DIR)


@pytest.mark.parametrize(
    ("service", "render"),
    [
        (broker(), properties),
        (controller(), properties),
        (old_broker(), properties),
        (TLS_BROKER, properties),
        (TLS_CONTROLLER, properties),
        (TLS_OLD_BROKER, properties),
        *((one.model_copy(update={"tls": one.tls.model_copy(update={"step": step, "plain_port": 9093})}), properties)
          for one, step in ((TLS_CONTROLLER, "C1"), (TLS_CONTROLLER, "C2"), (TLS_BROKER, "B1"), (TLS_BROKER, "B2"))
          if one.tls is not None),
        (controller(), lambda s: " ".join(storage_tool_arguments(s))),
        (server(), first_membership),
        (TLS_SERVER, first_membership),
    ],
)  # fmt: skip
def test_it_has_brackets_and_nothing_else_changes(
    service: ServiceDocument, render: Callable[[ServiceDocument], str]
) -> None:
    before = render(service)
    assert any(four in before for four in NETWORKS), "nothing is rendered that a test could tell"
    assert render(of_version_6(service)) == with_brackets(before)


def test_the_documents_of_these_tests_have_addresses_that_change() -> None:
    assert {v.address for v in of_version_6(TLS_CONTROLLER).voters} == {f"fd5a::b:{n}" for n in (1, 2, 3)}
    assert len(AT_9090) == len(AT_2182) == 3


def test_jolokia_is_told_its_host_without_brackets(tmp_path: Path) -> None:
    """Its `host=` is no URL: Java looks it up as it is written."""
    libs = tmp_path / "4.1.1" / "libs"
    libs.mkdir(parents=True)
    (libs / "jolokia-agent-jvm-2.2.9-javaagent.jar").touch()
    command = KafkaInstallation(tmp_path, "java").kafka_command(of_version_6(broker()), directory=Path("/vm"), marks=())
    assert any("javaagent.jar=host=fd5a::b:9,port=" in word for word in command)


def test_agents_dial_brokers_of_version_6() -> None:
    targets = (
        HeartbeatTarget(broker=1, address="fd5a::b:1", port=9092),
        HeartbeatTarget(broker=2, address="a", port=1),
    )
    assert Heartbeats(topic="t", targets=targets).bootstrap == "[fd5a::b:1]:9092,a:1"
    measured = MeasuredBroker(of_version_6(broker()), "c1", "n", MetricsTopic(name="m", replication=1))
    assert measured.bootstrap == "[fd5a::b:9]:9092"


def test_a_probe_of_one_tells_where_it_looked() -> None:
    assert probe(broker(address="::1", port=1), None).reason == "[::1]:1 does not accept connections yet"
    assert zookeeper_probe("::1", 1).reason.startswith("[::1]:1 does not answer: ")


def test_an_ensemble_names_each_port_once() -> None:
    own = server(ensemble=(EnsembleMember(id=1, address="fd5a::d:1"),), address="fd5a::d:1")
    assert first_membership(own) == "server.1=[fd5a::d:1]:2888:3888:participant;[fd5a::d:1]:2181\n"
