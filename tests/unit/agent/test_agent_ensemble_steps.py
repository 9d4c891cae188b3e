"""A server of an ensemble, and a broker in ZooKeeper mode, between plaintext and TLS, step by step."""

from pathlib import Path

import pytest

from agent.documents import Accepted, DocumentRejected, judge_document
from agent.services.properties import server_properties
from agent.services.zoo_cfg import first_membership, static_config, write_configuration
from agent.wire import ServiceDocument, ServiceTls
from agent.wire_tls import TlsStep
from agent.wire_versions import ENSEMBLE_STEP_WIRE_VERSION
from tests.unit.agent.test_agent_rendering import LOG_DIRS, check
from tests.unit.agent.test_agent_tls_rendering import AT_2182, SUPER_USERS, TLS_DIR, TLS_OLD_BROKER, TLS_SERVER
from tests.unit.agent.wanted import ENSEMBLE, boot_data, document

DIRECTORY = Path("/vm/volumes/zookeeper/zookeeper")


def at(step: TlsStep) -> ServiceDocument:
    tls = ServiceTls(super_users=SUPER_USERS, step=step)
    if step.startswith("B"):
        listeners = TLS_OLD_BROKER.tls.listeners if TLS_OLD_BROKER.tls is not None else ()
        return TLS_OLD_BROKER.model_copy(update={"tls": tls.model_copy(update={"listeners": listeners})})
    ensemble = ENSEMBLE if step == "Z1" else AT_2182
    return TLS_SERVER.model_copy(update={"tls": tls.model_copy(update={"plain_port": 2181}), "ensemble": ensemble})


def _lines(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def zoo_cfg(service: ServiceDocument) -> dict[str, str]:
    return _lines(static_config(service, DIRECTORY, DIRECTORY / "zoo.cfg.dynamic", tls_dir=TLS_DIR))


def broker(step: TlsStep) -> dict[str, str]:
    return _lines(server_properties(at(step), log_dirs=LOG_DIRS, tls_dir=TLS_DIR))


@pytest.mark.parametrize("step", ["Z1", "Z2"])
def test_zoo_cfg(step: TlsStep) -> None:
    directory = DIRECTORY / "zoo.cfg.dynamic"
    check(f"zoo-{step.lower()}.cfg", static_config(at(step), DIRECTORY, directory, tls_dir=TLS_DIR))


@pytest.mark.parametrize("step", ["B1", "B2"])
def test_server_properties(step: TlsStep) -> None:
    name = f"broker-zookeeper-{step.lower()}.properties"
    check(name, server_properties(at(step), log_dirs=LOG_DIRS, tls_dir=TLS_DIR))


def test_servers_dial_one_another_by_tls_only_once_all_of_them_take_it() -> None:
    one, two, over = (zoo_cfg(service) for service in (at("Z1"), at("Z2"), TLS_SERVER))
    assert [c["sslQuorum"] for c in (one, two, over)] == ["false", "true", "true"]
    assert [c.get("portUnification") for c in (one, two, over)] == ["true", "true", None]


def test_the_port_in_plaintext_is_served_until_the_last_step() -> None:
    one, two, over = (zoo_cfg(service) for service in (at("Z1"), at("Z2"), TLS_SERVER))
    assert [(c.get("clientPort"), c["secureClientPort"]) for c in (one, two, over)] == [
        ("2181", "2182"),
        ("2181", "2182"),
        (None, "2182"),
    ]


def test_brokers_make_nothing_their_own_before_all_of_them_have_certificates() -> None:
    assert "zookeeper.set.acl" not in broker("B1")
    assert broker("B2")["zookeeper.set.acl"] == "true"
    assert "authorizer.class.name" not in broker("B1")
    assert "User:ANONYMOUS" in broker("B2")["super.users"]


def test_brokers_speak_to_one_another_by_tls_only_at_the_second_step() -> None:
    names = [broker(step)["inter.broker.listener.name"] for step in ("B1", "B2")]
    assert names == ["PLAINTEXT", "REPLICATION"]
    assert "CONTROL" not in broker("B1")["listener.security.protocol.map"]
    assert broker("B1")["zookeeper.connect"] == "10.0.1.1:2182,10.0.1.2:2182,10.0.1.3:2182"


def test_a_newcomer_of_the_first_step_says_where_it_listens_in_plaintext() -> None:
    newcomer = at("Z1").model_copy(update={"node_id": 9, "address": "10.0.1.9", "founder": False})
    assert first_membership(newcomer).splitlines()[-1] == "server.9=10.0.1.9:2888:3888:observer;10.0.1.9:2181"
    assert ";" not in first_membership(at("Z2").model_copy(update={"node_id": 9, "address": "10.0.1.9"}))


def test_one_that_was_away_while_the_membership_lost_its_ports_opens_none(tmp_path: Path) -> None:
    (tmp_path / "zoo.cfg.dynamic.100000000").write_text(first_membership(at("Z1")))
    write_configuration(at("Z2"), tmp_path, tls_dir=TLS_DIR)
    assert ";10.0.1.1:2181" in (tmp_path / "zoo.cfg.dynamic.100000000").read_text()
    write_configuration(TLS_SERVER, tmp_path, tls_dir=TLS_DIR)
    assert (tmp_path / "zoo.cfg.dynamic.100000000").read_text() == first_membership(TLS_SERVER)


@pytest.mark.parametrize(("step", "name"), [("Z1", "broker"), ("B1", "zookeeper"), ("C1", "zookeeper")])
def test_a_step_of_another_service_is_refused(step: TlsStep, name: str) -> None:
    own = at("B1") if name == "broker" else at("Z1")
    assert own.tls is not None
    other = own.model_copy(update={"tls": own.tls.model_copy(update={"step": step})})
    refused = _judged(other, ENSEMBLE_STEP_WIRE_VERSION)
    assert isinstance(refused, DocumentRejected)
    assert f"{step} is no step of a {name}" in refused.reason


@pytest.mark.parametrize("step", ["Z1", "Z2", "B1", "B2"])
def test_each_is_a_document_of_version_5(step: TlsStep) -> None:
    assert isinstance(_judged(at(step), ENSEMBLE_STEP_WIRE_VERSION), Accepted)


def _judged(service: ServiceDocument, wire: int) -> Accepted | DocumentRejected:
    told = document(service).model_copy(update={"wire": wire})
    return judge_document(told.model_dump_json().encode(), boot=boot_data(), current=None)
