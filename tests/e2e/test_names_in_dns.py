"""Names in a real DNS server follow a roll of real brokers: a record goes only after its replacement serves."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from pydantic import SecretStr

from controlplane.api.schemas import commands as command_api
from providers.dns.rfc2136 import TsigKey, UpdatedZone
from providers.dns.zone import NOTHING
from providers.errors import CloudUnavailable
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic
from tests.fakes.bind import Bind, running_bind

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(400)]

NAME = "named.kafka.example.com"
SPEC = ClusterSpec(name="named", dns=NAME)


@pytest.fixture(scope="module")
def bind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bind]:
    with running_bind(tmp_path_factory.mktemp("bind")) as running:
        yield running


def test_the_names_of_a_cluster_follow_its_roll(living_cluster: LivingCluster, bind: Bind, tmp_path: Path) -> None:
    cluster, zone = living_cluster, _zone(bind)
    cluster.serve_with(_settings(bind, tmp_path / "key"))
    first = cluster.until(lambda: zone.read(NAME).addresses, "the bootstrap name", timeout_s=30)
    assert first == {i.address for i in cluster.detail().instances if i.service == "broker"}
    before = zone.read(f"one-a-0.{NAME}")
    assert before.ttl_s == 30
    with _watched(zone, f"one-a-0.{NAME}") as seen, traffic(cluster.bootstrap):
        cluster.roll("one")
        settled(cluster)
    after = cluster.instance("one-a-0").address
    cluster.until(lambda: zone.read(NAME).addresses == (first - before.addresses) | {after}, "the roll", timeout_s=30)
    assert seen[0] == before.addresses
    assert seen[-1] == {after}
    assert all(len(addresses) == 1 for addresses in seen), "the node was without a name, or had two"


@contextmanager
def _watched(zone: UpdatedZone, name: str) -> Iterator[list[frozenset[str]]]:
    """What a name says, each value once, until a moment after the block has ended. Each must answer as a broker."""
    seen: list[frozenset[str]] = []
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.3):
            with suppress(CloudUnavailable):
                told = zone.read(name).addresses
                if not seen or told != seen[-1]:
                    seen.append(told)
                    for address in told:
                        socket.create_connection((address, 9092), timeout=5).close()

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield seen
        time.sleep(3)
    finally:
        over.set()
        watcher.join()


def test_a_deleted_cluster_leaves_no_name(living_cluster: LivingCluster, bind: Bind) -> None:
    cluster, zone = living_cluster, _zone(bind)
    cluster.client.delete(SPEC.name, command_api.DeleteIn(confirm=SPEC.name, reason="over"))
    for name in (NAME, f"one-a-0.{NAME}", f"controllers-a-0.{NAME}"):
        cluster.until(lambda name=name: zone.read(name) == NOTHING, f"{name} is gone", timeout_s=150)  # type: ignore[misc]


def _zone(bind: Bind) -> UpdatedZone:
    return UpdatedZone(bind.zone, "127.0.0.1", bind.port, TsigKey("kedge", "hmac-sha256", SecretStr(bind.secret)))


def _settings(bind: Bind, key: Path) -> dict[str, str]:
    key.write_text(bind.secret)
    key.chmod(0o600)
    own = {"zone": bind.zone, "kind": "rfc2136", "server": "127.0.0.1", "port": bind.port}
    return {"KEDGE_DNS": json.dumps([{**own, "key_name": "kedge", "key_file": str(key)}]), "KEDGE_DNS_POLL_S": "1"}
