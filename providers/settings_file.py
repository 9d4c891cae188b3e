"""What a person tells about their accounts with a cloud: `<cloud>.yaml` in the home. It holds no secret, ever."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import yaml
from pydantic import AnyHttpUrl, BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, PrivateAttr, ValidationError

from providers import base, catalog_file, errors, networks
from providers.call_budget import CallBudget, CallRate
from providers.made_networks import NetworkedAccount, leaves_network, whole_region
from providers.software import Software

AccountT = TypeVar("AccountT", bound=NetworkedAccount)
ModelT = TypeVar("ModelT", bound=BaseModel)


class CallsIn(BaseModel):
    """How often an account may call, where the cloud agreed to more (or less) than its documents say."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    burst: PositiveInt
    per_s: PositiveFloat


class CloudSettings(BaseModel, Generic[AccountT]):
    """The whole file. `plugins` is for networks without a way to Terraform's registry.

    A cloud's own class adds what that cloud needs; an account has `regions`, by name of the region.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    accounts: dict[str, AccountT] = Field(min_length=1)
    endpoint_url: AnyHttpUrl | None = None
    plugins: Path | None = None
    """Folder with `terraform/plugins/<host>/<namespace>/<name>/<version>/<platform>/`, searched before the registry."""
    calls: CallsIn | None = None
    """In the place of the catalogue's figures, for each account."""
    software: Software | None = None
    """What VMs of a plain image install when they boot for the first time; without it an image has everything."""

    _made: networks.MadeNetworks = PrivateAttr(default_factory=lambda: networks.none_made)

    def with_networks(self, made: networks.MadeNetworks) -> Self:
        """The same file, knowing what networks Kedge has made. Asked anew each time: there may be more by then."""
        self._made = made
        return self

    def leaves_network(self, place: base.Place) -> bool:
        """Whether the region's network is Kedge's to make. Raises `PlaceUnknown` for a place that is not told of."""
        return leaves_network(self.account(place), place)

    def region_as(self, place: base.Place, model: type[ModelT]) -> ModelT:
        """What is known of a region: told whole, or with the network Kedge made.

        Raises `PlaceUnknown` naming what there is, `NetworkMissing` before its network is made.
        """
        account = self.account(place)
        if leaves_network(account, place):
            return whole_region(account, place, self._made, model)
        regions: Mapping[str, ModelT] = getattr(account, "regions", {})
        return regions[place.region]

    def has_ipv6(self, place: base.Place) -> bool:
        """Whether the region's network has IPv6: a person's by their word, one that Kedge made as it was made, one that
        is yet to be made as is told. Raises `PlaceUnknown` for a place that is not told of."""
        made = self._made(place) if self.leaves_network(place) else None
        return self.says_ipv6(place) if made is None else bool(made.get("ipv6", False))

    def says_ipv6(self, place: base.Place) -> bool:
        """What the region itself says of IPv6. Raises `PlaceUnknown` for a place that is not told of."""
        account = self.account(place)
        if leaves_network(account, place):
            return bool(account.left_to_kedge[place.region].get("ipv6", False))
        regions: Mapping[str, BaseModel] = getattr(account, "regions", {})
        return bool(getattr(regions[place.region], "ipv6", False))

    def configured_images(self, place: base.Place) -> Mapping[str, Any]:
        """The images of a region by Kafka version, whoever makes its network. Raises `PlaceUnknown` as above."""
        account = self.account(place)
        if leaves_network(account, place):
            return dict(account.left_to_kedge[place.region].get("images") or {})
        regions: Mapping[str, BaseModel] = getattr(account, "regions", {})
        return dict(getattr(regions[place.region], "images", {}))

    def regions(self) -> tuple[str, ...]:
        """Regions some account tells of, whoever makes their networks, sorted."""
        told = ({*getattr(account, "regions", {}), *account.left_to_kedge} for account in self.accounts.values())
        return tuple(sorted(set().union(*told)))

    def account(self, place: base.Place) -> AccountT:
        """Raises `PlaceUnknown` naming the accounts there are."""
        if place.account not in self.accounts:
            there = ", ".join(sorted(self.accounts))
            raise errors.PlaceUnknown(f"{place}: no such account in {place.cloud}.yaml; it has {there}")
        return self.accounts[place.account]

    def call_budget(self, cloud: str) -> CallBudget:
        """The calls all accounts of the file may make: by the file's own figures, else the catalogue's."""
        shipped = catalog_file.sold_by(cloud).call_rate()
        if self.calls is None:
            return CallBudget(shipped)
        own = CallRate(self.calls.burst, self.calls.per_s)
        return CallBudget(own if shipped is None else replace(shipped, burst=own.burst, per_s=own.per_s))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Raises `PlaceUnknown` when there is no such file, or it makes no sense; the message says where."""
        try:
            return cls.model_validate(yaml.safe_load(path.read_text()))
        except FileNotFoundError:
            where = f"no cloud `{path.stem}` here: {path} does not exist (docs/clouds.md shows what it holds)"
            raise errors.PlaceUnknown(where) from None
        except yaml.YAMLError as error:
            raise errors.PlaceUnknown(f"{path} is not YAML: {error}") from None
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_input=False))
            raise errors.PlaceUnknown(f"{path}: {wrong}") from None


def zones_of(
    settings: CloudSettings[Any], cloud: str, region: str, zones: Callable[[Any], Iterable[str]]
) -> tuple[str, ...]:
    """Zones some account has in a region, sorted; `zones` tells those of an account's region. A region whose network is
    left to Kedge has none of its own: they come with the clusters.

    Raises `PlaceUnknown` naming the regions there are.
    """
    accounts = settings.accounts.values()
    found = {zone for account in accounts if region in account.regions for zone in zones(account.regions[region])}
    if not found and not any(region in account.left_to_kedge for account in accounts):
        there = ", ".join(settings.regions())
        raise errors.PlaceUnknown(f"no region {region!r} in {cloud}.yaml; it has {there}")
    return tuple(sorted(found))
