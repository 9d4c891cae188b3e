"""Two small clusters on one server that are a pair, each VM with a network of its own, and clients on a machine that is
neither's: what Kedge shuts is shut for them alone."""

import json
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path

import yaml
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from controlplane.api.schemas import failovers as api, specs as spec_api
from controlplane.kafka.audit import RecordName, read_names, record
from events.secrets import secret
from providers.dns.rfc2136 import TsigKey, UpdatedZone
from providers.local.namespaces import Namespaces, inside, sweep
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.fakes.bind import Bind

CLIENTS = "198.18.1.1"
"""Of the bridge, and of no VM."""
_PRODUCER = 7
EU, US, PAIR, TOPIC, NAME = "eu", "us", "orders", "payments", "orders.kafka.example.com"
SETTINGS = {"KEDGE_CLOUDS__VM_NETWORK": "namespaces"}


def spec_of(name: str, *brokers_in: str) -> ClusterSpec:
    return ClusterSpec(name=name, brokers_in=brokers_in or ("one", "two"))


def dns_settings(bind: Bind, key: Path) -> dict[str, str]:
    key.write_text(bind.secret)
    key.chmod(0o600)
    own = {"zone": bind.zone, "kind": "rfc2136", "server": "127.0.0.1", "port": bind.port, "key_name": "kedge"}
    return {"KEDGE_DNS": json.dumps([{**own, "key_file": str(key)}]), "KEDGE_DNS_POLL_S": "1"}


def zone_of(bind: Bind) -> UpdatedZone:
    return UpdatedZone(bind.zone, "127.0.0.1", bind.port, TsigKey("kedge", "hmac-sha256", secret(bind.secret)))


@dataclass(frozen=True)
class Pair:
    """`living` keeps the server and the first cluster."""

    living: LivingCluster
    machine: Path
    """Where clients are."""

    def apply(self, *documents: dict[str, object]) -> None:
        text = yaml.safe_dump_all(documents, sort_keys=False)
        done = self.living.client.apply(spec_api.ApplyIn(text=text, file="pair.yaml", message="e2e"))
        assert done.ok, done.problems

    def state(self) -> api.FailoverOut:
        return self.living.client.failover(PAIR)

    def has_topics(self, *names: str) -> None:
        """They are there, and have leaders."""

        def look() -> bool | None:
            found = self.living.snapshot_at(self.brokers(EU)).by_topic
            return (names and all(n in found and all(p.leader >= 0 for p in found[n]) for n in names)) or None

        self.living.until(look, "the topics", timeout_s=120)

    def until_state(self, *states: str, primary: str = "", within_s: float = 90) -> api.FailoverOut:
        def look() -> api.FailoverOut | None:
            found = self.state()
            return found if found.state in states and primary in ("", found.primary) else None

        return self.living.until(look, f"the pair to be {states} {primary}", timeout_s=within_s)

    def copy(self) -> api.CopyOut:
        """Of a warm pair."""
        found = self.state().copy_to_standby
        assert found is not None
        return found

    def until_copied(self, *, within_s: float = 120) -> api.CopyOut:
        """Waits until the standby has all, which nobody writes to meanwhile."""

        def look() -> api.CopyOut | None:
            copy = self.copy()
            return copy if copy.lag_records == 0 and not copy.problem else None

        return self.living.until(look, "the copy to have all", timeout_s=within_s)

    def order(self, *, planned: bool = True, accept_loss: bool = False) -> float:
        """Asks for a failover; when that was, by the monotonic clock."""
        wanted = api.FailoverOrderIn(planned=planned, accept_loss=accept_loss, confirm=PAIR, reason="e2e")
        at = time.monotonic()
        self.living.client.order_failover(PAIR, wanted)
        return at

    def brokers(self, cluster: str) -> list[str]:
        """Addresses of its brokers' listeners for clients."""
        detail = self.living.client.cluster(cluster)
        return sorted(f"{one.address}:9092" for one in detail.instances if one.service == "broker")

    def broker_keys(self, cluster: str) -> list[str]:
        return [one.key for one in self.living.client.cluster(cluster).instances if one.service == "broker"]

    def knocked(self, cluster: str) -> set[str]:
        """What clients hear at each of its brokers: `open`, or `refused`."""
        return {inside(self.machine, partial(knock, at)) for at in self.brokers(cluster)}

    def names(self, cluster: str) -> set[RecordName]:
        """Records that are in the topic of that cluster."""
        return set(read_names(",".join(self.brokers(cluster)), [TOPIC], timeout_s=60).values())


def knock(at: str) -> str:
    host, _, port = at.partition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except ConnectionRefusedError:
        return "refused"
    except OSError as error:
        return type(error).__name__
    return "open"


@dataclass
class MovingClient:
    """A producer that is given both clusters' brokers, as by the pair's name. `acked`: records it was promised, with
    when. On its way back librdkafka dies of its own past (docs/producers.md): it is started anew then, in `restarts`,
    and what it held by then is in `given_up`."""

    bootstrap: Sequence[str]
    acked: list[tuple[float, RecordName]] = field(default_factory=list)
    given_up: list[str] = field(default_factory=list)
    restarts: list[float] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        producer, number = self._producer(), 0
        while not self._over.wait(0.02):
            name = (_PRODUCER, number)
            try:
                producer.produce(TOPIC, record(name, 200), on_delivery=self._heard(name))
                number += 1
            except BufferError:
                pass  # held while nobody takes them: it goes on with the same record
            except KafkaException as error:
                if error.args[0].code() != KafkaError._FATAL:
                    raise
                producer = self._producer()  # what the dead one holds is never delivered, nor told of
                self.restarts.append(time.monotonic())
            producer.poll(0)
        assert producer.flush(60) == 0

    def _producer(self) -> Producer:
        return Producer(
            {
                "bootstrap.servers": ",".join(self.bootstrap),
                "enable.idempotence": True,
                "delivery.timeout.ms": 120_000,
                "reconnect.backoff.max.ms": 1000,
                "topic.metadata.refresh.interval.ms": 5000,
                "log_level": 0,
            }
        )

    def stop(self) -> None:
        self._over.set()

    def _heard(self, name: RecordName) -> Callable[[KafkaError | None, Message], None]:
        def heard(error: KafkaError | None, message: Message) -> None:
            if error is None:
                self.acked.append((time.monotonic(), name))
            else:
                self.given_up.append(str(error))

        return heard

    def is_taken_now(self, living: LivingCluster, *, timeout_s: float = 60) -> None:
        """Waits for an acknowledgement from here on, behind which a pause is over."""
        now = time.monotonic()
        living.until(lambda: self.acked[-1][0] > now or None, "records there", timeout_s=timeout_s)

    def pause_after(self, at: float) -> float:
        """The longest time without an acknowledgement since then, seconds."""
        times = [at, *(when for when, _ in self.acked if when > at)]
        return max((after - before for before, after in pairwise(times)), default=float("inf"))


@contextmanager
def moving_client(pair: Pair, *clusters: str) -> Iterator[MovingClient]:
    """It is given the brokers of both, or of those."""
    client = MovingClient([at for cluster in clusters or (EU, US) for at in pair.brokers(cluster)])
    thread = threading.Thread(target=lambda: inside(pair.machine, client.run))
    thread.start()
    try:
        pair.living.until(lambda: client.acked or None, "the first record", timeout_s=30)
        yield client
    finally:
        client.stop()
        thread.join(90)


@contextmanager
def a_pair(home: Path, bind: Bind, *, eu: ClusterSpec | None = None, us: ClusterSpec | None = None) -> Iterator[Pair]:
    """Both clusters converged, without topics; no pair is declared yet."""
    settings = {**SETTINGS, **dns_settings(bind, home.parent / "dns.key")}
    first, second = eu or spec_of(EU), us or spec_of(US)
    living, machine = LivingCluster(home, spec=first, settings=settings), home.parent / "clients"
    machine.mkdir()
    (machine / "boot.json").write_text(json.dumps({}))
    try:
        living.start_server()
        pair = Pair(living, machine)
        for spec in (second, first):
            living.uid = living.declare(spec).uid
        living.converged(within_s=300)
        living.until(lambda: living.client.cluster(US).status == "Converged" or None, "both", timeout_s=240)
        Namespaces().open(machine, [CLIENTS])
        yield pair
    finally:
        shutil.rmtree(machine)
        strays = living.close()
        sweep()
    assert strays == []


def topic_documents(*names: str, partitions: int = 4, replicas: int = 2) -> list[dict[str, object]]:
    spec = {"cluster": EU, "partitions": partitions, "replicas": replicas, "config": {"min.insync.replicas": "1"}}
    head = {"apiVersion": "kedge/v1alpha1", "kind": "KafkaTopic"}
    return [{**head, "metadata": {"name": name}, "spec": spec} for name in names]


def pair_document(*, size: int = 2) -> dict[str, object]:
    return _pair({"mode": "cold", "standby": {"size": size}})


def warm_document() -> dict[str, object]:
    return _pair({"mode": "warm", "replication": {"heapMib": 256}})


def _pair(mode: dict[str, object]) -> dict[str, object]:
    spec = {"clusters": [EU, US], "bootstrap": {"dns": NAME, "ttl": "1s"}, **mode}
    return {"apiVersion": "kedge/v1alpha1", "kind": "KafkaFailover", "metadata": {"name": PAIR}, "spec": spec}
