"""What clouds say: of what is there, and of themselves."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TypeVar

from controlplane.cluster.places import places_of
from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.observation import CloudsSeen, InventorySeen, NoPlaceAnswers, refused_in
from controlplane.converger.situation.ports import CloudTraits, Inventory
from controlplane.runtime.once import once
from providers.errors import ProviderError
from providers.handover import Handover

_T = TypeVar("_T")


def inventory_of(
    view: ClusterView, inventory: Inventory, missing: dict[str, str], *, newer_than: datetime | None
) -> tuple[InventorySeen | None, Mapping[str, str]]:
    """What is there, None where no cloud says, and the places that do not permit us to list it, with their words."""
    try:
        seen = inventory.seen(view, newer_than=newer_than)
    except ProviderError as error:
        missing["inventory"] = str(error)
        return None, refused_in(_by_place(view, error))
    return seen, seen.refused


def clouds_of(view: ClusterView, traits: CloudTraits, missing: dict[str, str]) -> CloudsSeen:
    """What the cluster's clouds say of themselves, of what runs wait for only while there are any."""
    clouds = _clouds_of(view)
    ways = [_handover(cloud, traits, missing) for cloud in clouds]
    holding = _each(clouds, traits.holds_mounted, missing) if view.intents else {}
    return CloudsSeen(
        handover=ways[0] if ways else Handover.REBIND,
        handovers=dict(zip(clouds, ways, strict=True)) if len(clouds) > 1 else {},
        unlisted_s=_each(clouds, traits.unlisted_s, missing) if view.intents else {},
        holds_mounted=frozenset(cloud for cloud, holds in holding.items() if holds),
    )


def _handover(cloud: str, traits: CloudTraits, missing: dict[str, str]) -> Handover | None:
    try:
        return traits.handover(cloud)
    except ProviderError as error:
        missing["handover"] = str(error)
        return None


def _each(clouds: Iterable[str], ask: Callable[[str], _T], missing: dict[str, str]) -> dict[str, _T]:
    """What each says of itself; one that cannot be told does not start a run either."""
    found: dict[str, _T] = {}
    for cloud in clouds:
        try:
            found[cloud] = ask(cloud)
        except ProviderError as error:
            missing["inventory"] = str(error)
    return found


def _by_place(view: ClusterView, error: ProviderError) -> Mapping[str, ProviderError]:
    return error.silent if isinstance(error, NoPlaceAnswers) else {str(p): error for p in places_of(view)[:1]}


@once
def _clouds_of(view: ClusterView) -> tuple[str, ...]:
    return tuple(sorted({place.cloud for place in places_of(view)}))
