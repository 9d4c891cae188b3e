"""What a person tells about their UpCloud accounts: `upcloud.yaml` in the home. It holds no secret."""

import ipaddress
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from providers.base import Place
from providers.cloud_init import PublicKey
from providers.made_networks import NetworkedAccount
from providers.packet_filter import FILTER_FIELDS, Cidr, FilteredRegion
from providers.settings_file import CloudSettings

_Uuid = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
_Region = Annotated[str, StringConstraints(pattern=r"^[a-z]{2}-[a-z]{3}\d$")]
_Zone = Annotated[str, StringConstraints(pattern=r"^[a-z]{2}-[a-z]{3}\d-[a-z0-9]+$")]
_Variable = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$")]


class UpcloudRegion(FilteredRegion):
    """What exists in a region, which is one of UpCloud's zones, before Kedge: a network, a server group, templates."""

    network: _Uuid
    network_range: Cidr | None = None
    """All its addresses, by CIDR: who is in it is a member. Without it VMs filter nothing, and whoever is in the
    network, or is routed to it, reaches every port."""
    node_addresses: Cidr
    """Part of the network, by CIDR: addresses that belong to nodes are taken from it. DHCP must not use it."""
    zones: tuple[_Zone, ...] = Field(min_length=1)
    """Racks, named after the region (`fi-hel1-a`). UpCloud has nothing of the kind: they are labels."""
    server_group: _Uuid | None = None
    """Its policy spreads VMs over hosts, when they start."""
    encrypt: bool = True
    images: dict[str, _Uuid] = Field(default_factory=dict)
    """Kafka version -> template. Keep a template for as long as VMs of it stand."""

    @model_validator(mode="after")
    def _is_of_a_piece(self) -> Self:
        if self.network_range is None:
            if self.clients:
                raise ValueError("clients: VMs let them in by a packet filter, which needs `network_range`")
        elif not ipaddress.IPv4Network(self.node_addresses).subnet_of(ipaddress.IPv4Network(self.network_range)):
            raise ValueError(
                f"node_addresses: {self.node_addresses} is not a part of `network_range`, {self.network_range}"
            )
        return self

    @property
    def members(self) -> tuple[str, ...]:
        return (self.network_range,) if self.network_range else ()


class UpcloudAccount(NetworkedAccount):
    """An account profile. `username` is checked against whose the credentials are, before anything is believed."""

    network_fields = FILTER_FIELDS | {"network", "network_range", "node_addresses", "zones", "server_group"}

    username: Annotated[str, StringConstraints(min_length=1)]
    token_variable: _Variable | None = None
    """Environment variable with the API token; without one, what UpCloud's SDK finds in the environment."""
    ssh_keys: tuple[PublicKey, ...] = ()
    """Public keys VMs of later intents are born with. No firewall Kedge makes lets anybody in by SSH."""
    regions: dict[_Region, UpcloudRegion] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _zones_are_of_their_region(self) -> Self:
        for name, region in self.regions.items():
            for zone in region.zones:
                if zone.rpartition("-")[0] != name:
                    raise ValueError(f"zone {zone!r} is none of region {name!r}; its zones are {name}-a, {name}-b ...")
        return self


class UpcloudSettings(CloudSettings[UpcloudAccount]):
    """The whole file. `endpoint_url` is for networks without a way to UpCloud's hosts."""

    def region(self, place: Place) -> UpcloudRegion:
        return self.region_as(place, UpcloudRegion)
