"""What is known of a cluster's load, in the figures a rebalance is planned with: who decides that it is uneven, and who
tells of it, judge by the same."""

from collections.abc import Mapping

from controlplane.cluster.balance_choice import spec_choice
from controlplane.cluster.broker_sets import broker_sets
from controlplane.cluster.demotions import demoted_brokers
from controlplane.cluster.hardware import hardware_sources, processors_of
from controlplane.cluster.observed.traffic import Traffic, read_by_partition
from controlplane.cluster.view import ClusterView
from planner.observed import KafkaSnapshot
from planner.rebalancing.imbalance import Deviations, deviations
from planner.rebalancing.known_load import KnownLoad, figures_of


def known_load(view: ClusterView, kafka: KafkaSnapshot, traffic: Traffic, cpu_used: Mapping[int, float]) -> KnownLoad:
    """What looks at the logs, agents, metrics and the machine catalogue say. What none of them knows is missing."""
    names = kafka.by_name
    sources, brokers = hardware_sources(view), [i.service_id for i in view.brokers()]
    return KnownLoad(
        write_bytes_per_s={n: rate for n, rate in traffic.write_bytes_per_s.items() if n in names},
        read_bytes_per_s=read_by_partition(traffic, kafka),
        nic_in_bytes_per_s=figures_of(brokers, sources, "nic_in_bytes_per_s"),
        nic_out_bytes_per_s=figures_of(brokers, sources, "nic_out_bytes_per_s"),
        cpu_used=cpu_used,
        processors=processors_of(view),
        demoted=demoted_brokers(view),
    )


def unevenness(view: ClusterView, kafka: KafkaSnapshot, load: KnownLoad) -> Deviations:
    """How far the brokers that may receive are from each goal that can be judged, percent."""
    receivers = [i.service_id for i in view.receivers()]
    return deviations(kafka, receivers, load, choice=spec_choice(view), sets=broker_sets(view))


def left_over(view: ClusterView, found: Deviations) -> Deviations:
    """What the last rebalance could not better. One recorded by an earlier release tells the worst alone: it counts for
    every goal."""
    last = view.moves.last_rebalance
    if last is None:
        return {}
    return last.left if last.left is not None else dict.fromkeys(found, last.imbalance)
