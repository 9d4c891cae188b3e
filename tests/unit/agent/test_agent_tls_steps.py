"""A node between plaintext and TLS, role by role and step by step: goldens as in `test_agent_rendering`."""

import pytest

from agent.documents import Accepted, DocumentRejected, judge_document
from agent.metrics_duty import MeasuredBroker
from agent.services.properties import server_properties
from agent.services.tls_steps import at_step
from agent.wire import MetricsTopic, ServiceDocument, ServiceTls
from agent.wire_tls import TlsStep
from agent.wire_versions import STEP_WIRE_VERSION
from tests.unit.agent.test_agent_rendering import LOG_DIRS, check
from tests.unit.agent.test_agent_tls_rendering import (
    AT_9090,
    LISTENERS,
    SUPER_USERS,
    TLS_BROKER,
    TLS_CONTROLLER,
    TLS_DIR,
)
from tests.unit.agent.wanted import VOTERS, boot_data, document


def at(step: TlsStep) -> ServiceDocument:
    tls = ServiceTls(super_users=SUPER_USERS, step=step)
    if step.startswith("B"):
        return TLS_BROKER.model_copy(update={"tls": tls.model_copy(update={"listeners": LISTENERS})})
    voters = VOTERS if step == "C1" else AT_9090
    with_port = tls.model_copy(update={"plain_port": 9093})
    return TLS_CONTROLLER.model_copy(update={"tls": with_port, "voters": voters})


def rendered(step: TlsStep) -> dict[str, str]:
    text = server_properties(at(step), log_dirs=LOG_DIRS, tls_dir=TLS_DIR)
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


@pytest.mark.parametrize("step", ["C1", "B1", "C2", "B2"])
def test_server_properties(step: TlsStep) -> None:
    role = "broker" if step.startswith("B") else "controller"
    check(f"{role}-{step.lower()}.properties", server_properties(at(step), log_dirs=LOG_DIRS, tls_dir=TLS_DIR))


def test_controllers_dial_by_tls_only_once_all_of_them_listen_so() -> None:
    assert rendered("C1")["controller.listener.names"] == "CONTROLLER,CONTROLPLANE"
    assert rendered("C2")["controller.listener.names"] == "CONTROLPLANE,CONTROLLER"
    for step in ("C1", "C2"):
        assert sorted(rendered(step)["listeners"].split(",")) == [
            "CONTROLLER://10.0.0.1:9093",
            "CONTROLPLANE://10.0.0.1:9090",
        ]


def test_nobody_is_asked_for_rights_before_the_controllers_know_them() -> None:
    assert "authorizer.class.name" not in rendered("C1") | rendered("B1")
    for step in ("C2", "B2"):
        assert "User:ANONYMOUS" in rendered(step)["super.users"]


def test_brokers_speak_to_one_another_by_tls_only_at_the_second_step() -> None:
    assert rendered("B1")["inter.broker.listener.name"] == "PLAINTEXT"
    assert rendered("B2")["inter.broker.listener.name"] == "REPLICATION"
    assert rendered("B1")["listeners"] == rendered("B2")["listeners"]


def test_the_last_step_is_what_a_cluster_is_born_with() -> None:
    final = {"listeners": "CONTROLPLANE://10.0.0.1:9090"}
    assert at_step(TLS_CONTROLLER, ServiceTls(super_users=SUPER_USERS), final) == final


@pytest.mark.parametrize(
    ("service", "why"),
    [
        (at("C1").model_copy(update={"tls": at("B1").tls}), "B1 is no step of a controller"),
        (at("B1").model_copy(update={"tls": at("C2").tls}), "C2 is no step of a broker"),
        (
            at("C2").model_copy(update={"tls": ServiceTls(super_users=SUPER_USERS, step="C2")}),
            "nobody says where it listens in plaintext at C2",
        ),
        (
            at("B2").model_copy(
                update={"tls": ServiceTls(super_users=SUPER_USERS, step="B2", listeners=LISTENERS[:2])}
            ),
            "a broker at B2 has no listener PLAINTEXT",
        ),
    ],
)
def test_a_step_that_cannot_be_made_is_refused(service: ServiceDocument, why: str) -> None:
    told = document(service).model_copy(update={"wire": STEP_WIRE_VERSION})
    refused = judge_document(told.model_dump_json().encode(), boot=boot_data(), current=None)
    assert isinstance(refused, DocumentRejected)
    assert why in refused.reason


@pytest.mark.parametrize("step", ["C1", "B1", "C2", "B2"])
def test_an_agent_takes_such_a_document_by_its_version(step: TlsStep) -> None:
    told = document(at(step)).model_copy(update={"wire": STEP_WIRE_VERSION})
    assert isinstance(judge_document(told.model_dump_json().encode(), boot=boot_data(), current=None), Accepted)


def test_metrics_go_to_the_listener_in_plaintext_until_all_brokers_listen_by_tls() -> None:
    """A broker that has made its step listens at 9091 before anybody is told to come so."""
    for secured, port in ((False, 9092), (True, 9091)):
        topic = MetricsTopic(name="metrics", replication=3, secured=secured)
        assert MeasuredBroker(at("B1"), "c0ffee", "brokers-a-0", topic).bootstrap == f"10.0.0.9:{port}"
