"""What a person tells about their teams at DigitalOcean: `digitalocean.yaml` in the home. It holds no token."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, StringConstraints

from providers.base import Place
from providers.made_networks import NetworkedAccount
from providers.settings_file import CloudSettings

_Uuid = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
_Owner = Annotated[str, StringConstraints(pattern=r"^[0-9a-f-]{8,64}$")]
_Tag = Annotated[str, StringConstraints(pattern=r"^[a-z0-9:_-]{1,255}$")]
_Rack = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$")]
_Variable = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$")]


class DigitaloceanRegion(BaseModel):
    """What exists in a region before Kedge; `terraform/modules/digitalocean-network` gives all but the images.

    A region is one data centre for all its API tells. Racks are labels that only people and Kafka see: nothing keeps
    two of them off one host, and all of them can be lost together.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    vpc: _Uuid
    firewall_tag: _Tag
    """By which the firewall goes. Without it a VM's public address would be open to everybody."""
    racks: tuple[_Rack, ...] = Field(min_length=1)
    ipv6: bool = False
    """The firewall lets VMs out by IPv6, and nobody in; pools may ask for it. A firewall
    that Kedge makes is made so."""
    images: dict[str, PositiveInt] = Field(default_factory=dict)
    """Kafka version -> id of an image (x86_64). Keep one for as long as VMs of it stand."""


class DigitaloceanAccount(NetworkedAccount):
    """A team, or an account without one. `id` is checked against what the token turns out to be of."""

    network_fields = frozenset({"vpc", "firewall_tag", "racks"})

    id: _Owner
    """`team.uuid` of `GET /v2/account`, or its `uuid` where there is no team."""
    token_variable: _Variable = "DIGITALOCEAN_TOKEN"  # noqa: S105  # its name
    """Environment variable with the token of that team."""
    ssh_keys: tuple[PositiveInt, ...] = ()
    """Ids of keys for a VM's root. Without any DigitalOcean mails a password to the owner of the account."""
    regions: dict[str, DigitaloceanRegion] = Field(default_factory=dict)


class DigitaloceanSettings(CloudSettings[DigitaloceanAccount]):
    """The whole file. `endpoint_url` is for a stand-in for DigitalOcean's API."""

    def region(self, place: Place) -> DigitaloceanRegion:
        return self.region_as(place, DigitaloceanRegion)
