"""What the planner is asked of a rebalance, and who asks for one: a person, new brokers, or the policy of the spec."""

import math
from typing import Any

from controlplane.cluster.balance_choice import choice_of, spec_choice
from controlplane.cluster.bandwidth import ASSUMED_BYTES_PER_S, CLIENTS_KEEP, nic_bytes_per_s
from controlplane.cluster.broker_sets import broker_sets
from controlplane.cluster.external_brokers import is_shared
from controlplane.cluster.hardware import hardware_sources, volume_sources
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.planner_state import catalogue_capacity
from controlplane.cluster.throttle_cap import cap_mib_per_s
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.rebalances import RebalanceView
from controlplane.converger.questions.chosen_receivers import takers
from controlplane.converger.questions.disk_room import DISK_LIMIT_FRACTION
from controlplane.converger.questions.moves.known_load import known_load
from controlplane.converger.situation.situation import Situation
from events import facts
from events.ids import derived_id
from events.quantities import GIB, MIB
from planner.balance.goals import CEILINGS
from planner.drain.model.capacity import Capacity, FigureOrigin, FigureSource
from planner.drain.model.observed import measured_disks
from planner.observed import KafkaSnapshot
from planner.quantities import brokers_named, human_bytes
from planner.rebalancing.choice import EVERYTHING, BalanceChoice
from planner.rebalancing.imbalance import Deviations, allowed_percent
from planner.rebalancing.request import RebalanceRequest


def rebalance_job_id(rebalance: RebalanceView) -> str:
    """Each try to plan a rebalance is a job of its own."""
    return f"{derived_id('rebalance plan', rebalance.id)}.{rebalance.planning.tries}"


def rebalance_request(situation: Situation, rebalance: RebalanceView, kafka: KafkaSnapshot) -> RebalanceRequest:
    """The rebalance in hand, on the cluster as Kafka shows it now. New brokers that have left since, or were replaced,
    are no special case any more: then everybody is looked at. Of brokers a person chose those that are left receive,
    and never another one: ValueError where none is.
    """
    view = situation.view
    live = kafka.live_brokers()
    receivers = tuple(sorted(i.service_id for i in view.receivers() if i.service_id in live))
    new = _alone_receive(view, rebalance, receivers)
    cap = cap_mib_per_s(view)
    load = known_load(view, kafka, situation.seen.traffic, {})
    clouds = {p.name: p.place.cloud for p in view.document.spec.pools} if view.document else {}
    known = all(
        nic_bytes_per_s(clouds.get(i.planned.pool, ""), i.planned.shape, view.declaration.machines)
        for i in view.brokers()
    )
    return RebalanceRequest(
        cluster_uid=view.uid,
        rebalance_id=rebalance.id,
        round=rebalance.round,
        receivers=receivers,
        new=new,
        capacities=(
            measured_disks(kafka),
            catalogue_capacity(view),
            *hardware_sources(view),
            *volume_sources(view),
            _assumed(),
        ),
        bandwidth_source="catalogue" if known else "assumed",
        racks={i.service_id: i.planned.rack for i in view.brokers()},
        write_bytes_per_s={n: math.ceil(rate) for n, rate in load.write_bytes_per_s.items()},
        write_rates_from=situation.seen.traffic.words(situation.now),
        read_bytes_per_s={n: math.ceil(rate) for n, rate in load.read_bytes_per_s.items()},
        processors=load.processors,
        demoted=tuple(sorted(load.demoted)),
        choice=rebalance.terms.choice,
        sets=broker_sets(view),
        most_bytes_per_s=cap * MIB if cap else None,
        disk_limit_fraction=DISK_LIMIT_FRACTION,
    )


def asked_by_person(
    view: ClusterView,
    reason: str,
    *,
    targets: tuple[int, ...] = (),
    per_day_bytes: int = 0,
    throttle_mib_per_s: int = 0,
    choice: BalanceChoice = EVERYTHING,
) -> facts.RebalanceRequested:
    """A person is not bound by the threshold, and by a day's budget only where one is given."""
    return facts.RebalanceRequested(
        _next_id(view),
        "person",
        reason,
        new_brokers=targets,
        per_day_bytes=per_day_bytes,
        throttle_mib_per_s=throttle_mib_per_s,
        **_chosen(choice_of(view, choice)),
    )


def asked_by_scale_up(view: ClusterView) -> facts.RebalanceRequested | None:
    """The roll that added brokers is over: they are due a share, unless the spec says never. None when none came."""
    policy = view.document.spec.balance if view.document else None
    if policy is None or policy.after == "never" or view.moves.rebalance is not None or is_shared(view):
        return None
    nodes = {view.instances[key].node for key in view.moves.newcomers if key in view.instances}
    there = [i for i in view.receivers() if i.phase is Phase.JOINED and i.node in nodes]
    if not there or len(view.receivers()) == len(there):
        return None
    ids = tuple(sorted(i.service_id for i in there))
    return facts.RebalanceRequested(
        _next_id(view),
        "scale-up",
        f"{brokers_named(ids)} joined",
        new_brokers=ids,
        threshold_percent=float(policy.threshold_percent),
        per_day_bytes=day_budget_bytes(view),
        **_chosen(spec_choice(view)),
    )


def asked_by_policy(view: ClusterView, over: Deviations, left: Deviations) -> facts.RebalanceRequested:
    """The spec wants it done whenever a goal is missed by too much: `over`, percent, worst first. `left`: what the last
    rebalance could not better."""
    policy = view.document.spec.balance if view.document else None
    threshold = float(policy.threshold_percent) if policy else 0.0
    return facts.RebalanceRequested(
        _next_id(view),
        "policy",
        f"{missed_words(over, threshold, left)} (spec.balance.continuous)",
        threshold_percent=threshold,
        per_day_bytes=day_budget_bytes(view),
        **_chosen(spec_choice(view)),
    )


def missed_words(over: Deviations, threshold: float, left: Deviations) -> str:
    """`goal nic-in is 69 % from its even share, 20 % are allowed; too far are also cpu (65 %)`. `over` is not empty."""
    (goal, percent), *others = over.items()
    how = "above its ceiling" if goal in CEILINGS else "from its even share"
    first = f"goal {goal} is {percent:.0f} % {how}, {allowed_percent(goal, threshold, left):.0f} % are allowed"
    return f"{first}; too far are also {', '.join(f'{g} ({p:.0f} %)' for g, p in others)}" if others else first


def asked_by_heat(view: ClusterView, reason: str) -> facts.RebalanceRequested:
    """The spec wants it continuous, and a broker is hot whom others cannot relieve by leading alone. No threshold: what
    is uneven is that broker's traffic of the moment, which the shares of hours may not show."""
    return facts.RebalanceRequested(
        _next_id(view),
        "policy",
        f"{reason} (spec.balance.continuous)",
        per_day_bytes=day_budget_bytes(view),
        **_chosen(spec_choice(view)),
    )


def day_budget_bytes(view: ClusterView) -> int:
    """What the spec in force lets begin in a day, bytes; 0 where it sets no bound."""
    policy = view.document.spec.balance if view.document else None
    return policy.per_day_gib * GIB if policy and policy.per_day_gib else 0


def _alone_receive(view: ClusterView, rebalance: RebalanceView, receivers: tuple[int, ...]) -> tuple[int, ...]:
    if not rebalance.chosen:
        return rebalance.terms.new_brokers if set(rebalance.terms.new_brokers) <= set(receivers) else ()
    left = tuple(sorted(takers(view, rebalance).intersection(receivers)))
    if not left:
        raise ValueError(f"none of the brokers{rebalance.onto} can receive: there is nothing to plan")
    return left


def _chosen(choice: BalanceChoice) -> dict[str, Any]:
    return {
        "goals": choice.goals,
        "exclude_topics": choice.exclude_topics,
        "exclude_brokers": choice.exclude_brokers,
    }


def _next_id(view: ClusterView) -> str:
    return derived_id("rebalance", view.uid, str(view.moves.rebalances + 1))


def _assumed() -> FigureSource:
    rate = ASSUMED_BYTES_PER_S * (1 - CLIENTS_KEEP)
    return FigureSource(
        origin=FigureOrigin.CATALOGUE,
        everyone=Capacity(ingress_bytes_per_s=rate, egress_bytes_per_s=rate),
        everyone_words=f"assumed {human_bytes(rate)}/s, as no figure is known of the machine",
    )
