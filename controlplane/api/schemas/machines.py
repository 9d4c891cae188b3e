"""What the API says of machines: what clouds sell, each figure with what it was read from. `kedge machines list` writes
the same."""

from datetime import date

from pydantic import Field

from controlplane.api.schemas.messages import Message

_VALUE = Field(description="a decimal number")
_SOURCE = Field(description="what it was read from, in words")
_OLD = Field(description="whether it was read more than 90 days ago")


class FigureOut(Message):
    """A figure somebody read somewhere. Where nobody read one there is null, never 0."""

    value: str = _VALUE
    source: str = _SOURCE
    read: date
    age_days: int
    old: bool = _OLD


class PriceOut(Message):
    """Money without taxes."""

    value: str = _VALUE
    currency: str = Field(description="as in ISO 4217")
    source: str = _SOURCE
    read: date
    age_days: int
    old: bool = _OLD


class MachineOut(Message):
    """A type of machine."""

    type: str = Field(description="the cloud's own name")
    size: str | None = Field(description="the neutral name a spec may use; null where it has none")
    architecture: str
    vcpus: FigureOut | None
    memory_mib: FigureOut | None
    nic_baseline_gbps: FigureOut | None = Field(description="what the network card keeps up")
    nic_burst_gbps: FigureOut | None
    own_disk_gb: FigureOut | None = Field(description="of the disk that is lost with the VM")
    own_disk_mb_per_s: FigureOut | None
    volumes_mb_per_s: FigureOut | None = Field(description="what all its volumes together reach over the network")
    price_per_hour: PriceOut | None
    price_per_month: PriceOut | None


class DiskOut(Message):
    """A kind of disk a spec may ask for."""

    kind: str
    type: str = Field(description="the cloud's own word")
    outlives_vm: bool
    iops: FigureOut | None
    bytes_per_s: FigureOut | None
    price_per_gib_month: PriceOut | None
    price_per_month_up_to: dict[int, PriceOut] = Field(
        default={}, description="where disks are sold by size: of one a month, by the most GiB it may have"
    )


class RootDiskOut(Message):
    """The disk a VM starts from."""

    type: str = Field(description="the cloud's own word")
    in_machine: bool = Field(description="its price is part of the machine's")
    gib: FigureOut | None = Field(description="null where its image decides and nobody read what that has")
    price_per_month: PriceOut | None = Field(description="of one; null where it is the machine's, or unknown")


class RacksOut(Message):
    """What keeps two racks apart there."""

    kind: str
    zones: str | None = Field(description="pattern found in the names of its zones; null: any other zone")
    apart: str
    source: str = _SOURCE
    read: date
    age_days: int
    old: bool = _OLD


class MachinesOfRegionOut(Message):
    """What one region of a cloud sells."""

    cloud: str
    region: str | None = Field(description="null where catalog.yaml names none: then there are no prices")
    machines: list[MachineOut]
    disks: list[DiskOut]
    root_disk: RootDiskOut | None = None
    racks: list[RacksOut]
    cross_zone_per_gib: PriceOut | None
    egress_per_gib: PriceOut | None
    ipv6_per_month: PriceOut | None = Field(default=None, description="of the address of a VM that asks for IPv6")
    public_ipv4_per_month: PriceOut | None = Field(
        default=None, description="of the address of a VM whose pool has `publicAddress: true`"
    )
    old: list[str] = Field(description="figures that were read more than 90 days ago, as in `m7g.large vcpus`")
    unmatched: list[str] = Field(description="what catalog.yaml names and the catalogue has not")


class MachinesOut(Message):
    """Regions by cloud, in the order clouds are told."""

    items: list[MachinesOfRegionOut]
    problem: str = Field(default="", description="why no price is known: catalog.yaml is invalid")
