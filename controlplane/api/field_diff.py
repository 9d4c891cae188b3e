"""Desired beside observed, field by field, as far as this server sees it: what the page and the API tell."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from controlplane.api.read_models.running_settings import (
    Reported,
    applied_settings_of,
    asked_names,
    live_or_applied,
    reported_rows,
)
from controlplane.api.services import PortalServices
from controlplane.cluster.folds.growth import size_of
from controlplane.cluster.lifecycle import SERVING
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.commands.previews.plan import pending_rollout
from controlplane.converger.questions.rolls.node_volumes import directory_names
from controlplane.kafka.errors import KafkaFault
from events.instance_facts import PlannedDisk
from events.spec.settings import spec_config
from planner.observed import KafkaSnapshot
from planner.rollout.desired import DesiredNode, desired_nodes
from planner.rollout.diff import options_in_words
from planner.rollout.steps import RolloutStep


@dataclass(frozen=True, slots=True)
class Field:
    """One thing that was asked for and what there is. `drift`: it changed though nobody declared that."""

    subject: str
    name: str
    desired: str
    observed: str
    drift: bool = False

    @property
    def is_same(self) -> bool:
        return self.desired == self.observed


@dataclass(frozen=True, slots=True)
class FieldDiff:
    """Every field of a cluster, and what is left to do. `reported` is what brokers say they run with, where they were
    asked; `unknown` why they could not be."""

    fields: Sequence[Field]
    steps: Sequence[RolloutStep]
    snapshot: KafkaSnapshot | None
    asked_of: int
    """Settings brokers can be asked about."""
    reported: Sequence[Reported] = ()
    unknown: str = ""

    @property
    def differing(self) -> Sequence[Field]:
        return [f for f in self.fields if not f.is_same]


def field_diff(services: PortalServices, view: ClusterView, *, ask: bool) -> FieldDiff:
    """What was asked for beside what there is. With `ask` brokers are asked for the settings they run with, which takes
    up to 10 s."""
    snapshot = services.fleet.clusters.last_snapshot(view.uid)
    reported: Sequence[Reported] = ()
    unknown = ""
    if ask:
        try:
            reported = reported_rows(view, services.brokers.kafka_queries.running(view, asked_names(view)))
        except KafkaFault as fault:
            unknown = str(fault)
    return FieldDiff(
        fields=list(fields_of(view, snapshot)),
        steps=[s for p in pending_rollout(view, snapshot).phases for s in p.steps],
        snapshot=snapshot,
        asked_of=len(asked_names(view)),
        reported=reported,
        unknown=unknown,
    )


def fields_of(view: ClusterView, snapshot: KafkaSnapshot | None) -> Iterator[Field]:
    """The cluster's own fields, then those of each node."""
    document = view.document
    if document is None:
        return
    yield Field("cluster", "generation", str(view.generation), str(view.roll.converged or "none yet"))
    pinned = document.spec.kafka.metadata_version
    if pinned is not None and snapshot is not None:
        finalised = snapshot.features.get("metadata.version")
        yield Field("cluster", "metadata.version", pinned, str(finalised.finalised) if finalised else "unknown")
    wanted = {node.node: node for node in desired_nodes(document)}
    for node in sorted(wanted.keys() | view.nodes().keys()):
        yield from _of_node(view, snapshot, node, wanted.get(node))


def _of_node(
    view: ClusterView, snapshot: KafkaSnapshot | None, node: str, desired: DesiredNode | None
) -> Iterator[Field]:
    there = view.of_node(node)
    if desired is None:
        yield Field(node, "node", "not there", f"{there[-1].planned.service} {there[-1].service_id}")
        return
    serving = [i for i in there if i.phase in SERVING and not i.lost]
    if not serving:
        gone = any(i.lost for i in there)
        yield Field(node, "node", desired.service, "its VM is gone" if gone else "not there yet", drift=gone)
        return
    instance = serving[0]
    yield Field(node, "node", desired.service, instance.planned.service)
    yield Field(node, "Kafka version", desired.kafka_version, instance.planned.kafka_version)
    yield Field(node, "machine", desired.shape, instance.planned.shape)
    if desired.spot or instance.planned.spot:
        yield Field(node, "pre-emptible", _yes(desired.spot), _yes(instance.planned.spot))
    asked = desired.addresses
    if asked.ipv6 or instance.planned.ipv6:
        yield Field(node, "IPv6", _yes(asked.ipv6), _yes(instance.planned.ipv6))
    if asked.public or instance.public.asked:
        yield Field(node, "public address", _yes(asked.public), _yes(instance.public.asked))
    yield Field(node, "rack", desired.rack, instance.planned.rack)
    if desired.jvm.options or instance.jvm.options:
        yield Field(node, "JVM options", _listed(desired.jvm.options), _listed(instance.jvm.options))
    has = {v.dir: _disk(v.kind, size_of(view, v), v.options) for v in instance.planned.volumes}
    wanted = dict.fromkeys(
        directory_names(desired.disks.count), _disk(desired.disks.kind, desired.disks.gib, desired.disks.options)
    )
    for directory in {**wanted, **has}:
        yield Field(node, f"disk {directory}", wanted.get(directory, "none"), has.get(directory, "none"))
    if instance.is_broker and snapshot is not None and instance.phase.value == "joined":
        seen = snapshot.brokers.get(instance.service_id)
        state = "not registered" if seen is None else "fenced" if seen.fenced else "live"
        yield Field(node, "state", "live", state, drift=state != "live")
    yield from _settings(view, node, instance)


def _settings(view: ClusterView, node: str, instance: InstanceView) -> Iterator[Field]:
    """The spec's Kafka settings as the instance was told them; those set live win over its file."""
    wanted = spec_config(view.document, instance.planned.pool) if view.document else {}
    applied = applied_settings_of(instance)
    for name in sorted(wanted.keys() | (applied or {}).keys()):
        value = live_or_applied(view, instance, name) if applied is not None else "unknown"
        observed = "not set" if value is None else value
        yield Field(node, name, wanted.get(name, "not set"), observed)


def _disk(kind: str, size_gib: int, options: PlannedDisk | None) -> str:
    return f"{kind}, {size_gib} GiB" + (f", {options_in_words(options)}" if options else "")


def _listed(options: tuple[str, ...]) -> str:
    return " ".join(options) or "none"


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"
