"""The generations of a cluster with what each costs a month, all by the prices of today: nobody keeps older ones."""

from collections.abc import Sequence

from controlplane.api.costs import bill_out, moneys_out, price_list_of
from controlplane.api.rollback import declared_in
from controlplane.api.schemas.generations import GenerationOut, GenerationsOut
from controlplane.api.services import PortalServices
from controlplane.cluster.view import ClusterView
from controlplane.commands.previews.costs import GenerationCost, generation_costs, old_sources
from events.envelope import Recorded
from events.spec.conversion import from_data


def generations_out(
    services: PortalServices, view: ClusterView, events: Sequence[Recorded], *, after: int = 0, limit: int
) -> GenerationsOut:
    """The newest `limit` of those that `events`, the cluster's, declare; with `after` of those below that one."""
    declared = declared_in(events)
    # One more than is told: the oldest that is told has a difference too.
    taken = sorted((g for g in declared if not after or g < after), reverse=True)[: limit + 1]
    (price_list, problem), today = price_list_of(services), services.clock().date()
    costs = generation_costs({g: from_data(dict(declared[g].data["document"])) for g in taken}, price_list)[:limit]
    return GenerationsOut(
        cluster=view.name,
        prices_of=today,
        generations=[_generation(cost, declared[cost.generation], view) for cost in costs],
        total=len(declared),
        old=list(old_sources([cost.bill for cost in costs], today)),
        problem=problem,
    )


def _generation(cost: GenerationCost, declared: Recorded, view: ClusterView) -> GenerationOut:
    return GenerationOut(
        generation=cost.generation,
        declared_at=declared.recorded_at,
        declared_by=declared.actor,
        source=str(declared.data.get("source") or ""),
        in_force=cost.generation == view.generation,
        bill=None if cost.bill is None else bill_out(cost.bill),
        before=cost.before,
        difference=None if cost.difference is None else moneys_out(cost.difference),
    )
