"""Regions of an account whose network is Kedge's to make: their section of `<cloud>.yaml` says nothing of a network.

Such a region is whole once its network is made: what the module gave is put beside what the person told (images).
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from providers.base import Place
from providers.errors import PlaceUnknown
from providers.networks import MadeNetworks, NetworkMissing

RegionT = TypeVar("RegionT", bound=BaseModel)


class NetworkedAccount(BaseModel):
    """Base of an account profile. Its own class has `regions`: those whose network the person told by ids.

    `network_fields` are what `terraform/modules/<cloud>-network` gives. A region with one of them is told whole.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    network_fields: ClassVar[frozenset[str]]
    left_to_kedge: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Name of a region -> the rest that was told of it. Filled from `regions`, never written by a person."""

    @model_validator(mode="before")
    @classmethod
    def _set_apart(cls, given: Any) -> Any:
        regions = given.get("regions") if isinstance(given, Mapping) else None
        if not isinstance(regions, Mapping):
            return given
        if "left_to_kedge" in given:
            raise ValueError("left_to_kedge: it is not yours to write; leave the network's ids out of the region")
        bare = {str(name): dict(told or {}) for name, told in regions.items() if cls._is_left(told)}
        return {**given, "regions": {n: t for n, t in regions.items() if str(n) not in bare}, "left_to_kedge": bare}

    @model_validator(mode="after")
    def _says_sense(self) -> Self:
        model = _region_class(type(self))
        for name, told in self.left_to_kedge.items():
            unknown = sorted(told.keys() - model.model_fields.keys())
            if unknown:
                raise ValueError(f"regions.{name}: {', '.join(unknown)}: there is no such field")
            for key, value in told.items():
                try:
                    TypeAdapter[Any](model.model_fields[key].annotation or Any).validate_python(value)
                except ValidationError as error:
                    raise ValueError(f"regions.{name}.{key}: {error.errors()[0]['msg']}") from None
        if not self.left_to_kedge and not getattr(self, "regions", None):
            raise ValueError("regions: an account has at least one")
        return self

    @classmethod
    def _is_left(cls, told: Any) -> bool:
        return told is None or (isinstance(told, Mapping) and not cls.network_fields & told.keys())


def leaves_network(account: NetworkedAccount, place: Place) -> bool:
    """Whether the region's network is Kedge's to make. Raises `PlaceUnknown` where the account has no such region."""
    if place.region in account.left_to_kedge:
        return True
    told: Mapping[str, object] = getattr(account, "regions", {})
    if place.region not in told:
        there = ", ".join(sorted({*told, *account.left_to_kedge}))
        raise PlaceUnknown(f"{place}: no such region in {place.cloud}.yaml; it has {there}")
    return False


def whole_region(account: NetworkedAccount, place: Place, made: MadeNetworks, model: type[RegionT]) -> RegionT:
    """What was told of a region, with what its network's module gave.

    Raises `NetworkMissing` before there is such a network, `PlaceUnknown` where the two make no sense together.
    """
    given = made(place)
    if given is None:
        raise NetworkMissing(f"{place}: the network {place.network} is Kedge's to make, and it is not made yet")
    told = {key: value for key, value in account.left_to_kedge[place.region].items() if key != "ipv6"}
    try:
        return model.model_validate({**told, **given})  # whether it has IPv6 says how it was made
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_input=False))
        raise PlaceUnknown(f"{place}: the network {place.network} does not fit {place.cloud}.yaml: {wrong}") from None


def _region_class(account: type[NetworkedAccount]) -> type[BaseModel]:
    """Of `regions: dict[Name, Region]`."""
    region = get_args(account.model_fields["regions"].annotation)[1]
    if not (isinstance(region, type) and issubclass(region, BaseModel)):
        raise TypeError(f"{account.__name__}.regions is not a mapping to a model")
    return region
