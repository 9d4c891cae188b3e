"""From folded views to what the API says. Pure, but for the reports that are handed in."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from agent.host_port import HostPort
from controlplane.api.moments import as_utc
from controlplane.api.presenters.client_examples import client_examples, protocol_of
from controlplane.api.presenters.conditions import brake_out, conditions_out, drain_out, rebalance_out, status_word
from controlplane.api.presenters.instances import AgentSeen, consoles_out, instance_out
from controlplane.api.presenters.quorum import quorum_out
from controlplane.api.presenters.specs import step_out
from controlplane.api.schemas import clusters as api, specs as spec_api
from controlplane.api.schemas.external import ExternalBrokerOut
from controlplane.api.services import Fleet
from controlplane.api.trouble import why
from controlplane.cluster import endpoints, holds, lifecycle, work_in_hand
from controlplane.cluster.believed_authorities import believed
from controlplane.cluster.external_brokers import client_addresses, external_brokers
from controlplane.cluster.view import ChaosView, ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.commands.previews.plan import pending_rollout
from controlplane.converger.steps.rolls.external_brokers import external_words
from controlplane.storage.latest_values import LatestValue
from events.envelope import Recorded
from events.spec.conversion import to_data
from events.spec.security import Listener
from planner.observed import KafkaSnapshot
from planner.quantities import human_seconds


def cluster_out(
    view: ClusterView,
    fleet: Fleet,
    *,
    now: datetime,
    progress: str = "",
    source: spec_api.SpecSourceOut | None = None,
) -> api.ClusterOut:
    """One cluster, in short. `progress` is what its long act in hand is at, `source` where its spec comes from."""
    return api.ClusterOut(**_short(view, fleet, now, progress), source=source or spec_api.SpecSourceOut())


def cluster_detail(
    view: ClusterView,
    fleet: Fleet,
    *,
    agents: Mapping[str, AgentSeen],
    now: datetime,
    progress: str = "",
    source: spec_api.SpecSourceOut | None = None,
    consoles: Iterable[LatestValue] = (),
    window: str = "",
) -> api.ClusterDetailOut:
    """One cluster with all that is known of it. `agents` by instance key."""
    snapshot = fleet.last_snapshot(view.uid)
    pending = pending_rollout(view, snapshot)
    detail = api.ClusterDetailOut(
        **_short(view, fleet, now, progress),
        source=source or spec_api.SpecSourceOut(),
        faults=[_fault_words(c, now) for c in view.requests.chaos.values()],
        faults_alone=bool(view.requests.chaos) and not work_in_hand.is_worked_on(view),
        conditions=conditions_out(view),
        instances=[instance_out(view, i, agents.get(i.key, AgentSeen()), now, snapshot) for i in view.alive()],
        externals=[
            ExternalBrokerOut(id=b.id, rack=b.rack, address=b.address, state=external_words(view, b))
            for b in external_brokers(view).values()
        ],
        drain=drain_out(view),
        rebalance=rebalance_out(view),
        brake=brake_out(view),
        consoles=consoles_out(consoles, now),
        quorum=quorum_out(view, snapshot),
        window=window,
        pending=[step_out(s) for phase in pending.phases for s in phase.steps],
        document=to_data(view.document) if view.document else {},
        stream_version=view.version,
        **_metadata(snapshot, now),
    )
    return detail.model_copy(update={"why": why(detail)})


def _fault_words(chaos: ChaosView, now: datetime) -> str:
    left = chaos.for_s - (now - chaos.since).total_seconds()
    over = f"over in {human_seconds(left)}" if left > 0 else "over at the next tick"
    return f"{chaos.fault} of {', '.join(chaos.keys)}, {chaos.reason}: {over}"


def endpoints_out(view: ClusterView, names: Iterable[LatestValue] = ()) -> api.EndpointsOut:
    """How clients find the cluster: the DNS name first, then the brokers that are to stay. `names` as kept in DNS."""
    document = view.document
    if document is None:
        return api.EndpointsOut(cluster=view.name, bootstrap=[], dns=None, security="plaintext", published_at=None)
    listener, bootstrap = document.spec.listeners[0], document.spec.bootstrap
    listed, addresses = endpoints.listed_brokers(view), _addresses(view, listener)
    external = document.spec.external
    is_secured = external is not None and external.client_properties is not None
    return api.EndpointsOut(
        cluster=view.name,
        bootstrap=addresses,
        dns=bootstrap.dns,
        security="tls" if is_secured else listener.security,
        # how clients sign in there their owner knows: the listeners of the spec are those brokers of ours would have
        listeners=[] if is_secured else [_listener_out(view, one) for one in document.spec.listeners],
        ca=nodes.bundle if (nodes := believed(view, "cluster")) is not None else "",
        published_at=max((i.since for i in listed), default=None),
        names=[_dns_name(o) for o in names if o.value["addresses"] or o.value["problem"]],
    )


def _listener_out(view: ClusterView, listener: Listener) -> api.ListenerOut:
    addresses = _addresses(view, listener)
    return api.ListenerOut(
        name=listener.name,
        port=listener.port,
        security=listener.security,
        authentication=listener.authentication.type,
        protocol=protocol_of(listener),
        bootstrap=addresses,
        missing=sum(not endpoints.has_listener(i, listener) for i in endpoints.listed_brokers(view)),
        examples=dict(client_examples(view.name, listener, addresses)),
    )


def _addresses(view: ClusterView, listener: Listener) -> list[str]:
    """Where clients of a listener find the cluster: its name first, then brokers that have it."""
    if view.document is None:
        return []
    bootstrap = view.document.spec.bootstrap
    named = [str(HostPort(bootstrap.dns, listener.port))] if bootstrap.dns else []
    if not bootstrap.list:
        return named
    there = [i for i in endpoints.listed_brokers(view) if endpoints.has_listener(i, listener)]
    is_new = view.nodes_speak_tls or listener.security == "tls"  # a broker in plaintext keeps the port of its birth
    ports = ((i, listener.port if is_new else view.port_of(i)) for i in there)
    return [*named, *(str(HostPort(view.address_of(i), port)) for i, port in ports), *client_addresses(view)]


def _dns_name(seen: LatestValue) -> api.DnsNameOut:
    value = dict(seen.value)
    return api.DnsNameOut(
        name=seen.subject.name, addresses=value["addresses"], problem=value["problem"], since=seen.observed_at
    )


def event_out(recorded: Recorded) -> api.EventOut:
    return api.EventOut.like(recorded, at=recorded.recorded_at)


def in_utc(at: datetime | None) -> datetime | None:
    """A moment as events hold it; one without a zone is taken as UTC."""
    return None if at is None else as_utc(at)


def _short(view: ClusterView, fleet: Fleet, now: datetime, progress: str) -> dict[str, object]:
    said = fleet.said(view.uid)
    sentence = said.sentence if said else ""
    pools = view.document.spec.pools if view.document else ()
    present = [i for i in view.alive() if i.phase in lifecycle.SERVING and not i.lost]
    snapshot = fleet.last_snapshot(view.uid)
    return {
        "name": view.name,
        "uid": view.uid,
        "generation": view.generation,
        "converged_generation": view.roll.converged,
        "kafka_version": view.document.spec.kafka.version if view.document else "",
        "status": status_word(view, now),
        "sentence": f"{sentence}: {progress}" if progress and sentence else sentence,
        "sentence_at": said.at if said else None,
        "brokers": _brokers_up(present, snapshot),
        "controllers": sum(_has_voter(i) and i.phase is not lifecycle.Phase.LAUNCHED for i in present),
        "desired_brokers": sum(p.size for p in pools if p.is_broker),
        "desired_controllers": sum(p.size for p in pools if p.is_quorum),
        "paused": view.requests.paused if holds.hold_on(view, now) else "",
        "declared_at": view.declaration.declared_at,
    }


def _brokers_up(present: Iterable[InstanceView], kafka: KafkaSnapshot | None) -> int:
    """How many have joined, and serve by Kafka's last word where there is one."""
    joined = [i.service_id for i in present if i.is_broker and i.phase is not lifecycle.Phase.LAUNCHED]
    live = kafka.live_brokers() if kafka is not None else joined
    return sum(broker in live for broker in joined)


def _has_voter(instance: InstanceView) -> bool:
    """Whether a member of the quorum is on its VM."""
    return not instance.is_broker or (instance.planned.member is not None and not instance.member.gone)


def _metadata(snapshot: KafkaSnapshot | None, now: datetime) -> dict[str, object]:
    if snapshot is None:
        unknown = dict.fromkeys(("under_min_isr", "under_replicated", "leaderless", "partitions", "metadata_age_s"))
        return {"features": {}, **unknown}
    return {
        "features": {name: f.finalised for name, f in sorted(snapshot.features.items())},
        "under_min_isr": len(snapshot.under_min_isr()),
        "under_replicated": len(snapshot.under_replicated()),
        "leaderless": len(snapshot.leaderless()),
        "partitions": len(snapshot.partitions),
        "metadata_age_s": max(0.0, (now - snapshot.at).total_seconds()),
    }
