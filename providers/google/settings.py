"""What a person tells about their projects of Google Cloud: `google.yaml` in the home. It holds no secret."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from providers.base import Place
from providers.cloud_init import PublicKey
from providers.made_networks import NetworkedAccount
from providers.settings_file import CloudSettings

_ProjectId = Annotated[str, StringConstraints(pattern=r"^([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$")]
_ProjectNumber = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,18}$")]
_Subnetwork = Annotated[
    str, StringConstraints(pattern=r"^projects/[a-z0-9.:-]+/regions/[a-z0-9-]+/subnetworks/[a-z][a-z0-9-]{0,62}$")
]
_NetworkTag = Annotated[str, StringConstraints(pattern=r"^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$")]
_Image = Annotated[str, StringConstraints(pattern=r"^projects/[a-z0-9.:-]+/global/images/[a-z][a-z0-9-]{0,62}$")]
_Zone = Annotated[str, StringConstraints(pattern=r"^[a-z]+(-[a-z]+)*-[a-z]+\d+-[a-z]$")]


class GoogleRegion(BaseModel):
    """What exists in a region before Kedge: a subnetwork per zone, network tags the firewall knows, machine images."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    subnetworks: dict[_Zone, _Subnetwork] = Field(min_length=1)
    """Subnetworks are regional; zones may share one."""
    network_tags: tuple[_NetworkTag, ...] = Field(min_length=1)
    ipv6: bool = False
    """The subnetworks have external IPv6, and no rule lets anybody in by it; pools may ask for it. A network that
    Kedge makes is made so."""
    images: dict[str, dict[str, _Image]] = Field(default_factory=dict)
    """Kafka version -> architecture (`arm64`, `x86_64`) -> image. A family would mean another image tomorrow."""


class GoogleAccount(NetworkedAccount):
    """A project. `number` is checked against what the credentials reach under its id, before anything is believed."""

    network_fields = frozenset({"subnetworks", "network_tags"})

    project: _ProjectId
    number: _ProjectNumber
    service_account_file: Path | None = None
    """Key file of a service account; without one, the application default credentials of the server's environment."""
    ssh_keys: tuple[PublicKey, ...] = ()
    """Public keys VMs of later intents are born with. No firewall Kedge makes lets anybody in by SSH."""
    regions: dict[str, GoogleRegion] = Field(default_factory=dict)

    @field_validator("regions")
    @classmethod
    def _belongs_together(cls, regions: dict[str, GoogleRegion]) -> dict[str, GoogleRegion]:
        for name, region in regions.items():
            for zone, subnetwork in region.subnetworks.items():
                if zone.rpartition("-")[0] != name or f"/regions/{name}/" not in subnetwork:
                    raise ValueError(f"zone {zone!r} with {subnetwork!r} is not in region {name!r}")
        return regions


class GoogleSettings(CloudSettings[GoogleAccount]):
    """The whole file. `endpoint_url` is for networks without a way to Google's hosts."""

    def region(self, place: Place) -> GoogleRegion:
        return self.region_as(place, GoogleRegion)
