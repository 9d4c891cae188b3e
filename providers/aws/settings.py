"""What a person tells about their AWS accounts: `aws.yaml` in the home. It holds no secret; credentials are boto3's."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from providers.aws.partitions import availability_zone, partition_of
from providers.base import Place
from providers.cloud_init import PublicKey
from providers.made_networks import NetworkedAccount
from providers.settings_file import CloudSettings

_AccountId = Annotated[str, StringConstraints(pattern=r"^\d{12}$")]
_SubnetId = Annotated[str, StringConstraints(pattern=r"^subnet-[0-9a-f]{8,17}$")]
_GroupId = Annotated[str, StringConstraints(pattern=r"^sg-[0-9a-f]{8,17}$")]
_ImageId = Annotated[str, StringConstraints(pattern=r"^ami-[0-9a-f]{8,17}$")]
_Zone = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(-[a-z]+)+-\d[a-z](-p[1-7])?$")]
_GroupName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._:/()#,@\[\]+=&;{}!$*-]{0,254}$")]


class AwsRegion(BaseModel):
    """What exists in a region before Kedge: one subnet per zone, security groups, machine images."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    subnets: dict[_Zone, _SubnetId] = Field(min_length=1)
    """By zone, or by partition of the placement group in a zone (`eu-west-1a-p1`): of one zone, which may share one."""
    security_groups: tuple[_GroupId, ...] = Field(min_length=1)
    placement_group: _GroupName | None = None
    """Name of a placement group whose strategy is `partition`, with as many partitions as are named here."""
    ipv6: bool = False
    """The subnets have IPv6, and the groups let nobody in by it; pools may ask for it.
    A network that Kedge makes is made so."""
    images: dict[str, dict[str, _ImageId]] = Field(default_factory=dict)
    """Kafka version -> architecture (`arm64`, `x86_64`) -> image. Keep an image for as long as VMs of it stand."""

    @model_validator(mode="after")
    def _zones_fit(self) -> Self:
        apart = {zone for zone in self.subnets if partition_of(zone) is not None}
        if apart and self.placement_group is None:
            raise ValueError("subnets: partitions (`-p1`) need `placement_group`, the name of a placement group")
        if mixed := sorted({availability_zone(zone) for zone in apart} & self.subnets.keys()):
            raise ValueError(f"subnets: {', '.join(mixed)}: a zone as a whole and partitions of it do not mix")
        return self


class AwsAccount(NetworkedAccount):
    """An account profile. `id` is checked against what the credentials turn out to be, before anything is believed."""

    network_fields = frozenset({"subnets", "security_groups"})

    id: _AccountId
    profile: str | None = None
    """Name in the AWS configuration files; without one, boto3's default chain."""
    ssh_keys: tuple[PublicKey, ...] = ()
    """Public keys VMs of later intents are born with. No firewall Kedge makes lets anybody in by SSH."""
    regions: dict[str, AwsRegion] = Field(default_factory=dict)


class AwsSettings(CloudSettings[AwsAccount]):
    """The whole file. `endpoint_url` is for networks without a way to AWS's hosts."""

    def region(self, place: Place) -> AwsRegion:
        return self.region_as(place, AwsRegion)
