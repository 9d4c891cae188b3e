"""Does the scan of doors notice an open one? Doors of Python's own ssl, each open in one way."""

import os
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from controlplane.storage.certificates.building import key_pem
from controlplane.storage.certificates.cluster_authority import NODE_LIFE, ClusterAuthorities, founded
from events.ids import ClusterUid
from tests.e2e.doors import Admits, Door, Scan, doors_of, stranger, told

NOW = datetime.now(UTC)


@pytest.fixture(scope="module")
def authorities() -> ClusterAuthorities:
    return founded(ClusterUid("c1"), now=NOW)


@pytest.fixture(scope="module")
def node(authorities: ClusterAuthorities, tmp_path_factory: pytest.TempPathFactory) -> Path:
    key, uses = ec.generate_private_key(ec.SECP256R1()), (ExtendedKeyUsageOID.SERVER_AUTH,)
    leaf = authorities.cluster.sign(
        key.public_key(), "node", addresses=["127.0.0.1"], uses=uses, life=NODE_LIFE, now=NOW
    )
    path = tmp_path_factory.mktemp("node") / "node.pem"
    path.write_text(f"{key_pem(key)}\n{leaf.pem}")
    return path


@pytest.fixture
def scan(authorities: ClusterAuthorities, tmp_path: Path) -> Scan:
    foreign = founded(ClusterUid("c2"), now=NOW).cluster
    return Scan(
        {},
        strangers={"a node of another cluster": stranger(tmp_path, "kedge-node-1", foreign)},
        clients=stranger(tmp_path, "alice", authorities.clients),
    )


@contextmanager
def a_door(context: ssl.SSLContext | None) -> Iterator[Door]:
    """Answers eight bytes of the right id to whoever gets in."""
    listening = socket.create_server(("127.0.0.1", 0))
    leaving = threading.Event()

    def serve() -> None:
        while not leaving.is_set():
            try:
                raw, _ = listening.accept()
            except OSError:
                return
            try:
                line = context.wrap_socket(raw, server_side=True) if context is not None else raw
                with line:
                    line.settimeout(3)
                    (length,) = struct.unpack(">i", line.recv(4))
                    assert 0 < length < 100
                    line.recv(length)
                    line.sendall(struct.pack(">ii", 4, 7))
            except (OSError, struct.error, AssertionError):
                raw.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield Door("127.0.0.1", listening.getsockname()[1])
    finally:
        leaving.set()
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(5)


def context_of(node: Path, *, believes: str = "", oldest: str = "1.2", ciphers: str = "") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(node)
    if believes:
        context.load_verify_locations(cadata=believes)
        context.verify_mode = ssl.CERT_REQUIRED
    if oldest == "1.0":
        context.minimum_version = ssl.TLSVersion.TLSv1
    if ciphers:
        context.set_ciphers(ciphers)
    return context


def ways(scan: Scan, door: Door, admits: Admits | None) -> list[str]:
    declared = {door: admits} if admits is not None else {}
    return [one.way for one in Scan(declared, scan.strangers, scan.clients).openings([door])]


def test_a_door_of_nodes_that_asks_for_their_ca_is_shut(
    authorities: ClusterAuthorities, node: Path, scan: Scan
) -> None:
    with a_door(context_of(node, believes=authorities.cluster.pem)) as door:
        assert ways(scan, door, "nodes") == []
        assert ways(scan, door, None) == ["listens, and was not declared"]


def test_a_door_in_plaintext_is_found_unless_it_was_declared_so(scan: Scan) -> None:
    with a_door(None) as door:
        assert ways(scan, door, "nodes") == ["answers in plaintext"]
        assert ways(scan, door, "anybody") == []


def test_a_door_that_asks_nobody_is_found_by_every_certificate_and_by_none(node: Path, scan: Scan) -> None:
    with a_door(context_of(node)) as door:
        assert ways(scan, door, "nodes") == [
            "answers over TLS to nobody",
            "answers to a client's certificate",
            "answers to a node of another cluster",
        ]
        assert ways(scan, door, "anybody over TLS") == []


def test_a_door_that_believes_the_ca_of_clients_is_one_of_clients_alone(
    authorities: ClusterAuthorities, node: Path, scan: Scan
) -> None:
    with a_door(context_of(node, believes=authorities.clients.pem)) as door:
        assert ways(scan, door, "nodes") == ["answers to a client's certificate"]
        assert ways(scan, door, "certified clients") == []


def test_a_door_that_speaks_old_tls_is_found(authorities: ClusterAuthorities, node: Path, scan: Scan) -> None:
    old = context_of(node, believes="", oldest="1.0", ciphers="ALL:@SECLEVEL=0")
    with a_door(old) as door:
        assert set(ways(scan, door, "anybody over TLS")) >= {"shakes hands in TLS 1.0", "shakes hands in TLS 1.1"}


def test_a_door_with_ciphers_that_hide_or_prove_nothing_is_found(node: Path, scan: Scan) -> None:
    for ciphers, way in (
        ("eNULL:@SECLEVEL=0", "shakes hands with a null cipher"),
        ("aNULL:@SECLEVEL=0", "shakes hands with an anonymous cipher"),
    ):
        context = context_of(node, ciphers=ciphers)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with a_door(context) as door:
            assert way in ways(scan, door, "anybody over TLS")


def test_doors_are_told_by_address_port_and_way(scan: Scan) -> None:
    with a_door(None) as door:
        assert door in doors_of([os.getpid()])
        openings = Scan({door: "nodes"}).openings([door])
        assert told(openings) == f"127.0.0.1:{door.port} answers in plaintext"
