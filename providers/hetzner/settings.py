"""What a person tells about their projects at Hetzner: `hetzner.yaml` in the home. Tokens come from the environment."""

from typing import Annotated

from pydantic import Field, PositiveInt, StringConstraints

from providers.base import Place
from providers.cloud_init import PublicKey
from providers.made_networks import NetworkedAccount
from providers.packet_filter import FILTER_FIELDS, Cidr, FilteredRegion
from providers.settings_file import CloudSettings

_Zone = Annotated[str, StringConstraints(pattern=r"^[a-z]+[0-9]*(-[a-z0-9]+)?$")]
_Variable = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$")]


class HetznerRegion(FilteredRegion):
    """What exists in a network zone before Kedge; `terraform/modules/hetzner-network` gives all but the images.

    A zone is a location (`fsn1`), or a part of one that only people see (`ash-a`): then nothing but the placement
    groups keeps zones apart.
    """

    network: PositiveInt
    """Where each VM has an address of its own. Its id is what proves whose a token is."""
    subnets: dict[_Zone, Cidr] = Field(min_length=1)
    node_network: PositiveInt
    """Where addresses are that belong to nodes and pass from VM to VM."""
    member_range: Cidr
    """Its subnet for VMs of nodes that own no address, and the one for addresses that nodes own."""
    node_range: Cidr
    placement_groups: tuple[PositiveInt, ...] = Field(default=(), max_length=50)
    """Groups of type `spread`, ten VMs each. Without any, nothing keeps two VMs off one host."""
    ipv6: bool = False
    """Pools may ask for IPv6: a public address, by which the VM's own packet filter lets nobody in."""
    images: dict[str, dict[str, PositiveInt]] = Field(default_factory=dict)
    """Kafka version -> architecture (`arm64`, `x86_64`) -> snapshot. Keep one for as long as VMs of it stand."""

    @property
    def members(self) -> tuple[str, ...]:
        """See `FilteredRegion`: all networks Kedge has there."""
        return (*self.subnets.values(), self.member_range, self.node_range)


class HetznerAccount(NetworkedAccount):
    """A project. Hetzner tells of no token whose it is, so a region's network stands for the project."""

    network_fields = FILTER_FIELDS | {
        "network",
        "subnets",
        "node_network",
        "member_range",
        "node_range",
        "placement_groups",
    }

    token_variable: _Variable = "HCLOUD_TOKEN"  # noqa: S105  # a name, no secret
    """Environment variable with the token of that project."""
    console_project: PositiveInt | None = None
    """The number of the project in the addresses of Hetzner's console; without it servers have no link there."""
    ssh_keys: tuple[PublicKey, ...] = ()
    """Public keys VMs of later intents are born with. No firewall Kedge makes lets anybody in by SSH."""
    regions: dict[str, HetznerRegion] = Field(default_factory=dict)


class HetznerSettings(CloudSettings[HetznerAccount]):
    """The whole file. `endpoint_url` is for a stand-in for Hetzner's API; actions of one are asked after often."""

    def region(self, place: Place) -> HetznerRegion:
        return self.region_as(place, HetznerRegion)
