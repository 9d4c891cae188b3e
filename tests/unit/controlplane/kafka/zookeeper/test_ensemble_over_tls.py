"""An ensemble whose servers speak TLS: who belongs to it, and how it is asked."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent import four_letters
from agent.certification import made_aside
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.zookeeper.ensemble import KazooEnsemble
from controlplane.kafka.zookeeper.errors import ZooKeeperUnavailable
from controlplane.kafka.zookeeper.four_letter_words import health_of
from controlplane.kafka.zookeeper.live_registry import KazooRegistry
from controlplane.kafka.zookeeper.members import SECURE_PORT, MemberHealth, ZooKeeperMember, parse_config
from controlplane.storage.certificates.cluster_authority import founded
from events.ids import ClusterUid

HERE = "127.0.0.1"
CONFIG = """server.1=10.0.0.1:2888:3888:participant
server.2=10.0.0.2:2888:3888:observer
version=100000033
"""


def test_members_without_a_port_in_plaintext_are_read_and_written_without_one() -> None:
    found = parse_config(CONFIG)
    assert [(m.endpoint, m.role) for m in found.members] == [
        (f"10.0.0.1:{SECURE_PORT}", "participant"),
        (f"10.0.0.2:{SECURE_PORT}", "observer"),
    ]
    assert [m.line for m in found.members] == CONFIG.splitlines()[:2]
    plain = ZooKeeperMember(3, "10.0.0.3")
    assert parse_config(f"{plain.line}\nversion=1\n").members == (plain,)


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """The files of a node."""
    now, asked = datetime.now(UTC), made_aside()
    authorities = founded(ClusterUid("c1"), now=now)
    leaf = authorities.certify_node(asked.csr_pem, (HERE,), now=now).pem
    (tmp_path / "node.pem").write_text(f"{asked.key_pem}\n{leaf}{authorities.cluster.pem}")
    (tmp_path / "cluster-ca.pem").write_text(authorities.cluster.pem)
    return tmp_path


@pytest.fixture
def server(node: Path) -> Iterator[ZooKeeperMember]:
    """A server that leads, for whoever has a certificate of its CA."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = ssl.TLSVersion.TLSv1_2  # as ZooKeeper 3.8
    context.load_cert_chain(node / "node.pem")
    context.load_verify_locations(node / "cluster-ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    with closing(socket.create_server((HERE, 0))) as listening:
        member = ZooKeeperMember(1, HERE, listening.getsockname()[1])

        def serve() -> None:
            with suppress(OSError):
                while True:
                    raw, _ = listening.accept()
                    with suppress(OSError), raw, context.wrap_socket(raw, server_side=True) as talk:
                        talk.recv(16)
                        talk.sendall(b"Mode: leader\nZxid: 0x10\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield member
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def _context(node: Path, *, shows_itself: bool) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(node / "cluster-ca.pem"))
    if shows_itself:
        context.load_cert_chain(node / "node.pem")
    return context


def test_who_has_a_certificate_is_told_how_it_stands_and_nobody_else(server: ZooKeeperMember, node: Path) -> None:
    told = health_of(server, timeout_s=5, tls=_context(node, shows_itself=True))
    assert told == MemberHealth(1, mode="leader", zxid=16)
    for context in (_context(node, shows_itself=False), None):
        refused = health_of(server, timeout_s=5, tls=context)
        assert not refused.serves
        assert refused.problem


def test_an_agent_asks_the_server_on_its_vm_as_the_node_it_is(server: ZooKeeperMember, node: Path) -> None:
    known = _context(node, shows_itself=True)
    assert four_letters.probe(server.address, server.port, known).state == "up"
    assert four_letters.probe(server.address, server.port).state == "down"


def test_where_nobody_signs_for_this_server_yet_it_waits_with_the_reason() -> None:
    def unsigned() -> ssl.SSLContext | None:
        raise KafkaUnavailable(what="signing", where="orders", why="none was made yet")

    members = [ZooKeeperMember(1, HERE, 1)]
    ensemble = KazooEnsemble("orders", lambda: members, password="", tls=unsigned)
    seen = ensemble.look()
    assert (seen.config, seen.of(1).serves) == (None, False)
    assert "was not asked: none was made yet" in seen.of(1).problem
    with pytest.raises(ZooKeeperUnavailable, match="none was made yet"):
        ensemble.leave(1, from_version=1)
    with pytest.raises(ZooKeeperUnavailable, match="none was made yet"):
        KazooRegistry("orders", lambda: [m.endpoint for m in members], tls=unsigned).look()
