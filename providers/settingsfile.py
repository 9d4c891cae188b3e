"""What a person tells about their accounts with a cloud: `<cloud>.yaml` in the home. It holds no secret, ever."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from providers.base import Place
from providers.errors import PlaceUnknown

RegionT = TypeVar("RegionT", covariant=True)


class _HasRegions(Protocol[RegionT]):
    @property
    def regions(self) -> Mapping[str, RegionT]: ...


AccountT = TypeVar("AccountT", bound=BaseModel)


class CloudSettings(BaseModel, Generic[AccountT]):
    """The whole file. `plugins` is for networks without a way to Terraform's registry.

    A cloud's own class adds what that cloud needs; an account has `regions`, by name of the region.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    accounts: dict[str, AccountT] = Field(min_length=1)
    plugins: Path | None = None
    """Folder with `terraform/plugins/<host>/<namespace>/<name>/<version>/<platform>/`, searched before the registry."""

    def account(self, place: Place) -> AccountT:
        """Raises `PlaceUnknown` naming the accounts there are."""
        if place.account not in self.accounts:
            there = ", ".join(sorted(self.accounts))
            raise PlaceUnknown(f"{place}: no such account in {place.cloud}.yaml; it has {there}")
        return self.accounts[place.account]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Raises `PlaceUnknown` when there is no such file, or it makes no sense; the message says where."""
        try:
            return cls.model_validate(yaml.safe_load(path.read_text()))
        except FileNotFoundError:
            where = f"no cloud `{path.stem}` here: {path} does not exist (docs/clouds.md shows what it holds)"
            raise PlaceUnknown(where) from None
        except yaml.YAMLError as error:
            raise PlaceUnknown(f"{path} is no YAML: {error}") from None
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_input=False))
            raise PlaceUnknown(f"{path}: {wrong}") from None


def region_of(account: _HasRegions[RegionT], place: Place) -> RegionT:
    """What an account says of a region. Raises `PlaceUnknown` naming the regions of that account."""
    regions = account.regions
    if place.region not in regions:
        there = ", ".join(sorted(regions))
        raise PlaceUnknown(f"{place}: no such region in {place.cloud}.yaml; it has {there}")
    return regions[place.region]


def zones_of(
    settings: CloudSettings[Any], cloud: str, region: str, zones: Callable[[Any], Iterable[str]]
) -> tuple[str, ...]:
    """Zones some account has in a region, sorted; `zones` tells those of an account's region.

    Raises `PlaceUnknown` naming the regions there are.
    """
    accounts = settings.accounts.values()
    found = {zone for account in accounts if region in account.regions for zone in zones(account.regions[region])}
    if not found:
        there = ", ".join(sorted({name for account in accounts for name in account.regions}))
        raise PlaceUnknown(f"no region {region!r} in {cloud}.yaml; it has {there}")
    return tuple(sorted(found))
