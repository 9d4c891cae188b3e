"""`catalog.yaml` in the home: figures laid over the shipped catalogues, by cloud and region.

People write it, and `kedge machines refresh`. Each figure names a source of its region, and a source has a day.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, RootModel, StringConstraints, ValidationError, model_validator

from providers.errors import PlaceUnknown
from providers.figures import CatalogFigure, Price

FILE_NAME = "catalog.yaml"

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""In C where it is there: with all types of a cloud the file has tens of thousands of lines."""

_Word = Annotated[str, StringConstraints(min_length=1, max_length=400, strip_whitespace=True)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FigureSourceIn(_Part):
    """What was read, and on which day."""

    what: _Word
    read: date


class FigureIn(_Part):
    value: Decimal = Field(ge=0, allow_inf_nan=False)
    source: _Word
    """A key of `sources` of the same region."""


class PriceIn(FigureIn):
    """Without taxes."""

    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]


class MachineIn(_Part):
    """Figures of one type, in the words of the shipped catalogues. With an architecture, `vcpus` and `memory_mib` one
    that those have not is sold as well (`providers.added_machines`)."""

    architecture: Literal["arm64", "x86_64"] | None = None

    vcpus: FigureIn | None = None
    memory_mib: FigureIn | None = None
    nic_baseline_gbps: FigureIn | None = None
    nic_burst_gbps: FigureIn | None = None
    own_disk_gb: FigureIn | None = None
    own_disk_mb_per_s: FigureIn | None = None
    volumes_mb_per_s: FigureIn | None = None
    price_per_hour: PriceIn | None = None
    price_per_month: PriceIn | None = None


class DiskIn(_Part):
    """Figures of `persistent` or `ephemeral`. A disk that is part of its machine's price has the price 0, told so."""

    iops: FigureIn | None = None
    bytes_per_s: FigureIn | None = None
    price_per_gib_month: PriceIn | None = None
    price_per_month_up_to: dict[Annotated[int, Field(gt=0)], PriceIn] = Field(default_factory=dict)
    """Where disks are sold by size: of one a month, by the most GiB it may have. Goes before the price of a GiB."""


class RootDiskIn(_Part):
    """The disk a VM starts from, where it is no part of the machine's price. Without prices of its own it has those of
    `persistent`, if it is of that type."""

    gib: FigureIn | None = None
    """As large as its image makes it."""
    price_per_gib_month: PriceIn | None = None
    price_per_month_up_to: dict[Annotated[int, Field(gt=0)], PriceIn] = Field(default_factory=dict)


class AddressesIn(_Part):
    ipv6_per_month: PriceIn | None = None
    """Of one address of a VM whose pool asks for IPv6."""
    public_ipv4_per_month: PriceIn | None = None
    """Of one address of a VM whose pool has `publicAddress: true`."""


class TrafficIn(_Part):
    cross_zone_per_gib: PriceIn | None = None
    """What one GiB from zone to zone costs in all, both sides together."""
    egress_per_gib: PriceIn | None = None
    """What one GiB costs that leaves the region for a place in another one, or on another cloud."""


class RegionIn(_Part):
    """Figures of one region."""

    sources: dict[str, FigureSourceIn] = Field(default_factory=dict)
    machines: dict[str, MachineIn] = Field(default_factory=dict)
    disks: dict[str, DiskIn] = Field(default_factory=dict)
    root_disk: RootDiskIn = RootDiskIn()
    addresses: AddressesIn = AddressesIn()
    traffic: TrafficIn = TrafficIn()

    @model_validator(mode="after")
    def _every_figure_has_a_source(self) -> Self:
        missing = sorted({told.source for told in self.figures()} - self.sources.keys())
        if missing:
            raise ValueError(f"no such source here: {', '.join(missing)}")
        return self

    def figures(self) -> Iterator[FigureIn]:
        """Every figure there is."""
        parts = (*self.machines.values(), *self.disks.values(), self.root_disk, self.addresses, self.traffic)
        for told in (told for part in parts for _, told in part):
            if isinstance(told, FigureIn):
                yield told
            elif isinstance(told, Mapping):
                yield from told.values()

    def figure(self, told: FigureIn | None) -> CatalogFigure | None:
        """With its source in words."""
        if told is None:
            return None
        source = self.sources[told.source]
        return CatalogFigure(told.value, source.what, source.read)

    def price(self, told: PriceIn | None) -> Price | None:
        """With its source in words."""
        if told is None:
            return None
        source = self.sources[told.source]
        return Price(told.value, source.what, source.read, told.currency)


class Overrides(RootModel[dict[str, dict[str, RegionIn]]]):
    """The whole file: cloud -> region -> figures."""

    root: dict[str, dict[str, RegionIn]] = Field(default_factory=dict)

    def region(self, cloud: str, region: str) -> RegionIn:
        """The figures of a region; none where the file does not name it."""
        return self.root.get(cloud, {}).get(region, RegionIn())

    def regions(self, cloud: str) -> tuple[str, ...]:
        """Regions of a cloud that the file names."""
        return tuple(sorted(self.root.get(cloud, {})))

    def with_region(self, cloud: str, region: str, fresh: RegionIn) -> "Overrides":
        """The same file with what was read anew in one region laid over what stood there."""
        laid = laid_over(self.region(cloud, region), fresh)
        return Overrides({**self.root, cloud: {**self.root.get(cloud, {}), region: laid}})


def laid_over(old: RegionIn, fresh: RegionIn) -> RegionIn:
    """Figure by figure the fresh one wins, an old one stays where there is no fresh one, with its own day. Pure.

    Raises `ValueError` where one name of a source stands for two days: an old figure would take the fresh one's.
    """
    for name in old.sources.keys() & fresh.sources.keys():
        if old.sources[name].read != fresh.sources[name].read:
            raise ValueError(f"source {name!r} was read on two days")
    sources = {**old.sources, **fresh.sources}
    told = {
        "machines": _laid(_bare(old.machines), _bare(fresh.machines)),
        "disks": _laid(_bare(old.disks), _bare(fresh.disks)),
        "root_disk": _dumped(old.root_disk) | _dumped(fresh.root_disk),
        "addresses": _dumped(old.addresses) | _dumped(fresh.addresses),
        "traffic": _dumped(old.traffic) | _dumped(fresh.traffic),
    }
    laid = RegionIn.model_validate({"sources": sources, **told})
    used = {one.source for one in laid.figures()}
    return laid.model_copy(update={"sources": {name: s for name, s in sources.items() if name in used}})


def read_overrides(path: Path) -> Overrides:
    """The file; an empty one where there is none. Raises `PlaceUnknown` when it makes no sense, saying where."""
    try:
        return Overrides.model_validate(yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER) or {})  # noqa: S506  # nosec B506
    except FileNotFoundError:
        return Overrides()
    except (OSError, UnicodeDecodeError) as error:
        raise PlaceUnknown(f"{path} cannot be read: {error}") from None
    except yaml.YAMLError as error:
        raise PlaceUnknown(f"{path} is not YAML: {error}") from None
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_input=False))
        raise PlaceUnknown(f"{path}: {wrong}") from None


def as_text(overrides: Overrides) -> str:
    """The file's text, the same for the same figures."""
    told = overrides.model_dump(mode="json", exclude_none=True)
    for region in (region for regions in told.values() for region in regions.values()):
        for part in (*region["disks"].values(), region["root_disk"]):
            if not part.get("price_per_month_up_to"):
                part.pop("price_per_month_up_to", None)
        for name in ("root_disk", "addresses"):
            if not region[name]:
                del region[name]
    return str(yaml.safe_dump(told, sort_keys=True, allow_unicode=True, width=120))


def _bare(parts: Mapping[str, _Part]) -> dict[str, dict[str, object]]:
    return {name: _dumped(part) for name, part in parts.items()}


def _dumped(part: _Part) -> dict[str, object]:
    """What it says; a table of nothing says nothing."""
    return {name: told for name, told in part.model_dump(exclude_none=True).items() if told != {}}


def _laid(old: dict[str, dict[str, object]], fresh: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    return {name: old.get(name, {}) | fresh.get(name, {}) for name in {**old, **fresh}}
