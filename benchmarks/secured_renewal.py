"""Renewal of the certificates of six nodes on real brokers, by Kedge itself, while clients write.

The dates on record are moved back by 250 of the 365 days that a certificate counts for, with the server stopped: what
nodes show is as young as they are, and Kedge goes by its records. Which serial a listener serves is read here, by a
handshake with each before and after.
"""

import socket
import ssl
import tempfile
import time
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509

from benchmarks.loaded import FOUNDED_WITHIN_S, audited
from controlplane.storage.streams import cluster_stream
from events import codec, facts
from events.engine import build_engine
from events.envelope import Origin
from events.ids import ClusterUid, derived_id
from events.sql_store import SqlEventStore
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

AGED = timedelta(days=250)
"""A certificate is due after two thirds of its life, and urgent with a twelfth of it left."""
RENEWED_WITHIN_S = 600.0
TLS_PORT = 9094
PORTS: Mapping[str, tuple[int, ...]] = {"controller": (9090,), "broker": (9091, TLS_PORT)}
"""Where a node shows its certificate, by its service."""
SPEC = ClusterSpec(name="renewed", tls=True, controllers=3, join_deadline_s=300)

Listener = tuple[str, int]


def renewal(scale: float) -> dict[str, Any]:
    """`restarts`: of nodes, in place. `old_serials_served`: listeners that show the certificate of before. The scale is
    not used: it is always six nodes."""
    with tempfile.TemporaryDirectory(prefix="kedge-renewal-") as work:
        cluster = LivingCluster(Path(work) / "home", spec=SPEC)
        try:
            cluster.open(within_s=FOUNDED_WITHIN_S)
            return _renewed(cluster)
        finally:
            cluster.close()


def _renewed(cluster: LivingCluster) -> dict[str, Any]:
    client = {"security.protocol": "ssl", "ssl.ca.pem": cluster.client.endpoints(cluster.spec.name).ca}
    before, vms = _served(cluster), {i.key for i in cluster.detail().instances}
    with traffic(cluster.bootstrap, client=client, client_port=TLS_PORT) as workload:
        at, began = cluster.head(), time.monotonic()
        _age(cluster)
        cluster.event("certificate.restart_requested", at, within_s=RENEWED_WITHIN_S)
        cluster.event("rolling_restart.completed", at, within_s=RENEWED_WITHIN_S)
        cluster.converged(within_s=RENEWED_WITHIN_S)
        took_s = time.monotonic() - began
    after, told = _served(cluster), [event.type for event in cluster.events(at)]
    return {
        "nodes": len(vms),
        "restarts": told.count("restart.completed"),
        "new_vms": len({i.key for i in cluster.detail().instances} - vms),
        "listeners": len(after),
        "old_serials_served": sum(1 for listener, serial in after.items() if before[listener] == serial),
        "renewed_s": round(took_s, 1),
        **audited(workload),
        "duplicated": 0,
        "floor": {"old_serials_served": 0, "new_vms": 0},
    }


def _age(cluster: LivingCluster) -> None:
    """Has the last certificate of each node be older on record; the server is stopped for it."""
    issued = {event.data["key"]: event.data for event in cluster.events() if event.type == "certificate.issued"}
    older = [_older(data) for data in issued.values()]
    cluster.server.stop()
    engine, stream = build_engine(f"sqlite:///{cluster.home / 'kedge.db'}"), cluster_stream(ClusterUid(cluster.uid))
    try:
        store = SqlEventStore(engine)
        version = store.read_stream(stream)[-1].version
        events = [codec.encode(one, derived_id("aged", one.key, one.serial)) for one in older]
        store.append(stream, events, expected_version=version, origin=Origin(actor="benchmark"))
    finally:
        engine.dispose()
    cluster.start_server()


def _older(data: Mapping[str, Any]) -> facts.CertificateIssued:
    since, until = (datetime.fromisoformat(data[name]) - AGED for name in ("since", "until"))
    return facts.CertificateIssued(data["key"], data["serial"], since, until)


def _served(cluster: LivingCluster) -> dict[Listener, int]:
    """The serial of each TLS listener of each node, by address and port."""
    return {listener: _serial(*listener) for listener in _listeners(cluster)}


def _listeners(cluster: LivingCluster) -> Iterable[Listener]:
    for instance in cluster.detail().instances:
        for port in PORTS[instance.service]:
            yield instance.address, port


def _serial(host: str, port: int) -> int:
    """Of what is shown to whoever comes. A server that asks for a certificate refuses after it has shown its own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection((host, port), 10) as raw, context.wrap_socket(raw) as line:
        shown = line.getpeercert(binary_form=True)
    if not shown:
        raise RuntimeError(f"{host}:{port} shows no certificate")
    return x509.load_der_x509_certificate(shown).serial_number
