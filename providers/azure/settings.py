"""What a person tells about their Azure subscriptions: `azure.yaml` in the home. It holds no secret, ever."""

from ipaddress import ip_address
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from providers.base import Place
from providers.made_networks import NetworkedAccount
from providers.settings_file import CloudSettings

_GUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.()-]*"
_GROUP = rf"/subscriptions/{_GUID}/resourceGroups/{_NAME}/providers"
_Guid = Annotated[str, StringConstraints(pattern=rf"^{_GUID}$")]
_ResourceGroup = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_][a-z0-9_.()-]{0,88}[a-z0-9_()-]$")]
_SubnetId = Annotated[
    str, StringConstraints(pattern=rf"^{_GROUP}/Microsoft\.Network/virtualNetworks/{_NAME}/subnets/{_NAME}$")
]
_ScaleSetId = Annotated[
    str, StringConstraints(pattern=rf"^{_GROUP}/Microsoft\.Compute/virtualMachineScaleSets/{_NAME}$")
]
_ImageId = Annotated[
    str,
    StringConstraints(
        pattern=rf"^{_GROUP}/Microsoft\.Compute/"
        rf"(images/{_NAME}|galleries/{_NAME}/images/{_NAME}/versions/\d+\.\d+\.\d+)$"
    ),
]
_PublicKey = Annotated[str, StringConstraints(pattern=r"^ssh-(ed25519|rsa) [A-Za-z0-9+/=]+( [^\n]*)?$")]
_Place = Annotated[str, StringConstraints(pattern=r"^([1-3]|fd[0-4])$")]
_Variable = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$")]


class AzureZone(BaseModel):
    """A zone of a spec: `place` is one of the subscription's zones, or a fault domain of the region's scale set."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    place: _Place
    subnet: _SubnetId


class AzureRegion(BaseModel):
    """What exists in a region before Kedge: a resource group, a subnet for each zone, images."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    resource_group: _ResourceGroup
    zones: dict[str, AzureZone] = Field(min_length=1)
    """By name, `<region>-<something>`. Zones are all availability zones, or all fault domains."""
    scale_set: _ScaleSetId | None = None
    """With flexible orchestration: only as its member can a VM be told its fault domain."""
    ipv6: bool = False
    """The subnets have IPv6, and no rule lets anybody in by it; pools may ask for it.
    A network that Kedge makes is made so."""
    images: dict[str, dict[str, _ImageId]] = Field(default_factory=dict)
    """Kafka version -> architecture (`arm64`, `x86_64`) -> image. Keep an image for as long as VMs of it stand."""

    @model_validator(mode="after")
    def _zones_fit(self) -> Self:
        domains = {zone.place.startswith("fd") for zone in self.zones.values()}
        if len(domains) > 1:
            raise ValueError("zones: availability zones and fault domains do not mix in a region")
        if True in domains and self.scale_set is None:
            raise ValueError("zones: fault domains need `scale_set`")
        if len({zone.place for zone in self.zones.values()}) < len(self.zones):
            raise ValueError("zones: two zones of one place would be one rack under two names")
        return self


class AzureAccount(NetworkedAccount):
    """An account profile: a subscription, checked to be that of `tenant_id` before anything is believed."""

    network_fields = frozenset({"resource_group", "zones", "scale_set"})

    id: _Guid
    tenant_id: _Guid
    sign_in: Literal["client-secret", "managed-identity"] = "client-secret"
    client_id: _Guid | None = None
    """Of the application, or of a managed identity that is not the machine's own."""
    secret_variable: _Variable = "AZURE_CLIENT_SECRET"  # noqa: S105  # its name, not the secret
    """Name of the environment variable with the application's secret: another one for each account."""
    ssh_key: _PublicKey
    """Azure wants one in each VM. No rule of the network lets anybody use it."""
    encryption_at_host: bool = True
    """The subscription must have the feature `Microsoft.Compute/EncryptionAtHost`."""
    secure_boot: bool = True
    """Secure boot and a virtual TPM: the images must be made for it (trusted launch)."""
    regions: dict[str, AzureRegion] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _can_sign_in(self) -> Self:
        if self.sign_in == "client-secret" and self.client_id is None:
            raise ValueError("client_id: signing in with a secret needs the id of the application")
        for region, told in self.regions.items():
            for zone in told.zones:
                if not zone.startswith(f"{region}-"):
                    raise ValueError(f"regions.{region}.zones.{zone}: a zone is named after its region, as {region}-1")
        return self


class AzureSettings(CloudSettings[AzureAccount]):
    """The whole file. `endpoint_url` is for networks without a way to Azure's host: https, or http on loopback."""

    @model_validator(mode="after")
    def _no_token_in_the_clear(self) -> Self:
        if self.endpoint_url is not None and self.endpoint_url.scheme != "https" and not self.is_on_loopback:
            raise ValueError("endpoint_url: a token goes over https, or over http to this machine itself")
        return self

    @property
    def is_on_loopback(self) -> bool:
        """Whether Azure is a stand-in on this machine, which takes the secret itself for a token."""
        if self.endpoint_url is None or self.endpoint_url.scheme != "http":
            return False
        try:
            return ip_address(self.endpoint_url.host or "").is_loopback
        except ValueError:
            return False

    def region(self, place: Place) -> AzureRegion:
        return self.region_as(place, AzureRegion)
