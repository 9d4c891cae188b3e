"""By what an agent is known to brokers of its own cluster: its node's certificate, and another client with another."""

import os
from pathlib import Path

from agent.kafka_tls import BrokerTask, at_brokers, node_tls
from agent.layout import AgentLayout
from agent.wire import Heartbeats, ServiceTls
from tests.unit.agent.wanted import broker, document

SECURED = Heartbeats(topic="t", targets=(), secured=True)
PLAIN = Heartbeats(topic="t", targets=())
TOLD = document(broker(port=9091, tls=ServiceTls(super_users=("User:CN=kedge-node-1",))))


def test_in_plaintext_nothing_is_shown(tmp_path: Path) -> None:
    assert node_tls(document(broker()), AgentLayout(tmp_path)) is None
    assert node_tls(None, AgentLayout(tmp_path)) is None
    task = at_brokers(PLAIN, None)
    assert task == BrokerTask(PLAIN)
    assert task.properties == {}


def test_what_needs_the_certificate_waits_for_it(tmp_path: Path) -> None:
    layout = AgentLayout(tmp_path)
    assert at_brokers(SECURED, node_tls(TOLD, layout)) is None
    folder = layout.tls_dir("broker")
    folder.mkdir(parents=True)
    (folder / "node.pem").write_text("a key and its certificate")
    task = at_brokers(SECURED, node_tls(TOLD, layout))
    assert task is not None
    assert task.properties == {
        "security.protocol": "ssl",
        "ssl.ca.location": str(folder / "cluster-ca.pem"),
        "ssl.certificate.location": str(folder / "node.pem"),
        "ssl.key.location": str(folder / "node.pem"),
    }
    assert at_brokers(PLAIN, node_tls(TOLD, layout)) == BrokerTask(PLAIN), "elsewhere it is not shown"
    os.utime(folder / "node.pem", ns=(1, 1))
    assert at_brokers(SECURED, node_tls(TOLD, layout)) != task, "another certificate asks for another client"


def test_nothing_to_do_is_nothing() -> None:
    assert at_brokers(None, None) is None
