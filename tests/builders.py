"""Small, valid things with overrides, so that a test shows only what it is about."""

from collections.abc import Collection, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from agent.wire import Report, ServiceReport
from controlplane.cluster.lifecycle import SERVING, Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.observed.moves import MoveProgress
from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.cluster.views.drains import DrainView
from controlplane.cluster.views.instances import DepartureView, InstanceView, MemberView, StartView
from controlplane.cluster.views.plans import PlanningView, PlanView, ProgressView
from controlplane.converger.situation.observation import (
    BackgroundSeen,
    CloudsSeen,
    InventorySeen,
    Observation,
    PlansRead,
    ZooKeeperSeen,
)
from controlplane.converger.situation.situation import Situation
from events import facts
from events.ids import ClusterUid
from events.spec.document import load_documents
from events.spec.model import KafkaClusterDocument
from events.spec.security import Listener, OwnAuthority, Security
from planner.drain.certificate import Certificate
from planner.drain.model.measures import Measure, Measures
from planner.drain.plan import DrainPlan, Move, Port
from planner.observed import (
    BrokerSeen,
    FeatureSeen,
    KafkaSnapshot,
    LogDirsSeen,
    PartitionSeen,
    QuorumSeen,
    ThrottlesSeen,
    TopicPartition,
    VoterSeen,
)
from planner.rollout.desired import desired_nodes
from providers.base import CloudInstance, CloudVolume, InstanceState
from tests.changed_view import changed_view

_SPEC = """
apiVersion: kedge/v1alpha1
kind: KafkaCluster
metadata: {{name: {name}}}
spec:
  kafka: {{version: {version}{config}}}
  pools:
    - name: {quorum}s
      services: [{quorum}]
      size: {controllers}
      machine: small
      disk: {{kind: persistent, sizeGib: {quorum_gib}}}{quorum_heap}{quorum_jvm}
      place: {{{quorum_place}}}
    - name: brokers
      services: [broker]
      size: {brokers}
      machine: {machine}
      disk: {{kind: {disk}, sizeGib: {broker_gib}{disks}}}{heap}{jvm}{pool_config}
      place: {{cloud: {cloud}, region: {brokers_in}, zones: [{zones}]}}
  rollout:
    {{strategy: {strategy}, surge: {surge}, maxUnavailable: {max_unavailable}, pause: {pause},
     soak: {soak}, linger: {linger}, joinDeadline: {join_deadline}{throttle}{windows}{parallel}}}
  bootstrap: {{{bootstrap}}}
  healing: {{{healing}}}
  balance: {{{balance}}}
  deletionPolicy: {deletion}
"""

_OTHERS = """    - name: others
      services: [broker]
      size: {others}
      machine: {others_machine}
      disk: {{kind: persistent, sizeGib: {broker_gib}}}
      place: {{cloud: {cloud}, region: {brokers_in}, zones: [a, b, c]}}
"""


def a_spec(**overrides: Any) -> str:
    """The YAML of a cluster of 3 brokers and 3 controllers on Kafka 4.1.1. `others` is the size of a second pool of
    brokers, 0 for none."""
    values: dict[str, Any] = {
        "name": "orders",
        "version": "4.1.1",
        "config": "",
        "quorum": "controller",
        "controllers": 3,
        "cloud": "local",
        "quorum_place": "cloud: local, region: local-1, zones: [a, b, c]",
        "brokers_in": "local-1",
        "brokers": 3,
        "machine": "small",
        "soak": "5s",
        "linger": "5s",
        "surge": 1,
        "strategy": "migrate",
        "max_unavailable": 0,
        "pause": "false",
        "join_deadline": "120s",
        "deletion": "destroy",
        "bootstrap": "",
        "healing": "",
        "throttle": "",
        "windows": "",
        "parallel": "",
        "balance": "",
        "disk": "persistent",
        "broker_gib": 100,
        "disks": "",
        "quorum_gib": 1,
        "heap": 0,
        "quorum_heap": 0,
        "jvm": "",
        "quorum_jvm": "",
        "pool_config": "",
        "zones": "a, b, c",
        "others": 0,
        "others_machine": "small",
    }
    values |= overrides
    heaps = {k: f"\n      heapMib: {values[k]}" if values[k] else "" for k in ("heap", "quorum_heap")}
    options = {k: f"\n      jvmOptions: [{values[k]}]" if values[k] else "" for k in ("jvm", "quorum_jvm")}
    options["pool_config"] = f"\n      config: {{{values['pool_config']}}}" if values["pool_config"] else ""
    text = _SPEC.format(**{**values, **heaps, **options})
    if values["others"]:
        text = text.replace("  rollout:\n", _OTHERS.format(**values) + "  rollout:\n")
    return _on_the_brokers_vms(text, values["quorum_heap"]) if values["quorum"] == "members" else text


def _on_the_brokers_vms(text: str, heap_mib: int) -> str:
    """The servers of the ensemble share the VMs of the brokers: there is no other pool."""
    before, _, after = text.partition("    - name: memberss")
    heap = f"\n      zookeeperHeapMib: {heap_mib}" if heap_mib else ""
    shared = f"services: [broker, zookeeper]{heap}"
    brokers = after.partition("    - name: brokers")[2].replace("services: [broker]", shared, 1)
    return f"{before}    - name: brokers{brokers}"


def a_zookeeper_document(**overrides: Any) -> KafkaClusterDocument:
    """The same cluster in ZooKeeper mode: 3 brokers and 3 servers of pool `zookeepers` on Kafka 3.8.1."""
    config = ", mode: zookeeper" + overrides.pop("config", "")
    return a_document(**{"version": "3.8.1", "quorum": "zookeeper", **overrides}, config=config)


def a_cohosted_document(**overrides: Any) -> KafkaClusterDocument:
    """3 brokers on Kafka 3.8.1, each with a server of the ensemble on its VM."""
    config = ", mode: zookeeper" + overrides.pop("config", "")
    return a_document(**{"version": "3.8.1", "quorum": "members", **overrides}, config=config)


@cache
def a_document(**overrides: Any) -> KafkaClusterDocument:
    """The document of `a_spec`. Documents never change, so the same one is given out again."""
    result = load_documents(a_spec(**overrides), file="orders.yaml")
    assert result.ok, result.problems
    return result.documents[0]


@cache
def a_tls_document(**overrides: Any) -> KafkaClusterDocument:
    """The same with TLS between nodes, and two listeners for clients."""
    return with_tls(a_document(**overrides))


def with_tls(document: KafkaClusterDocument) -> KafkaClusterDocument:
    """That document with TLS between nodes, and two listeners for clients."""
    listeners = (Listener(name="TLS", port=9094, security="tls"), Listener(name="PLAINTEXT", port=9092))
    spec = document.spec.model_copy(update={"security": Security(internal="tls"), "listeners": listeners})
    return document.model_copy(update={"spec": spec})


def with_own(
    document: KafkaClusterDocument, *, cluster: str | None = None, clients: str | None = None
) -> KafkaClusterDocument:
    """The same with CAs of the user's own, by the names that settings have for them."""
    security = Security(internal="tls", cluster_ca=OwnAuthority(own=cluster), clients_ca=OwnAuthority(own=clients))
    return document.model_copy(update={"spec": document.spec.model_copy(update={"security": security})})


# --- a cluster at rest, and what is seen of it --------------------------------------------------------------------

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
"""The time of what is decided in unit tests; everything built here is fresh at that time."""

BEFORE = NOW - timedelta(seconds=100)
"""When things came to be what they are, unless told otherwise."""

NODES = ("brokers-a-0", "brokers-b-0", "brokers-c-0", "controllers-a-0", "controllers-b-0", "controllers-c-0")


def a_planned(node: str = "brokers-a-0", generation: int = 1, **overrides: Any) -> facts.PlannedInstance:
    """A VM as its intent fixed it; its digest is that of `a_document()`, so it is as declared."""
    pool, rack, index = node.rsplit("-", 2)
    service = "controller" if pool.startswith("controllers") else "broker"
    place = "abc".index(rack) + 3 * int(index)
    wanted = {n.node: n for n in desired_nodes(a_document(brokers=6))}
    values: dict[str, Any] = {
        "node": node,
        "generation": generation,
        "pool": pool,
        "rack": rack,
        "index": int(index),
        "service": service,
        "service_id": 100 + place if service == "controller" else 1000 + place + 10 * (generation - 1),
        "digest": wanted[node].digest if node in wanted else "",
        "kafka_version": "4.1.1",
        "shape": "small",
        "heap_mib": 256,
        "settings": {},
        "volumes": (a_volume(node, 1 if service == "controller" else generation),),
        "replaces": generation - 1,
        "handover": service == "controller" and generation > 1,
    }
    return facts.PlannedInstance(**{**values, **overrides})


def a_volume(node: str, version: int = 1, directory: str = "data") -> facts.PlannedVolume:
    """A disk of a node. A controller's successor takes over version 1; a broker gets a new one."""
    key = f"{node}.{directory}.v{version}"
    return facts.PlannedVolume(key, directory, version, "persistent", 100, f"directory-of-{key}")


def an_instance(
    node: str = "brokers-a-0", generation: int = 1, phase: Phase = Phase.JOINED, **overrides: Any
) -> InstanceView:
    """A VM of a view. Fields of its `PlannedInstance` may be overridden too, and by `_FLAT` those of its groups."""
    planned_fields = {f.name for f in fields(facts.PlannedInstance)}
    planned = a_planned(node, generation, **{k: v for k, v in overrides.items() if k in planned_fields})
    ran = phase is not Phase.REQUESTED
    values: dict[str, Any] = {
        "planned": planned,
        "phase": phase,
        "since": BEFORE,
        "intent": f"surge-{planned.key}",
        "requested_at": BEFORE,
        "cloud_id": f"vm-{planned.key}" if ran else "",
        "address": f"address-of-{planned.key}" if ran else "",
        "bound": not planned.handover or phase not in (Phase.REQUESTED, Phase.LAUNCHED),
        "launched_at": BEFORE if ran else None,
        "fenced_at": BEFORE if phase in (Phase.FENCED, Phase.RELEASED, Phase.RETIRING) else None,
    }
    values |= {k: v for k, v in overrides.items() if k not in planned_fields}
    for name, (group, flat) in _FLAT.items():
        values.setdefault(name, group(**{flat[k]: values.pop(k) for k in flat if k in values}))
    return InstanceView(**values)


_FLAT: dict[str, tuple[Any, dict[str, str]]] = {
    "start": (
        StartView,
        {
            **{f.name: f.name for f in fields(StartView) if f.name not in ("count", "settings", "successors")},
            "starts": "count",
            "told": "settings",
            "told_successors": "successors",
        },
    ),
    "departure": (DepartureView, {f.name: f.name for f in fields(DepartureView)}),
    "member": (MemberView, {f"member_{f.name}": f.name for f in fields(MemberView)}),
}
"""Groups of an `InstanceView`: the names by which tests give their fields."""


def a_view(*instances: InstanceView, **overrides: Any) -> ClusterView:
    """`orders`, converged: 3 brokers and 3 controllers as declared. `instances` are put in by their keys.

    `without` names keys that are left out; `document` comes into force as it is.
    """
    without = set(overrides.pop("without", ()))
    there = {i.key: i for i in (*(an_instance(node) for node in NODES), *instances) if i.key not in without}
    voters = tuple(
        facts.FoundingVoter(n, 100 + k, f"node-address-{n}", 9093, a_volume(n).directory_id)
        for k, n in enumerate(NODES[3:])
    )
    values: dict[str, Any] = {
        "uid": ClusterUid("c0ffee"),
        "name": "orders",
        "version": 20,
        "generation": 1,
        "converged": 1,
        "document": a_document(),
        "declared_at": BEFORE,
        "instances": there,
        "next_broker_id": 1100,
        "controller_ids": {v.node: v.id for v in voters},
        "founding": facts.QuorumFounded("kafka-cluster", "4.1", voters),
        "voters": {v.id: v for v in voters},
        "node_addresses": {v.node: v.address for v in voters},
        "conditions": {"Converged": ConditionView(True, "Reached", "generation 1", BEFORE)},
        "progressed_at": BEFORE,
    }
    return changed_view(ClusterView(uid=ClusterUid("c0ffee")), **{**values, **overrides})


def a_partition(
    name: str = "orders-0", replicas: Sequence[int] = (1000, 1001, 1002), **overrides: Any
) -> PartitionSeen:
    """A healthy partition led by its first replica."""
    topic, _, number = name.rpartition("-")
    values: dict[str, Any] = {
        "name": TopicPartition(topic, int(number)),
        "leader": replicas[0] if replicas else -1,
        "replicas": tuple(replicas),
        "isr": tuple(replicas),
        "min_isr": 2,
        "size_bytes": 1000,
        "configured_min_isr": 2,
    }
    return PartitionSeen(**{**values, **overrides})


def a_snapshot(
    *partitions: PartitionSeen,
    brokers: Sequence[int] = (1000, 1001, 1002),
    fenced: Sequence[int] = (),
    **overrides: Any,
) -> KafkaSnapshot:
    """Kafka's metadata at NOW: these brokers live, those fenced, the quorum of three caught up, log dirs to match."""
    held = {b: [p for p in partitions if b in p.replicas] for b in brokers}
    members = tuple(VoterSeen(100 + k, a_volume(n).directory_id, 0, True) for k, n in enumerate(NODES[3:]))
    values: dict[str, Any] = {
        "at": NOW,
        "cluster_id": "kafka-cluster",
        "brokers": {b: BrokerSeen(b, "abc"[b % 10 % 3], b in fenced, f"host-{b}", 9092) for b in (*brokers, *fenced)},
        "partitions": partitions,
        "quorum": QuorumSeen(100, 1, members),
        "features": {"metadata.version": FeatureSeen(27, 7, 27)},
        "log_dirs": {b: LogDirsSeen(len(h), sum(p.size_bytes for p in h), 10**9, 10**9) for b, h in held.items()},
        "throttles": ThrottlesSeen(),
    }
    return KafkaSnapshot(**{**values, **overrides})


def a_report(instance: InstanceView, state: str = "running", **overrides: Any) -> ReportSeen:
    """The last word of the instance's agent; `state` "" when it has no service yet."""
    received_at = overrides.pop("received_at", NOW)
    planned = instance.planned
    service = {
        "name": planned.service,
        "state": state,
        "start_id": f"{instance.key}-{instance.start.count}",
        "node_id": planned.service_id,
        "since": BEFORE,
        **overrides,
    }
    report = Report(
        cluster_uid="c0ffee",
        node=planned.node,
        generation=planned.generation,
        boot_id="boot",
        seq=1,
        at=received_at,
        agent_version="test",
        epoch=1,
        services=(ServiceReport.model_validate(service),) if state else (),
    )
    return ReportSeen(report, received_at)


def a_cloud_instance(instance: InstanceView, **overrides: Any) -> CloudInstance:
    """The VM as the cloud lists it: running."""
    values: dict[str, Any] = {
        "id": f"vm-{instance.key}",
        "cluster_uid": "c0ffee",
        "node": instance.node,
        "generation": instance.planned.generation,
        "intent_id": instance.intent,
        "zone": instance.planned.rack,
        "state": InstanceState.RUNNING,
        "address": f"address-of-{instance.key}",
    }
    return CloudInstance(**{**values, **overrides})


def an_inventory(
    view: ClusterView, *, gone: Collection[str] = (), at: datetime = NOW, **overrides: Any
) -> InventorySeen:
    """The clouds' word: every VM of the view runs with its volumes attached, but those in `gone`."""
    there = [i for i in view.alive() if i.key not in gone and i.phase is not Phase.REQUESTED]
    values: dict[str, Any] = {
        "at": at,
        "instances": {i.key: a_cloud_instance(i) for i in there},
        "gone": frozenset(gone),
        "volumes": {
            v.key: CloudVolume(v.key, "c0ffee", i.planned.rack, v.size_gib, i.key)
            for i in there
            if i.bound
            for v in i.planned.volumes
        },
        "node_addresses": dict(view.vms.node_addresses),
    }
    return InventorySeen(**{**values, **overrides})


def an_observation(view: ClusterView, **overrides: Any) -> Observation:
    """Everything as it should be, fresh at NOW. A part given as None is one that could not be read. Fields of what
    clouds, ZooKeeper, running moves and services beside the tick tell may be given beside its own, and plans: `plan`
    and `rebalance_plan`."""
    serving = [i for i in view.alive() if i.phase in SERVING and i.bound and not i.lost]
    brokers = [i.service_id for i in serving if i.is_broker and i.phase is not Phase.LAUNCHED]
    values: dict[str, Any] = {
        "inventory": an_inventory(view),
        "reports": {i.key: a_report(i) for i in serving},
        "kafka": a_snapshot(brokers=brokers),
        **overrides,
    }
    plans = {"plan": "drain", "plan_sha256": "drain_sha256", "rebalance_plan": "rebalance"}
    values = {plans.get(name, name): value for name, value in values.items()}
    groups: dict[str, type[Any]] = {
        "plans": PlansRead,
        "clouds": CloudsSeen,
        "zookeeper": ZooKeeperSeen,
        "moves": MoveProgress,
        "background": BackgroundSeen,
    }
    for name, group in groups.items():
        own = {f.name: values.pop(f.name) for f in fields(group) if f.name in values}
        values.setdefault(name, group(**own))
    return Observation(**values)


def a_situation(view: ClusterView, *, now: datetime = NOW, **seen: Any) -> Situation:
    """A view with what is seen of it; `allowance`, `loss_grace_s`, `freezes` and `order` go to the situation."""
    own = {k: seen.pop(k) for k in ("allowance", "loss_grace_s", "freezes", "order") if k in seen}
    return Situation(view, an_observation(view, **seen), now, **own)


def a_drain(**overrides: Any) -> DrainView:
    """The drain of brokers-a-0.g1 (1000) to its successor 1010, planned, its first batch under way. Fields of its plan,
    planning and progress may be given beside its own; `plan_sha256` is that of the plan."""
    values: dict[str, Any] = {
        "id": "drain-1",
        "keys": ("brokers-a-0.g1",),
        "outgoing": (1000,),
        "successors": {1000: 1010},
        "targets": (1001, 1002, 1010),
        "round": 1,
        "requested_at": BEFORE,
        "plan_sha256": "sha",
        "batch": 0,
        **overrides,
    }
    values["sha256"] = values.pop("plan_sha256")
    groups = {"plan": PlanView, "planning": PlanningView, "progress": ProgressView}
    for name, group in groups.items():
        own = {f.name: values.pop(f.name) for f in fields(group) if f.name in values}
        values[name] = group(**own)
    return DrainView(**values)


def a_plan(*stretches: Sequence[Move], slots: int | None = None, **overrides: Any) -> DrainPlan:
    """A plan of these stretches, with a throttle of 1000 bytes/s on every broker it names and any number of slots."""
    moves = [move for stretch in stretches for move in stretch]
    brokers = {b for m in moves for b in (*m.before, *m.after)}
    values: dict[str, Any] = {
        "drain_id": "drain-1",
        "cluster_uid": "c0ffee",
        "engine": "in-process",
        "round": 1,
        "moves": tuple(moves),
        "checkpoints": tuple(sum(len(s) for s in stretches[: n + 1]) for n in range(len(stretches))),
        "into": dict.fromkeys(sorted({b for m in moves for b in m.added}), Port(slots, 800, 1000, 10)),
        "out": dict.fromkeys(sorted(brokers), Port(slots, 800, 1000, 10)),
        "deferred": (),
        "certificate": a_certificate(sum(m.bytes for m in moves)),
    }
    return DrainPlan(**{**values, **overrides})


def a_certificate(size: int = 0) -> Certificate:
    """A copy of `size` bytes in ten seconds, at every bound."""
    one = Measure(1, 1)
    return Certificate(
        measures=Measures(
            bytes=Measure(size, size),
            makespan_s=Measure(10, 10),
            disk=Measure(0.1, 0.1),
            leaders=one,
            leader_changes=one,
            release_s=Measure(10, 10),
        ),
        replicas=1,
        source_transfers=0,
        bandwidth_source="catalogue",
        assumptions=(),
    )


def a_move(name: str = "orders-0", before: Sequence[int] = (1000, 1001, 1002), after: Sequence[int] = ()) -> Move:
    """One partition's way off broker 1000, to 1010 unless told otherwise."""
    topic, _, number = name.rpartition("-")
    target = tuple(after) or tuple(1010 if b == 1000 else b for b in before)
    return Move(topic, int(number), tuple(before), target, 1000)
