"""/v1/machines: what clouds sell and for how much, by the catalogue of this server."""

from typing import Annotated

from fastapi import APIRouter, Query

from controlplane.api.costs import price_list_of
from controlplane.api.paging import MOST_ON_A_PAGE, Most, Turning, following
from controlplane.api.presenters.machines import place_of, regions_out
from controlplane.api.problems import ApiError
from controlplane.api.schemas.machines import MachinesOut
from controlplane.api.schemas.messages import API_PREFIX
from controlplane.api.services import Services
from providers.errors import PlaceUnknown

router = APIRouter(prefix=API_PREFIX, tags=["system"])

Cloud = Annotated[str, Query(max_length=40, description="only this cloud; empty: all that have a catalogue")]
Region = Annotated[str, Query(max_length=80, description="only this region; empty: those catalog.yaml has prices of")]
AfterPlace = Annotated[str, Query(max_length=250, description="the last item of the page before, as CLOUD/REGION")]


@router.get("/machines")
def list_machines(
    services: Services,
    turn: Turning,
    cloud: Cloud = "",
    region: Region = "",
    after: AfterPlace = "",
    limit: Most = MOST_ON_A_PAGE,
) -> MachinesOut:
    """Machine types, their neutral sizes, figures and prices, a region an item; as `kedge machines list` shows them.

    Shipped figures are Kedge's, those of `catalog.yaml` this server's; no cluster is told of. `after` is `CLOUD` alone
    where an item has no region.
    """
    price_list, problem = price_list_of(services)
    try:
        found = price_list.sold(cloud, region)
    except PlaceUnknown as error:
        raise ApiError(422, "place-unknown", str(error), next_step="Leave it out to see what there is.") from error
    items = regions_out(found, services.clock().date())
    return MachinesOut(items=turn.page(following(items, place_of, after), place_of, limit), problem=problem)
