"""One warm tick of a large fleet at rest: 10,000 converged clusters of 6 VMs on the real store and the real loop.

What is outside is simulated: a cloud that lists 60,000 VMs, agents' reports in the latest-value table, brokers that
answer with a small metadata digest. Each cluster is really looked at (`rest_s=0`); nothing may be done to any.
"""

import resource
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, cast

from sqlalchemy import insert, update

from agent.wire import Report
from controlplane.cluster.observed.agent_reports import AGENT_REPORT
from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.ports import Ports
from controlplane.converger.tick.inventory import ListedInventory
from controlplane.converger.tick.loop import Converger
from controlplane.kafka.gateway import KafkaGateway
from controlplane.storage import migrate
from controlplane.storage.job_store import SqlJobStore
from controlplane.storage.latest_values import LatestValue, SqlLatestStore, Subject
from controlplane.storage.plan_store import SqlPlanStore
from controlplane.storage.streams import cluster_stream
from events.clock import utc_now
from events.engine import build_engine, writing
from events.envelope import Recorded
from events.ids import ClusterUid, Epoch
from events.sql_store import SqlEventStore
from events.tables import COUNTER, EVENT
from planner.drain.request import DrainRequest
from planner.observed import KafkaSnapshot, PartitionSeen
from planner.rebalancing.request import RebalanceRequest
from providers.base import (
    CloudInstance,
    CloudProvider,
    CloudVolume,
    InstanceState,
    Listing,
    Place,
    Resources,
    TerraformRun,
)
from tests.builders import a_document
from tests.sim.world import UID, World

CLUSTERS = 10_000
ACCOUNTS = 20
PARTITIONS = 12
FLOORS = {"seconds": 10.0, "terraform_runs": 0, "rss_mib": 2048}


def main() -> dict[str, object]:
    """Floors: 10 s for the warm tick, no Terraform run, under 2 GiB."""
    return measured(CLUSTERS)


def measured(clusters: int) -> dict[str, object]:
    """The figures for a fleet of that size. Raises AssertionError when the tick did anything."""
    with tempfile.TemporaryDirectory(prefix="kedge-benchmark-") as directory:
        fleet = Fleet(Path(directory), clusters)
        cpu_before_fold = time.process_time()
        cold_fold_s = _timed(fleet.converger.catch_up)
        cold_fold_cpu_s = time.process_time() - cpu_before_fold
        first_tick_s = _timed(fleet.converger.tick)  # reads each cluster's metadata once
        began, cpu_began = time.monotonic(), time.process_time()
        report = fleet.converger.tick()
        seconds, cpu_s = time.monotonic() - began, time.process_time() - cpu_began
    if (report.clusters, report.failures) != (clusters, 0):
        raise AssertionError(f"{report.clusters} of {clusters} clusters were looked at, {report.failures} failed")
    return {
        "clusters": report.clusters,
        "vms": fleet.cloud.size,
        "stored_events": fleet.stored_events,
        "seconds": round(seconds, 2),
        "cpu_s": round(cpu_s, 2),  # what a busy machine does not change
        "cold_fold_s": round(cold_fold_s, 2),
        "cold_fold_cpu_s": round(cold_fold_cpu_s, 2),
        "first_tick_s": round(first_tick_s, 2),
        "terraform_runs": fleet.runner.runs,
        "events": report.events,
        "effects": report.effects,
        "rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "floors": FLOORS,
    }


class Fleet:
    """Clusters that are all copies of one that the simulator brought up, and a converger on their real store.

    `partitions`, where given, is what Kafka of each of them has; brokers are 1000 to 1002.
    """

    def __init__(
        self,
        directory: Path,
        clusters: int,
        *,
        partitions: tuple[PartitionSeen, ...] = (),
        rest_s: float = 0.0,
    ) -> None:
        world = _converged_world()
        uids = [ClusterUid(f"{number:032x}") for number in range(clusters)]
        url = f"sqlite:///{directory}/tick.db"
        migrate.upgrade(url)
        engine = build_engine(url)
        store, latest = SqlEventStore(engine), SqlLatestStore(build_engine(url, durable=False))
        self.stored_events = _record(store, world.history(), uids)
        _report(latest, world, uids)
        self.cloud = ListedFleet(world, uids)
        self.runner = CountingRunner()
        snapshot = replace(world.kafka.snapshot(), at=utc_now())
        snapshot = replace(snapshot, partitions=partitions) if partitions else snapshot
        self.engine, self.store, self.latest = engine, store, latest
        self.converger = Converger(
            Ports(
                store=store,
                jobs=SqlJobStore(engine),
                plans=SqlPlanStore(engine),
                latest=latest,
                inventory=ListedInventory(lambda _name: cast(CloudProvider, self.cloud), utc_now),
                runner=self.runner,
                kafka=lambda _view: cast(KafkaGateway, DigestGateway(snapshot)),
                boot_data=lambda uid, node, generation, intent: "",
                installation_id="benchmark",
                clock=utc_now,
                epoch=lambda: Epoch(1),
            ),
            rest_s=rest_s,
        )


class ListedFleet:
    """The listing side of a cloud that shows all VMs as running."""

    name = "local"

    def __init__(self, world: World, uids: Sequence[ClusterUid]) -> None:
        seen = world.machines.seen(ClusterView(uid=UID))
        volumes = [replace(v, cluster_uid="") for v in seen.volumes.values()]
        self._shares: dict[Place, tuple[list[CloudInstance], list[CloudVolume], dict[tuple[str, str], str]]] = {}
        for number, uid in enumerate(uids):
            instances, disks, addresses = self._shares.setdefault(_place(number), ([], [], {}))
            instances += [replace(i, cluster_uid=uid, id=f"{uid}/{i.key}") for i in seen.instances.values()]
            disks += [replace(v, cluster_uid=uid) for v in volumes]
            addresses |= {(uid, node): address for node, address in seen.node_addresses.items()}

    @property
    def size(self) -> int:
        return sum(len(instances) for instances, _, _ in self._shares.values())

    def zones(self, region: str) -> tuple[str, ...]:
        return ("a", "b", "c")

    def list_place(self, place: Place) -> Listing:
        instances, volumes, addresses = self._shares[place]
        return Listing(place, utc_now(), tuple(instances), tuple(volumes), dict(addresses))

    def describe(self, place: Place, instances: Sequence[str]) -> Mapping[str, InstanceState]:
        raise AssertionError("no VM is missing, so none is asked for by id")

    def terminate(self, place: Place, instance: str) -> None:
        raise AssertionError("a fleet at rest loses no VM")

    def variables(self, resources: Resources) -> dict[str, object]:
        raise AssertionError("a fleet at rest renders nothing")


class CountingRunner:
    """Counts what would have been run."""

    def __init__(self) -> None:
        self.runs = 0

    def terraform(self, job_id: str, run: TerraformRun, *, epoch: Epoch) -> None:
        self.runs += 1

    def planning(self, job_id: str, request: DrainRequest, snapshot: KafkaSnapshot, *, epoch: Epoch) -> None:
        self.runs += 1

    def balancing(self, job_id: str, request: RebalanceRequest, snapshot: KafkaSnapshot, *, epoch: Epoch) -> None:
        self.runs += 1


class DigestGateway:
    """Brokers that answer with a snapshot of their own each time."""

    def __init__(self, snapshot: KafkaSnapshot) -> None:
        self._snapshot = snapshot

    def snapshot(self) -> KafkaSnapshot:
        partitions = tuple(replace(p) for p in self._snapshot.partitions)
        return replace(self._snapshot, at=utc_now(), partitions=partitions, brokers=dict(self._snapshot.brokers))


def _converged_world() -> World:
    world = World()
    world.machines.report_type = Report  # what is written down, as databases take it
    world.declare(a_document())
    world.converge()
    world.kafka.create_topic("orders", partitions=PARTITIONS, rf=3, min_isr=2, bytes_per_partition=1_000_000)
    world.settle()
    return world


def _record(store: SqlEventStore, history: Sequence[Recorded], uids: Sequence[ClusterUid]) -> int:
    """The same history for each cluster, in bulk: appends are measured elsewhere."""
    with writing(store.engine) as transaction:
        rows = _rows(history, uids)
        total = 0
        while batch := list(islice(rows, 5000)):
            transaction.execute(insert(EVENT), batch)
            total += len(batch)
        transaction.execute(update(COUNTER).values(position=total))
    return store.verify()


def _rows(history: Sequence[Recorded], uids: Sequence[ClusterUid]) -> Iterator[dict[str, Any]]:
    position = 0
    for number, uid in enumerate(uids):
        for recorded in history:
            position += 1
            yield {
                "position": position,
                "stream": cluster_stream(uid),
                "version": recorded.version,
                "event_id": f"e{position}",
                "type": recorded.type,
                "schema_version": recorded.schema,
                "data": _adapted(recorded, uid, number),
                "actor": "converger",
                "cause": None,
                "command_id": None,
                "part": 0,
                "epoch": 1,
                "recorded_at": datetime(2026, 1, 1, tzinfo=UTC),
            }


def _adapted(recorded: Recorded, uid: ClusterUid, number: int) -> Mapping[str, Any]:
    """A cluster of its own name, uid and account; a VM's id is the one its cloud lists it under."""
    data = recorded.data
    if recorded.type == "surge.completed":
        return {**data, "instances": [i | {"cloud_id": f"{uid}/{i['key']}"} for i in data["instances"]]}
    if recorded.type != "cluster.declared":
        return data
    name, document = f"cluster-{number:05d}", data["document"]
    pools = [
        pool | {"place": pool["place"] | {"account": _place(number).account}} for pool in document["spec"]["pools"]
    ]
    spec = document["spec"] | {"pools": pools}
    return {
        **data,
        "uid": uid,
        "name": name,
        "document": document | {"metadata": document["metadata"] | {"name": name}, "spec": spec},
    }


def _report(latest: SqlLatestStore, world: World, uids: Iterable[ClusterUid]) -> None:
    """The last word of each VM's agent."""
    reports = world.latest.of_cluster(UID, AGENT_REPORT)
    pending: list[LatestValue] = []
    for uid in uids:
        for one in reports:
            value = {**one.value, "cluster_uid": uid}
            pending.append(replace(one, subject=Subject(AGENT_REPORT, uid, one.subject.name), value=value))
        if len(pending) >= 6000:
            latest.put_all(pending)
            pending = []
    latest.put_all(pending)


def _place(number: int) -> Place:
    return Place("local", "local-1", f"account-{number % ACCOUNTS:02d}")


def _timed(act: Any) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began
