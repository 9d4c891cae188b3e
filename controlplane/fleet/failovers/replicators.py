"""Copying to a standby: what its brokers' VMs are told of it, and which of them copies. Pure.

One VM of the standby copies, beside its broker. Every other broker's VM of the pair is told that it copies nothing, and
says so: that is the proof by which another one may begin, or the standby is opened.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from agent.wire import ReplicatorDocument, ReplicatorEnd
from controlplane.cluster.gateways import bootstrap_of
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.fleet.failovers.doors import is_gone, is_unmade
from controlplane.fleet.failovers.seen import ReplicatorsSeen
from controlplane.fleet.failovers.state import RegisteredPair
from controlplane.runtime.quantities import human_seconds
from events.spec.failover_rules import is_paired

_MOST_REPLICAS = 3
"""Of MirrorMaker's own topics; fewer where the standby has fewer brokers."""


@dataclass(frozen=True, slots=True)
class ReplicatorPart:
    """What brokers' VMs of a cluster are told; `host` is the one that copies, "" where none does. `document`: as it is
    for the host, without the version of Kafka, which is that of its broker."""

    host: str
    document: ReplicatorDocument

    def of(self, key: str, kafka_version: str) -> ReplicatorDocument:
        """For that VM."""
        state = "running" if key == self.host else "stopped"
        return self.document.model_copy(update={"state": state, "kafka_version": kafka_version})


def replicator_part(pair: RegisteredPair, view: ClusterView, source: ClusterView | None) -> ReplicatorPart | None:
    """Of a cluster of a warm pair, also of one that was withdrawn: a VM that was away while it was is told to end.
    `source`: the other cluster; None, or without an address, where nothing can be copied from it."""
    if not pair.view.is_warm:
        return None
    topics, addresses = copied_topics(pair, view), bootstrap_of(source) if source is not None else ()
    is_target = pair.view.copies is not None and pair.view.copies[1] == view.uid
    host = pair.view.replicator_at if is_target and topics and addresses else ""
    document = ReplicatorDocument(
        state="running" if host else "stopped",
        start_id=start_id_of(pair, topics) if is_target else end_id_of(pair),
        kafka_version="",
        heap_mib=_heap_mib(pair),
        source=ReplicatorEnd(name=source.uid if source is not None else "", bootstrap=addresses),
        target=ReplicatorEnd(name=view.uid, bootstrap=bootstrap_of(view)),
        topics=topics,
        not_groups=not_groups(pair),
        replication_factor=min(_MOST_REPLICAS, max(1, len(_serving(view)))),
    )
    return ReplicatorPart(host, document)


def copied_topics(pair: RegisteredPair, target: ClusterView) -> tuple[str, ...]:
    """Those that are on the standby as they are declared of it. MirrorMaker makes one that is missing by itself, with
    other settings than the primary's: so it hears of none before it is there."""
    declaration = pair.view.declaration
    if declaration is None:
        return ()
    there = (topic for topic in target.topics.by_name.values() if not topic.tombstone)
    named = {t.name for t in there if t.declared.tier != "scratch" and is_paired(declaration.document, t.name)}
    return tuple(sorted(named - set(target.topics.pending)))


def start_id_of(pair: RegisteredPair, topics: tuple[str, ...]) -> str:
    """Of the flow in hand: another one wherever what is copied is another thing."""
    said = "|".join((*topics, "", *not_groups(pair), str(_heap_mib(pair))))
    return f"{_flow_of(pair)}{zlib.crc32(said.encode()):08x}"


def end_id_of(pair: RegisteredPair) -> str:
    """By which a VM says that it has ended what was copied last."""
    return f"{_flow_of(pair)}end"


def replicators_seen(
    pair: RegisteredPair, standby: ClusterView, reports: Mapping[str, ReportSeen], now: datetime
) -> ReplicatorsSeen:
    """By each agent's own word. A VM that nobody made, or that the cloud says is gone, copies nothing; a silent one
    may. Where nothing is to be copied any more, what a VM said before it heard of that proves nothing: it may have
    begun."""
    host, topics = pair.view.replicator_at, copied_topics(pair, standby)
    wanted = _flow_of(pair) if pair.view.copies is not None else end_id_of(pair)
    lacking, eligible = {}, []
    for vm in (one for one in standby.instances.values() if one.is_broker and one.phase is not Phase.RETIRED):
        seen = reports.get(vm.key)
        if is_gone(vm, seen) or is_unmade(vm, seen):
            continue
        if why := _lacks_end(wanted, seen, now):
            lacking[vm.key] = why
        is_silent = seen is None or not seen.is_young(now)
        # Of the one that copies silence says nothing: it goes on, and another one would have to wait for it anyway.
        if vm in _serving(standby) and (_knows_of(pair, seen, now) or (vm.key == host and is_silent)):
            eligible.append(vm)
    best = tuple(vm.key for vm in sorted(eligible, key=lambda vm: vm.service_id))
    return ReplicatorsSeen(best, lacking, not topics or _is_running(start_id_of(pair, topics), reports.get(host), now))


def not_groups(pair: RegisteredPair) -> tuple[str, ...]:
    """Groups whose offsets stay behind, as MirrorMaker's patterns: names are as they are, up to a `*` at their end."""
    groups = pair.view.declaration.document.spec.groups.exclude if pair.view.declaration is not None else ()
    return tuple(one.replace(".", "[.]").replace("*", ".*") for one in groups)


def _serving(view: ClusterView) -> list[InstanceView]:
    return [vm for vm in view.brokers() if vm.phase is Phase.JOINED and not vm.lost]


def _knows_of(pair: RegisteredPair, seen: ReportSeen | None, now: datetime) -> bool:
    report = seen.report.replicator if seen is not None and seen.is_young(now) else None
    return report is not None and report.start_id.startswith(_flow_of(pair))


def _is_running(start_id: str, seen: ReportSeen | None, now: datetime) -> bool:
    report = seen.report.replicator if seen is not None and seen.is_young(now) else None
    return report is not None and (report.state, report.start_id) == ("running", start_id)


def _lacks_end(wanted: str, seen: ReportSeen | None, now: datetime) -> str:
    if seen is None:
        return "its agent has said nothing yet"
    if not seen.is_young(now):
        return f"its agent has been silent for {human_seconds((now - seen.received_at).total_seconds())}"
    report = seen.report.replicator
    if report is None:
        return "its agent tells nothing of a replicator: it is of a release before, or has not heard of one yet"
    if report.state != "stopped":
        return f"its replicator is {report.state}{': ' + report.message if report.message else ''}"
    return "" if report.start_id.startswith(wanted) else "its agent has not heard of this flow yet"


def _flow_of(pair: RegisteredPair) -> str:
    return f"{pair.uid}-{pair.view.flows}-"


def _heap_mib(pair: RegisteredPair) -> int:
    replication = pair.view.declaration.document.spec.replication if pair.view.declaration is not None else None
    return replication.heap_mib if replication is not None else 256
