"""In which order racks get a live value, once a first broker has stood it or to put it right, and how that is told.
Pure."""

from collections.abc import Mapping

from controlplane.cluster.view import ClusterView
from planner.rollout.live_step import LiveStep


def racks_in_order(view: ClusterView, first: int | None) -> list[set[int]]:
    """Ids of brokers, rack by rack: that of the first one where there is one, then by name."""
    found = _by_rack(view)
    return [ids for _, ids in sorted(found.items(), key=lambda rack: (first not in rack[1], rack[0]))]


def rack_of_step(view: ClusterView, step: LiveStep) -> str:
    """The rack whose brokers alone get values by this step; empty where it is the turn of all."""
    gets = {broker for broker, values in step.own.items() if any(v is not None for v in values.values())}
    if step.defaults or not gets:
        return ""
    return next((rack for rack, ids in sorted(_by_rack(view).items()) if gets <= ids), "")


def _by_rack(view: ClusterView) -> Mapping[str, set[int]]:
    found: dict[str, set[int]] = {}
    for instance in view.brokers():
        found.setdefault(instance.planned.rack, set()).add(instance.service_id)
    return found
